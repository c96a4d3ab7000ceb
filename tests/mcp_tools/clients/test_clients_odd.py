"""Servers that keep MCP badly: what can be used of them is used, and what is wrong is told."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from mcp_tools.clients.replies import ServerReply
from support.external import odd, starts
from support.odd_mcp_server import EMPTY, LOOKUP, PRICE, OddWeb

TEXT = {"type": "string"}


def bad(**more: Any) -> dict[str, Any]:
    return {"name": "bad", "description": "A bad one", "inputSchema": EMPTY, **more}


async def call(servers: Any, name: str = "parts__lookup", **arguments: Any) -> ServerReply:
    reply: ServerReply = await servers.call(name, arguments)
    return reply


USED: dict[str, tuple[Any, str]] = {
    "no schema": ({"name": "bad"}, ""),
    "no type": (bad(inputSchema={"anyOf": [{"type": "object", "properties": {"a": TEXT}}]}), ""),
    "output is a list": (
        bad(outputSchema={"type": "array"}),
        "parts__bad: its outputSchema is ignored: its type is 'array', but MCP requires 'object'",
    ),
    "icons as text": (bad(icons=["http://x/y.png"]), ""),
    "title is a number": (bad(title=5), "parts__bad: its title is ignored: it is a number"),
    "hints of a wrong type": (bad(annotations={"readOnlyHint": "yes"}), ""),
    "reference to nothing": (bad(inputSchema={"type": "object", "properties": {"a": {"$ref": "#/no/where"}}}), ""),
    "reference to elsewhere": (
        bad(inputSchema={"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x"}}}),
        "",
    ),
    "huge schema": (bad(inputSchema={"type": "object", "properties": {f"p{n}": TEXT for n in range(3000)}}), ""),
    "unknown type": (bad(inputSchema={"type": "object", "properties": {"a": {"type": "int"}}}), ""),
    "odd name": (bad(name="search the/web!"), ""),
    "long name": (bad(name="n" * 300), ""),
}


async def test_what_is_odd_in_a_tool_but_harmless_is_mended(start):
    odd_ones = [
        {**tool, "name": f"bad_{n}"} if tool["name"] == "bad" else tool for n, (tool, _) in enumerate(USED.values())
    ]
    servers = start(parts=odd(tools=[LOOKUP, *odd_ones], alita={"maxTools": 50}))
    names = {found.name for found in await servers.search("", 50)}
    assert len(names) == 1 + len(USED)
    notes = servers.notes()
    told = "\n".join(notes)
    for n, (name, (_, note)) in enumerate(USED.items()):
        assert note.replace("parts__bad:", f"parts__bad_{n}:") in told, name
    assert len(notes) == sum(bool(note) for _, note in USED.values())
    for name in names:
        assert (await call(servers, name)).text == "12.50 EUR"


LEFT_OUT: dict[str, tuple[Any, str]] = {
    "a text": ("bad", "number 2 of the server parts is ignored: it is not an object"),
    "no name": ({"inputSchema": EMPTY}, "number 3 of the server parts is ignored: it has no name"),
    "name is a number": (bad(name=5), "parts__5 of the server parts is ignored: name: it must be text"),
    "hidden characters": (bad(description="a\u200bb"), "description: it contains U+200B"),
    "schema is a text": (bad(inputSchema="x"), "inputSchema: it is text"),
    "schema of a text": (bad(inputSchema=TEXT), "inputSchema: its type is 'string', but MCP requires 'object'"),
    "properties are a list": (bad(inputSchema={"properties": ["a"]}), "inputSchema: properties: it is a list"),
    "required among the properties": (
        bad(inputSchema={"type": "object", "properties": {"coin": TEXT, "required": ["coin"]}}),
        "parts__bad of the server parts is ignored: inputSchema: properties.required: it is a list, not a schema",
    ),
    "too deep": (
        bad(inputSchema={"type": "object", "properties": {"a": json.loads('{"items":' * 300 + "{}" + "}" * 300)}}),
        "it is nested deeper than 60 levels",
    ),
}


async def test_a_bad_tool_is_left_out_with_the_reason_and_the_good_one_is_used(start):
    servers = start(parts=odd(tools=[LOOKUP, *(tool for tool, _ in LEFT_OUT.values())]))
    assert [found.name for found in await servers.search("", 9)] == ["parts__lookup"]
    notes = servers.notes()
    assert len(notes) == len(LEFT_OUT)
    for (name, (_, reason)), note in zip(LEFT_OUT.items(), notes, strict=True):
        assert " of the server parts is ignored: " in note, name
        assert reason in note, name
    assert (await call(servers)).text == "12.50 EUR"


def page(*tools: Any, cursor: Any = None) -> dict[str, Any]:
    return {"result": {"tools": list(tools), **({} if cursor is None else {"nextCursor": cursor})}}


PAGES: dict[str, tuple[Any, str]] = {
    "an error": (
        {"error": {"code": -32603, "message": "disk"}},
        "page 2 of its tool list could not be read: it answered with",
    ),
    "no list": (
        {"result": {"tools": {"a": 1}}},
        "page 2 of its tool list could not be read: its answer does not follow MCP",
    ),
    "a loop": (
        page(bad(), cursor="2"),
        "its tool list was read only up to page 2: the next cursor repeats an earlier one",
    ),
    "a cursor that is a number": (
        page(bad(), cursor=3),
        "its tool list was read only up to page 2: the next cursor is not text",
    ),
    "a broken page": ({"raw": '{"jsonrpc": "2.0", "id": ID, "result": {"tools": [}}'}, "its reply cannot be read"),
}


@pytest.mark.parametrize(("second", "note"), PAGES.values(), ids=PAGES.keys())
async def test_a_bad_page_does_not_hide_the_good_ones(start, second, note):
    servers = start(parts=odd(pages={"": page(LOOKUP, cursor="2"), "2": second}))
    assert "parts__lookup" in {tool.name for tool in await servers.search("", 9)}
    assert note in servers.notes()[0]


def tools_of(rows: dict[str, Any]) -> list[Any]:
    """A tool for each row, whose call takes the steps of the row."""
    return [{"name": name.replace(" ", "_")} for name in rows]


ERRORS = {
    "down": (-32000, "Part database is down"),
    "session": (-32600, "Session terminated"),
    "unknown": (-32602, "No such part"),
    "nothing": (0, "Nothing"),
}


@pytest.mark.parametrize("web", [False, True], ids=["stdio", "http"])
async def test_an_error_of_a_server_is_its_answer(start, log, web):
    calls = {
        name: [{"error": {"code": code, "message": message, "data": {"x": 1}}}]
        for name, (code, message) in ERRORS.items()
    }
    plan = {"tools": tools_of(ERRORS), "calls": calls}
    with OddWeb(plan) as server:
        servers = start(parts={"url": server.url} if web else odd(**plan))
        for name, (code, message) in ERRORS.items():
            reply = await call(servers, f"parts__{name}")
            assert (reply.ok, reply.kind) == (False, "answer"), name
            assert reply.text == f"it answered with an error: {message} ({code})"
        assert servers.notes() == []
        assert len(set(starts(log))) == (0 if web else 1), "the server was not started again"
        await servers.aclose()


UNREADABLE: dict[str, tuple[str, str]] = {
    "no JSON": ('{"jsonrpc": "2.0", "id": ID, "result": {]}', "it is not JSON"),
    "error is a text": ('{"jsonrpc": "2.0", "id": ID, "error": "down"}', "cannot be read"),
    "no version": ('{"id": ID, "result": {}}', "jsonrpc: Field required"),
    "too deep": ('{"jsonrpc": "2.0", "id": ID, "result": ' + '{"a":' * 5_000, "it is not JSON"),
}


@pytest.mark.parametrize("web", [False, True], ids=["stdio", "http"])
async def test_a_reply_that_cannot_be_read_fails_at_once_and_says_why(start, web):
    calls = {name.replace(" ", "_"): [{"raw": raw}] for name, (raw, _) in UNREADABLE.items()}
    plan = {"tools": [*tools_of(UNREADABLE), {"name": "fine"}], "calls": calls}
    with OddWeb(plan) as server:
        servers = start(parts={"url": server.url} if web else odd(**plan))
        for name, (_, said) in UNREADABLE.items():
            before = time.monotonic()
            reply = await call(servers, f"parts__{name.replace(' ', '_')}")
            assert time.monotonic() - before < 20
            assert (reply.ok, reply.kind) == (False, "protocol"), name
            assert "its reply cannot be read" in reply.text
            assert said in reply.text
            assert (await call(servers, "parts__fine")).text == "12.50 EUR"
        await servers.aclose()


ACCEPTED: dict[str, tuple[list[dict[str, Any]], str]] = {
    "id as text": ([{"id": "TEXT", "result": {"content": "12.50"}}], "12.50"),
    "an error without an id": (
        [{"raw": '{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "bad"}}'}],
        "it answered with an error: bad (-32700)",
    ),
    "a batch": ([{"raw": '[{"jsonrpc": "2.0", "id": ID, "result": {"content": ["a", "b"]}}]'}], "a\nb"),
    "unknown notifications": (
        [{"notify": "notifications/odd"}, {"notify": "odd", "params": {}}, {"result": PRICE}],
        "12",
    ),
    "a ping": ([{"raw": '{"jsonrpc": "2.0", "id": "p", "method": "ping"}'}, {"result": PRICE}], "12.50 EUR"),
    "an unknown request": ([{"raw": '{"jsonrpc": "2.0", "id": "p", "method": "odd/odd"}'}, {"result": PRICE}], "12"),
    "no content": ([{"result": {"toolResult": {"price": 12.5}}}], '{"toolResult": {"price": 12.5}}'),
    "only a structure": ([{"result": {"structuredContent": {"price": 12.5}}}], '{"price": 12.5}'),
    "another structure than promised": (
        [{"result": {"content": [{"type": "text", "text": "dear"}], "structuredContent": {"cost": "x"}}}],
        'dear\n{"cost": "x"}',
    ),
    "unknown content": (
        [{"result": {"content": [{"type": "map", "x": 1}, {"type": "text", "text": "after"}, 5, None]}}],
        '[content of the unknown type \'map\': {"type": "map", "x": 1}]\nafter\n5\nnull',
    ),
    "an error result": ([{"result": {"isError": True, "content": [{"type": "text", "text": "no"}]}}], "no"),
}


async def test_a_result_in_an_unusual_form_is_told_whole(start):
    calls = {name.replace(" ", "_"): steps for name, (steps, _) in ACCEPTED.items()}
    servers = start(parts=odd(tools=tools_of(ACCEPTED), calls=calls))
    for name, (_, said) in ACCEPTED.items():
        assert said in (await call(servers, f"parts__{name.replace(' ', '_')}")).text, name
    assert servers.notes() == []


async def test_log_lines_on_stdout_are_noted_once_and_ignored(start):
    noise = [{"raw": "INFO looking up"}, {"raw": '{"level": "info", "message": "found"}'}, {"raw": ""}, {"raw": "[1]"}]
    servers = start(parts=odd(calls={"lookup": [*noise, {"result": PRICE}]}))
    for _ in range(3):
        assert (await call(servers)).text == "12.50 EUR"
    (note,) = servers.notes()
    assert (
        note == "the server parts prints lines to stdout that are not MCP messages; they are ignored: 'INFO looking up'"
    )


@pytest.mark.parametrize(("calls", "ok"), [(6, True), (16, False)], ids=["in time", "past the cap"])
async def test_progress_gives_a_call_more_time_up_to_a_cap(start, calls, ok):
    steps = [{"notify": "notifications/progress", "sleep": 0.2}] * calls
    servers = start(parts=odd(calls={"lookup": [*steps, {"result": PRICE}]}, alita={"callSeconds": 0.3}))
    await servers.search("", 1)
    reply = await call(servers)
    assert reply.ok is ok
    assert 1.0 < reply.seconds < 5.0


LOST: dict[str, dict[str, Any]] = {
    "404": {"status": 404, "body": "Session not found"},
    "400": {"status": 400, "body": "Bad Request: No valid session ID provided"},
}


@pytest.mark.parametrize("lost", LOST.values(), ids=LOST.keys())
async def test_a_lost_session_is_begun_anew_and_the_call_repeated(start, lost):
    with OddWeb({"lost": lost}) as server:
        servers = start(parts={"url": server.url})
        assert (await call(servers)).text == "12.50 EUR"
        for count in (2, 3, 4, 5):
            server.sessions.clear()
            assert (await call(servers)).text == "12.50 EUR"
            assert server.begun == count
            assert servers.notes() == ["the server parts lost its session; starting a new one"]
        assert server.plan.calls == {"lookup": 5}
        await servers.aclose()


async def test_a_server_that_keeps_no_session_is_not_asked_without_end(start):
    with OddWeb({"calls": {"lookup": [{"status": 404, "body": "gone"}]}}) as server:
        servers = start(parts={"url": server.url})
        reply = await call(servers)
        assert (reply.ok, reply.kind) == (False, "session")
        assert server.plan.calls == {"lookup": 2}
        await servers.aclose()


READS = {**LOOKUP, "annotations": {"readOnlyHint": True}}


@pytest.mark.parametrize(("tool", "calls"), [(LOOKUP, 1), (READS, 2)], ids=["acts", "only reads"])
async def test_a_stream_cut_in_mid_answer_is_repeated_only_if_that_does_no_harm(start, tool, calls):
    steps = [{"once": [{"notify": "notifications/progress"}, {"cut": True}]}, {"result": PRICE}]
    with OddWeb({"tools": [tool], "calls": {"lookup": steps}}, events=True) as server:
        servers = start(parts={"url": server.url})
        reply = await call(servers)
        assert server.plan.calls == {"lookup": calls}
        assert reply.ok is (calls == 2)
        if calls == 1:
            said = "its answer was cut off; the call may have taken effect, so it is not repeated"
            assert reply.text == said
        assert (await call(servers)).text == "12.50 EUR"
        await servers.aclose()


@pytest.mark.parametrize(("tool", "calls"), [(LOOKUP, 1), (READS, 2)], ids=["acts", "only reads"])
async def test_a_server_that_dies_in_a_call_is_started_again_and_says_so(start, log, tool, calls):
    servers = start(parts=odd(tools=[tool, {"name": "fine"}], calls={"lookup": [{"exit": 3}]}))
    reply = await call(servers)
    assert (reply.ok, reply.kind) == (False, "gone")
    assert "exit code 3" in reply.text
    assert len(starts(log)) == calls
    assert ("the call may have taken effect" in reply.text) is (calls == 1)
    assert "the server parts failed and will be restarted when needed" in servers.notes()[0]
    assert (await call(servers, "parts__fine")).text == "12.50 EUR"


HTTP: dict[str, tuple[dict[str, Any], str]] = {
    "401": ({"status": 401, "body": ""}, "it answered with status 401: the key is missing or wrong"),
    "a redirect": (
        {"status": 307, "body": "", "headers": {"location": "https://elsewhere.example"}},
        "it redirects to https://elsewhere.example: use that address if you trust it",
    ),
    "a page": ({"status": 200, "body": "<html>", "kind": "text/html"}, "it answered with text/html instead of JSON or"),
    "an error in JSON": (
        {
            "status": 400,
            "body": '{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"bad part"}}',
            "kind": "application/json",
        },
        "it answered with an error: bad part (-32602)",
    ),
}


@pytest.mark.parametrize(("step", "said"), HTTP.values(), ids=HTTP.keys())
async def test_what_http_answers_to_a_call_is_told_and_the_connection_stays(start, step, said):
    with OddWeb({"calls": {"lookup": [{"once": [step]}, {"result": PRICE}]}}) as server:
        servers = start(parts={"url": server.url})
        assert said in (await call(servers)).text
        assert (await call(servers)).text == "12.50 EUR"
        assert server.begun == 1
        await servers.aclose()


async def test_half_a_character_is_not_sent(start):
    servers = start(parts=odd())
    reply = await call(servers, coin={"names": ["a\ud83db"]})
    assert (reply.ok, reply.kind) == (False, "arguments")
    assert "The arguments contain a lone surrogate, '\\ud83d'." in reply.text


async def test_a_picture_that_is_no_base64_is_said_to_be_none(start):
    content = [{"type": "image", "data": "%%%", "mimeType": "image/png"}]
    servers = start(parts=odd(calls={"lookup": [{"result": {"content": content}}]}))
    assert (await call(servers)).text == "[image image/png: its data is not valid base64]"
