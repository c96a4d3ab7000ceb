"""Time of a tool's proof without the models' time, for the tools of the starter library.

    python benchmarks/proof.py [--json] [--tools 44]

The stored tests of a tool replace the examiner's tests, and its own code replaces the examiner's reference
implementation, with arguments close to those of the tests. Everything else is the real proof: trial, comparison,
deliberate bugs, and the tests of similar tools.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from machine import slowness
from table import time_at_most

import mcp_tools.exchange
from mcp_tools.create.interfaces import Creation, Proposal, Test
from mcp_tools.create.prove import prove
from mcp_tools.errors import UnknownToolError
from mcp_tools.library import tool_files
from mcp_tools.library.library import Library
from mcp_tools.library.reader import Offer
from mcp_tools.sandbox.backends import open_sandbox
from mcp_tools.sandbox.protocol import Sandbox
from mcp_tools.tool import Tool

STARTER = Path(mcp_tools.exchange.__file__).parent / mcp_tools.exchange.STARTER
_DRAW = """

def draw(random):
    arguments = dict(random.choice(_KNOWN))
    for name, value in arguments.items():
        if type(value) is int and random.random() < 0.5:
            arguments[name] = value + random.randint(0, 9)
        elif type(value) is float and random.random() < 0.5:
            arguments[name] = value * random.choice([0.5, 1.5, 2.0])
    return arguments
"""


class StoredExaminer:
    """An examiner that returns the stored tests of a tool."""

    name = "stored"

    def __init__(self, tool: Tool, tests: Sequence[Test]) -> None:
        self._tests = [*tests]
        known = [test.arguments for test in tests if not test.raises and not test.files]
        self._reference = f"{tool.source}\n_KNOWN = {known!r}\n{_DRAW}" if known else ""

    async def tests(self, definition: str, tool: Tool, files: Sequence[Path] = ()) -> list[Test] | str:
        """Return the stored tests."""
        return self._tests

    def unread(self, definition: str) -> list[str]:
        """Return nothing, since all stored tests can be read."""
        return []

    def reference(self, definition: str) -> str:
        """Return the tool's own code, and a function that draws arguments."""
        return self._reference

    async def reconsider(
        self, definition: str, tool: Tool, disputed: Sequence[Test], objection: str
    ) -> list[Test | None]:
        """Keep the stored tests, and drop others."""
        return [test if test in self._tests else None for test in disputed]


class OthersStore:
    """The library without the tool that is being proved."""

    def __init__(self, library: Library, without: str) -> None:
        self._library, self._without = library, without

    async def offered(self, question: str, *, most: int, small: int) -> Offer:
        """Return matching tools, except the tool itself."""
        offer = self._library.offered(question, most=most, small=small)
        fitting, others = (
            tuple(tool for tool in tools if tool.name != self._without) for tools in (offer.fitting, offer.others)
        )
        return replace(offer, fitting=fitting, others=others)

    async def get(self, name: str) -> Tool:
        """Return a tool of the library, except the tool itself."""
        if name == self._without:
            raise UnknownToolError(name)
        return self._library.get(name)

    async def merge(self, tool: Tool, name: str) -> Tool:
        """Return the tool unchanged."""
        return tool

    async def register(self, tool: Tool, *, replaces: Tool | None = None, is_draft: bool = False) -> Tool:
        """Return the tool without storing it."""
        return tool


async def proved(tool: Tool, library: Library, sandbox: Sandbox) -> tuple[Creation, float]:
    """Prove a tool. Returns the result and the elapsed seconds."""
    tests = [Test.from_json(test) for test in tool.provenance["tests"]]
    call = next(test for test in tests if not test.raises and not test.files)
    proposal = Proposal("", tool.source, call.arguments, tool.name, capabilities=tool.capabilities)
    started = time.perf_counter()
    creation = await prove(
        proposal,
        examiner=StoredExaminer(tool, tests),
        sandbox=sandbox,
        library=OthersStore(library, tool.name),
        notify=lambda _: None,
    )
    return creation, time.perf_counter() - started


async def measure(count: int) -> list[dict[str, Any]]:
    """Return a row for each tool that uses no files or packages."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as home:
        library = Library(Path(home) / "tools", Path(home) / "data")
        read = [tool_files.read_tool(STARTER, path.stem) for path in sorted(STARTER.glob("*.py"))]
        tools = [library.register(tool) for tool in read if isinstance(tool, Tool)]
        sandbox = await open_sandbox()
        try:
            for tool in tools:
                tests = [Test.from_json(test) for test in tool.provenance["tests"]]
                may = asdict(tool.capabilities)
                plain = not may["read"] and not may["packages"] and any(not t.raises and not t.files for t in tests)
                if not plain or len(rows) >= count:
                    continue
                creation, seconds = await proved(tool, library, sandbox)
                kept = creation.tool.provenance["evidence"] if creation.tool and creation.choice == "create" else None
                rows.append(
                    {"tool": tool.name, "seconds": round(seconds, 2), "evidence": kept, "reason": creation.reason}
                )
        finally:
            await sandbox.aclose()
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Time of a tool's proof, without the models' time.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--tools", type=int, default=44)
    options = parser.parse_args()
    slow = slowness()
    rows = asyncio.run(measure(options.tools))
    seconds = [row["seconds"] for row in rows if row["evidence"]]
    figures = [
        time_at_most("", "proof of a tool without the models, p50, s", round(statistics.median(seconds), 2), 3.0),
        time_at_most("", "the same, p90, s", round(statistics.quantiles(seconds, n=10)[8], 2), 3.0),
    ]
    if options.json:
        print(json.dumps({"slowness": slow, "tools": rows, "rows": [figure._asdict() for figure in figures]}))
        return
    for row in rows:
        print(f"{row['seconds']:7.2f} s  {row['tool']}  {row['evidence'] or row['reason'][:300]}")
    for figure in figures:
        print(figure)


if __name__ == "__main__":
    main()
