"""Calls of external tools, on both protocol eras and both transports: results, failures, limits, questions back."""

from __future__ import annotations

import asyncio
import base64
import json

from mcp_tools.clients.replies import ServerReply
from support.external import WebServer, is_alive, modern, plain, starts


async def call(servers, name, **arguments) -> ServerReply:
    return await servers.call(name, arguments)


async def test_what_comes_back_is_told_as_data(start):
    servers = start(calc=plain())
    reply = await call(servers, "calc__add", a=1, b=2)
    assert (reply.ok, reply.value, reply.text) == (True, 3, "3")
    for said, value in (("42", 42), ("a word", None), ("", None)):  # text is material unless it is a number
        reply = await call(servers, "calc__echo", text=said)
        assert (reply.ok, reply.value, reply.text) == (True, value, said or "(an empty result)")
    assert (await call(servers, "calc__echo", text="a\x1b[31mb\u202ec")).text == "abc"
    reply = await call(servers, "calc__rich")
    assert reply.text.splitlines() == [
        "first",
        "[image in the file image_1.png: image/png, 4 bytes]",
        "[audio in the file audio_2.wav: audio/wav, 4 bytes]",
        "[resource a: file:///a.txt]",
        "[resource file:///b.txt]",
        "inside b",
        "[resource file:///c.bin in the file file_3.bin: binary, 4 bytes]",
    ]


async def test_what_goes_wrong_is_in_the_reply(start):
    servers = start(calc=plain())
    reply = await call(servers, "calc__fail")
    assert (reply.ok, reply.text, reply.kind) == (False, "the disk is on fire", "tool")
    reply = await call(servers, "calc__add", a="x")
    assert (reply.ok, reply.kind) == (False, "arguments")
    assert "a: 'x' is not a whole number" in reply.text
    reply = await call(servers, "calc__ad")
    assert (reply.kind, "Did you mean calc__add" in reply.text) == ("unknown", True)


async def test_a_long_result_is_cut_in_its_middle_and_says_so(start):
    reply = await call(start(calc=plain(alita={"resultChars": 1000})), "calc__long")
    assert reply.text.startswith("begin ")
    assert reply.text.endswith(" end\n[file whole_result.txt: the whole result]")
    assert base64.b64decode(reply.files[0].data) == b"begin " + b"y" * 5000 + b" end"
    assert "4,010 of 5,010 characters left out" in reply.text


async def test_a_message_without_end_ends_the_connection(start):
    servers = start(calc=plain())
    reply = await call(servers, "calc__flood")
    assert (reply.ok, reply.kind) == (False, "gone")
    assert "a message of more than 16,777,216 bytes" in reply.text
    assert (await call(servers, "calc__add", a=1, b=2)).value == 3


async def test_a_server_that_answers_nothing_more_is_ended_and_started_again(start, log):
    servers = start(calc=plain(alita={"callSeconds": 0.3}))
    assert (await call(servers, "calc__stop")).kind == "timeout"
    assert (await call(servers, "calc__add", a=1, b=2)).value == 3
    first, second = starts(log)
    assert (is_alive(first), is_alive(second)) == (False, True)


async def test_a_server_that_crashes_again_and_again_is_set_aside_until_the_next_run(start, log):
    servers = start(calc=plain(), other=plain())
    for _ in range(3):
        assert not (await call(servers, "calc__crash")).ok
    assert "the server calc is unavailable: " in "\n".join(servers.notes())
    assert {tool.server for tool in await servers.search("add echo", 9)} == {"other"}
    assert (await call(servers, "calc__crash")).kind == "unknown"
    assert len(starts(log)) == 4
    servers.retry_failed()
    assert (await call(servers, "calc__add", a=1, b=2)).value == 3


async def test_calls_at_once_are_bounded(start):
    servers = start(calc=plain(alita={"concurrentCalls": 1, "callSeconds": 0.4}))
    await servers.search("", 1)
    replies = await asyncio.gather(call(servers, "calc__hang"), call(servers, "calc__hang"))
    first, second = sorted(reply.seconds for reply in replies)
    assert 0.39 < first < second - 0.35


async def test_what_a_server_of_2025_asks_back_is_declined(start):
    servers = start(calc=plain())
    asked, sampled, roots = json.loads((await call(servers, "calc__ask")).text)
    assert asked == {"action": "decline"}
    assert "not supported" in sampled["message"]
    assert "not supported" in roots["message"]
    assert servers.notes() == ["the server calc asked the user a question, which alita declined: your password?"]


async def test_a_secret_never_comes_back(start, monkeypatch):
    monkeypatch.setenv("CALC_KEY", "correct-horse-battery")
    servers = start(calc=plain(env={"KEY": "${CALC_KEY}"}))
    reply = await call(servers, "calc__env")
    assert "correct-horse" not in reply.text
    assert '"KEY": "[hidden]"' in reply.text


async def test_over_stdio_a_server_of_2026_is_called_and_tells_changes(start):
    servers = start(new=modern())
    assert (await call(servers, "new__double", n=21)).value == 42
    assert (await call(servers, "new__ask")).text == "state: decline"
    await _grows(servers)


async def test_over_http_with_a_key_a_server_is_called_and_tells_changes(start, monkeypatch):
    monkeypatch.setenv("WEB_KEY", "correct-horse-battery")
    with WebServer("--key", "correct-horse-battery") as server:
        servers = start(new={"url": server.url, "headers": {"Authorization": "Bearer ${WEB_KEY}"}})
        assert (await call(servers, "new__double", n=21)).value == 42
        await _grows(servers)
        assert "a message of more than 16,777,216 bytes" in (await call(servers, "new__flood")).text
        assert (await call(servers, "new__double", n=4)).value == 8
        assert (await call(servers, "new__crash")).kind == "gone"
        assert not (await call(servers, "new__double", n=4)).ok
        assert "it cannot be reached" in servers.notes()[-1]
        await servers.aclose()


async def _grows(servers):
    assert (await call(servers, "new__grow")).ok
    for _ in range(100):
        if any(tool.name == "new__grown" for tool in await servers.search("grown", 9)):
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the change was not seen")
