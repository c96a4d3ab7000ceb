"""Calls of tools: checked arguments, results, and errors without exception texts."""

from __future__ import annotations

import asyncio
import json
import os
import re
from dataclasses import replace
from typing import Any

import pytest
from desk import Desk, error_of, text_of, tool
from mcp.shared.exceptions import MCPError

from mcp_tools.errors import IsolationError
from mcp_tools.hosts import Carry
from mcp_tools.sandbox.protocol import Job, Limits, Outcome
from mcp_tools.sandbox.warm import WarmSandbox
from mcp_tools.serving.client_call import ServerLimits
from mcp_tools.tool import Tool
from support.busy import falls_idle

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_result_is_structured_and_text_and_says_how_it_was_isolated(desk: Desk, era: str) -> None:
    desk.has(tool())
    async with desk.client(era) as client:
        result = await client.call_tool("double", {"n": 21})
    assert not result.is_error
    assert result.structured_content == {"result": 42}
    assert json.loads(text_of(result)) == {"result": 42}
    assert (result.meta or {})["alita/sandbox"]["level"] == "strong"
    assert desk.library.stats("double").successes == 1


async def test_arguments_are_checked_before_anything_runs(desk: Desk, mode: str) -> None:
    desk.has(tool())
    wrong = {
        "the parameter 'n' is missing": {},
        "n: 'x' is not a whole number": {"n": "x"},
        "there is no parameter 'm'": {"n": 1, "m": 2},
        "n: 1.5 is not a whole number": {"n": 1.5},
        "n: True is not a whole number": {"n": True},
    }
    async with desk.client(mode) as client:
        for said, arguments in wrong.items():
            result = await client.call_tool("double", arguments)
            assert said in text_of(result)
            assert "double takes {n: integer}" in text_of(result)
            assert error_of(result)["kind"] == "arguments"
    assert desk.library.stats("double").calls == 0


async def test_an_unknown_tool_is_a_protocol_error(desk: Desk, era: str) -> None:
    async with desk.client(era) as client:
        with pytest.raises(MCPError, match="unknown tool: nothing") as failure:
            await client.call_tool("nothing", {})
    assert failure.value.code == -32602
    assert desk.written()[-1]["outcome"] == "unknown_tool"


@pytest.mark.parametrize(
    ("body", "kind", "said"),
    [
        ("raise ValueError(f'{n} is odd')", "exception", "ValueError: 7 is odd"),
        ("return 'seven'", "result", "does not fit the tool's output schema"),
        ("return float('nan')", "result", ""),
        ("while True: pass", "wall_time", "time limit"),
        ("return [0] * 10**10", "memory", "memory"),
        ("open('/etc/passwd')", "denied", ""),
    ],
)
async def test_what_goes_wrong_in_a_tool_is_a_result_to_act_on(desk: Desk, body: str, kind: str, said: str) -> None:
    desk.has(tool("odd", body))
    limits = ServerLimits(call=Limits(wall_seconds=1.0))
    async with desk.client("2026-07-28", limits=limits) as client:
        result = await client.call_tool("odd", {"n": 7})
    error = error_of(result)
    assert error["kind"] in {kind, *(["exception"] if kind == "denied" else [])}
    assert said in text_of(result)
    assert error["remedy"]
    assert desk.written()[-1]["outcome"] == error["kind"]


async def test_arguments_and_results_have_a_largest_size(desk: Desk, mode: str) -> None:
    text = {"type": "string"}
    desk.has(tool("repeat", "return t * n", takes={"t": text, "n": {"type": "integer"}}, signature="t, n", gives=text))
    async with desk.client(mode, limits=ServerLimits(argument_bytes=2000, result_bytes=3000)) as client:
        large = await client.call_tool("repeat", {"t": "x" * 2000, "n": 1})
        long = await client.call_tool("repeat", {"t": "x" * 100, "n": 30})
        fits = await client.call_tool("repeat", {"t": "x" * 100, "n": 29})
    assert error_of(large)["kind"] == "argument_size"
    assert error_of(long)["kind"] == "result_size"
    assert not fits.is_error


class Broken:
    """A sandbox that is itself broken."""

    def __init__(self, failure: Exception, sandbox: WarmSandbox) -> None:
        self.isolation = sandbox.isolation
        self._failure = failure

    async def run(self, job: Job, *, carry: Carry | None = None) -> Outcome:
        raise self._failure


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (IsolationError("bwrap: /home/someone/secret is gone"), "internal"),
        (RuntimeError("password=hunter2"), "internal"),
    ],
)
async def test_no_text_of_an_exception_reaches_a_client(
    desk: Desk, sandbox: WarmSandbox, era: str, failure: Exception, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    desk.has(tool())
    async with desk.client(era, sandbox=Broken(failure, sandbox)) as client:
        result = await client.call_tool("double", {"n": 1})
    assert result.is_error
    seen = result.model_dump_json()
    assert not re.search("hunter2|secret|Error", seen)
    found = re.search(r"\(error (\w{8})\)", text_of(result))
    assert found, text_of(result)
    assert found[1] in capsys.readouterr().err
    written = desk.written()[-1]
    assert (written["error_id"], written["outcome"]) == (found[1], kind)


async def test_a_cancelled_call_kills_its_process(desk: Desk, era: str) -> None:
    desk.has(tool("spin", "while True: pass"), tool())
    async with desk.client(era) as client:
        await client.call_tool("double", {"n": 1})
        with pytest.raises(MCPError):
            await client.call_tool("spin", {"n": 1}, read_timeout_seconds=0.5)
        assert await falls_idle(os.getpid())
        assert (await client.call_tool("double", {"n": 2})).structured_content == {"result": 4}
    assert [line["outcome"] for line in desk.written()] == ["ok", "cancelled", "ok"]


async def test_many_calls_at_once_are_all_answered(desk: Desk, mode: str) -> None:
    desk.has(tool(), tool("fail", "raise ValueError(n)", description="Raises: ValueError: always."))
    async with desk.client(mode) as client:
        names = ["double" if number % 4 else "fail" for number in range(64)]
        results = await asyncio.gather(*(client.call_tool(name, {"n": n}) for n, name in enumerate(names)))
    for number, (name, result) in enumerate(zip(names, results, strict=True)):
        if name == "double":
            assert result.structured_content == {"result": number * 2}
        else:
            assert f"ValueError: {number}" in text_of(result)


async def test_a_tool_whose_calls_end_in_bugs_is_unlisted_and_one_that_refuses_stays(desk: Desk, mode: str) -> None:
    buggy, strict = (
        tool("fail", "raise KeyError(n)"),
        tool("strict", "raise ValueError(n)", description="Raises: ValueError"),
    )
    desk.has(buggy, strict)
    async with desk.client(mode) as client:
        for n in range(3):
            for name in ("fail", "strict"):
                assert (await client.call_tool(name, {"n": n})).is_error
        listed = [one.name for one in (await client.list_tools()).tools]
        assert "strict" in listed
        assert "fail" not in listed
        with pytest.raises(MCPError, match="unknown tool"):
            await client.call_tool("fail", {"n": 1})


async def test_the_bytes_that_were_hashed_are_what_runs(desk: Desk, mode: str) -> None:
    """If the file of a listed tool changes, neither its new nor its old text is run."""
    desk.has(tool())
    path = desk.library.path("double")
    async with desk.client(mode) as client:
        assert (await client.call_tool("double", {"n": 2})).structured_content == {"result": 4}
        path.write_text(path.read_text().replace("n * 2", "n * 3"))
        with pytest.raises(MCPError, match="unknown tool"):
            await client.call_tool("double", {"n": 2})
        assert "double" not in [one.name for one in (await client.list_tools()).tools]


async def test_a_changed_tool_with_right_hashes_waits_for_approval(desk: Desk, mode: str) -> None:
    desk.has(tool())
    other = type(desk.library)(desk.library.folder, desk.folder / "somebody_elses.json")
    async with desk.client(mode) as client:
        await client.list_tools()
        other.register(tool(body="return n * 3"), replace=True)
        with pytest.raises(MCPError, match="unknown tool"):
            await client.call_tool("double", {"n": 2})
        desk.library.approve("double")
        assert (await client.call_tool("double", {"n": 2})).structured_content == {"result": 6}
    other.close()


async def test_progress_is_told_while_a_tool_runs(desk: Desk, era: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_tools.serving.client_call._HEARTBEAT_SECONDS", 0.1)
    desk.has(tool("rest", "import time; time.sleep(0.5); return n"))
    told: list[tuple[float, str | None]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append((done, message))

    async with desk.client(era) as client:
        await client.call_tool("rest", {"n": 1}, progress_callback=progress)
    assert len(told) >= 2
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert "rest has run for" in str(told[0][1])


LENIENT = {
    "type": "object",
    "properties": {
        "first": {"type": "number"},
        "second": {"type": "number"},
        "count": {"type": "integer"},
        "labels": {"type": "array", "items": {"type": "integer"}},
        "loud": {"type": "boolean"},
        "word": {"type": "string"},
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "by_name": {"type": "object", "additionalProperties": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
        "at": {"$ref": "#/$defs/At"},
    },
    "required": ["first"],
    "additionalProperties": False,
    "$defs": {
        "At": {
            "type": "object",
            "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
            "required": ["x"],
            "additionalProperties": False,
        }
    },
}


def telling() -> Tool:
    """Return a tool that returns its arguments."""
    signature = ", ".join(["first", *(f"{name}='absent'" for name in LENIENT["properties"] if name != "first")])
    body = "return repr({name: value for name, value in sorted(locals().items()) if value != 'absent'})"
    return replace(tool("tells", body, signature=signature, gives={"type": "string"}), input_schema=LENIENT)


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ({"first": 2, "second": None, "labels": None, "at": None}, {"first": 2}),
        ({"first": "2"}, {"first": 2}),
        ({"first": 2, "count": "3.0"}, {"count": 3, "first": 2}),
        ({"first": 2, "labels": "[1, 2]"}, {"first": 2, "labels": [1, 2]}),
        ({"first": 2, "loud": "true"}, {"first": 2, "loud": True}),
        ({"first": 2, "either": "2"}, {"either": "2", "first": 2}),
        ({"first": 2, "maybe": None}, {"first": 2, "maybe": None}),
        ({"first": 2, "by_name": {"a": None, "b": "3"}}, {"by_name": {"a": None, "b": 3}, "first": 2}),
        ({"first": 2, "at": '{"x": "1", "y": null}'}, {"at": {"x": 1}, "first": 2}),
        ({"first": 2, "unknown": None}, {"first": 2}),
    ],
)
async def test_arguments_are_read_as_their_schema_means_them(desk: Desk, given: Any, got: Any) -> None:
    desk.has(telling())
    async with desk.client("legacy") as client:
        for name, arguments in (("tells", given), ("call_tool", {"name": "tells", "arguments": given, "files": None})):
            result = await client.call_tool(name, arguments)
            assert result.structured_content == {"result": repr(got)}, text_of(result)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"first": "two"}, "first: 'two' is not a number"),
        ({"first": 1, "count": "2.5"}, "count: '2.5' is not a whole number"),
        ({"first": 1, "count": "9007199254740993.0"}, "is not exact"),
        ({"first": 1, "loud": "True"}, "loud: 'True' is not true or false"),
        ({"first": 1, "labels": "1, 2"}, "labels: '1, 2' is not a list"),
        ({"first": 1, "at": '{"x": 1, "x": 2}'}, "is not an object"),
    ],
)
async def test_arguments_of_which_the_meaning_is_not_sure_are_refused(desk: Desk, given: Any, said: str) -> None:
    desk.has(telling())
    async with desk.client("legacy") as client:
        result = await client.call_tool("tells", given)
    assert error_of(result)["kind"] == "arguments"
    assert said in text_of(result)
