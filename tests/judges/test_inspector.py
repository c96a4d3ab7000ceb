"""The MCP Inspector's command line lists and calls tools, and finds no fault."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from judging import NODE_FOLDER, Served, every_kind_of_tool, furnish, over_http

from mcp_tools.sandbox.backends import open_sandbox
from mcp_tools.sandbox.protocol import Description
from mcp_tools.tool import Status, Tool

pytestmark = [pytest.mark.slow, pytest.mark.node]

SIGNATURES = (
    "plain(n: int, x: float, s: str, b: bool) -> str",
    "optional(n: int | None, s: str = 'a') -> int | None",
    "listed(words: list[str], rows: list[list[float]]) -> list[str]",
    "mapped(counts: dict[str, int], any_of_them: dict[str, list[int]]) -> dict[str, float]",
    "chosen(unit: Literal['m', 'km'], level: Literal[1, 2, 3] = 2) -> str",
    "paired(point: tuple[float, float], many: tuple[int, ...]) -> tuple[int, str]",
    "anything(data: list[dict[str, object]]) -> object",
)


class Said:
    """What the Inspector printed, and how it ended."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    @property
    def result(self) -> Any:
        assert self.out, self.err
        return json.loads(self.out)["result"]


Inspect = Callable[..., Said]


@pytest.fixture
def inspect(node: Path, tmp_path: Path) -> Inspect:
    """Runs the Inspector, each time with a home of its own: it keeps a catalogue of servers there."""
    numbers = itertools.count()

    def run(served: Served, method: str, *options: str) -> Said:
        home = tmp_path / f"inspector-{next(numbers)}"
        home.mkdir()
        command = [str(node), str(NODE_FOLDER / ".bin" / "mcp-inspector"), "--cli", "--method", method, *options]
        command += ["--format", "json", "-q", "--connect-timeout", "60000"]
        if served.url:
            command += ["--transport", "http", "--server-url", served.url]
            command += [part for name, value in served.headers.items() for part in ("--header", f"{name}: {value}")]
        else:
            for name, value in served.env.items():
                command += ["-e", f"{name}={value}"]
            command += ["--", *served.command]
        clean = {"PATH": os.environ["PATH"], "HOME": str(home)}
        return Said(subprocess.run(command, env=clean, capture_output=True, text=True, timeout=100, check=False))

    return run


@pytest.mark.timeout(180)
def test_the_inspector_lists_calls_and_sees_errors(inspect: Inspect, tmp_path: Path) -> None:
    """Over stdio in the new era, over HTTP in the old one."""
    tools = [*every_kind_of_tool(), *asyncio.run(_described())]
    stdio = furnish(tmp_path / "stdio")
    with (
        over_http(furnish(tmp_path / "http", tools), token="judges-only-0123456789abcdef") as http,
        ThreadPoolExecutor(3) as threads,
    ):
        jobs = [threads.submit(_calls, inspect, stdio)]
        jobs += [threads.submit(_proposes, inspect, furnish(tmp_path / "forge", []))]
        jobs += [threads.submit(judge, inspect, http) for judge in (_sees_errors, _finds_schemas_portable)]
        for job in jobs:
            job.result()


def _calls(inspect: Inspect, stdio: Served) -> None:
    """A call with its result twice: structured and as text."""
    era = ("--protocol-era", "modern")
    called = inspect(stdio, "tools/call", *era, "--tool-name", "add_numbers", "--tool-arg", "a=2", "b=3")
    assert called.code == 0, called.err
    assert called.result["structuredContent"] == {"result": 5}
    assert json.loads(called.result["content"][0]["text"]) == {"result": 5}


PROPOSED = '''def overtime(worked: int, contract: int) -> int:
    """Count the hours that were worked beyond a contract.

    Args:
        worked: The hours that were worked.
        contract: The hours of the contract.

    Returns:
        The hours beyond the contract; 0 if there are none.
    """
    return max(0, worked - contract)
'''
HOURS = ((45, 40, 5), (40, 40, 0), (30, 40, 0), (41, 40, 1))


def _proposes(inspect: Inspect, stdio: Served) -> None:
    """Code that the Inspector hands in is a tool that it calls in its next session."""
    examples = [{"arguments": {"worked": one, "contract": two}, "result": result} for one, two, result in HOURS]
    given = ("--tool-arg", f"code={PROPOSED}", f"examples={json.dumps(examples)}")
    made = inspect(stdio, "tools/call", "--tool-name", "propose_tool", *given)
    assert made.code == 0, made.err
    assert made.result["structuredContent"]["status"] == "registered", made.result
    called = inspect(stdio, "tools/call", "--tool-name", "overtime", "--tool-arg", "worked=50", "contract=38")
    assert called.code == 0, called.err
    assert called.result["structuredContent"] == {"result": 12}


def _sees_errors(inspect: Inspect, http: Served) -> None:
    """A tool that fails has the Inspector's own status."""
    failed = inspect(http, "tools/call", "--tool-name", "fail_always", "--tool-arg", "n=7")
    assert failed.code == 5
    assert json.loads(failed.err)["error"]["code"] == "tool_is_error"
    assert "cannot use 7" in failed.result["content"][0]["text"]


def _finds_schemas_portable(inspect: Inspect, http: Served) -> None:
    """`--strict` finds no error in schemas derived from all sorts of signatures, nor in the built-in tools."""
    said = inspect(http, "tools/list", "--strict", "--protocol-era", "legacy")
    assert said.code == 0, said.err
    tools = {tool["name"]: tool for tool in said.result["tools"]}
    assert tools.keys() >= {line.partition("(")[0] for line in SIGNATURES}
    assert tools["add_numbers"]["outputSchema"]["required"] == ["result"]
    assert tools["add_numbers"]["annotations"]["readOnlyHint"] is True


async def _described() -> list[Tool]:
    """Tools as a creation leaves them: with the schemas that the sandbox derives from the real signature."""
    sandbox = await open_sandbox()
    tools = []
    try:
        for signature in SIGNATURES:
            name = signature.partition("(")[0]
            source = f'from typing import Literal\n\n\ndef {signature}:\n    """Gives nothing."""\n    return None\n'
            found = await sandbox.describe(source, name)
            assert isinstance(found, Description), found
            tools.append(
                Tool(name, found.description, found.input_schema, found.output_schema, source, status=Status.VERIFIED)
            )
    finally:
        await sandbox.aclose()
    return tools
