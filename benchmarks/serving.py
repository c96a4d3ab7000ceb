"""Cost of the MCP server (P11): calls in memory and over stdio, the first list of 1,000 tools, memory with 10,000.

    python benchmarks/serving.py [--json]      # a few minutes; `make bench` runs it too

Baselines are measured in the same run, in turn: FastMCP runs the same function in its own process without a sandbox,
and the SDK's low-level server lists the same tools. The client is always the SDK's, with the 2026 protocol.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from library import fill
from mcp import Client, StdioServerParameters
from serving_peers import definitions, low_level
from table import Figure, as_text, rate_at_least, ratio_at_least, ratio_at_most, time_at_most

from agent.configuration.paths import find_folders
from mcp_tools.library.approvals import ApprovedHashes
from mcp_tools.library.library import Library
from mcp_tools.sandbox.backends import open_sandbox
from mcp_tools.serving.server import build_server
from mcp_tools.tool import Status, Tool

PEERS = str(Path(__file__).with_name("serving_peers.py"))
IN_FLIGHT = 32
ADDED = {"a": 2, "b": 3}

Row = list[Figure]


def add_numbers() -> Tool:
    """Return the function that all servers offer."""
    integers = {"a": {"type": "integer"}, "b": {"type": "integer"}}
    return Tool(
        "add_numbers",
        "Adds two numbers.",
        {"type": "object", "properties": integers, "required": ["a", "b"], "additionalProperties": False},
        {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]},
        'def add_numbers(a: int, b: int) -> int:\n    """Adds two numbers."""\n    return a + b\n',
        status=Status.VERIFIED,
    )


class Home:
    """A home with an approved library of some size, and the commands that serve it."""

    def __init__(self, folder: Path, size: int) -> None:
        self.tools = folder / "generated_tools"
        self._folder = folder
        tools = fill(self.tools, size)
        approvals = find_folders(self._env).data / "approvals.json"
        approvals.parent.mkdir(parents=True)
        approved = {str(self.tools.resolve()): {tool.name: asdict(ApprovedHashes.of(tool)) for tool in tools}}
        approvals.write_text(json.dumps({"version": 1, "libraries": approved}), encoding="utf-8")
        library = Library(self.tools, approvals.parent)
        library.register(add_numbers())
        assert sum(1 for _ in library.served()) == size + 1
        library.close()

    @property
    def _env(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self._folder), "ALITA_HOME": str(self._folder)}

    def alita(self) -> StdioServerParameters:
        """The command of `alita serve`."""
        program = ["-c", "from agent.cli.main import main; main()", "serve", "--tools-dir", str(self.tools)]
        return StdioServerParameters(command=sys.executable, args=program, env=self._env)

    def bare(self) -> StdioServerParameters:
        """The command of the low-level server with the same tools."""
        return StdioServerParameters(command=sys.executable, args=[PEERS, "lowlevel", str(self.tools)], env=self._env)

    def fastmcp(self) -> StdioServerParameters:
        """The command of FastMCP with the same function."""
        return StdioServerParameters(command=sys.executable, args=[PEERS, "fastmcp"], env=self._env)


async def measure() -> Row:
    """Measure all figures."""
    with tempfile.TemporaryDirectory() as scratch:
        small = Home(Path(scratch) / "small", 10)
        middle = Home(Path(scratch) / "middle", 1_000)
        large = Home(Path(scratch) / "large", 10_000)
        rows = await in_memory(small)
        rows += await over_stdio(small)
        rows.append(await first_list(middle))
        rows.append(await memory(large, small))
        return rows


async def in_memory(home: Home) -> Row:
    """Measure calls without a transport, which show the overhead of the server and the sandbox."""
    sandbox = await open_sandbox()
    library = Library(home.tools, find_folders({"ALITA_HOME": str(home.tools.parent)}).data)
    try:
        async with Client(build_server(library, sandbox)) as served, Client(low_level(definitions(home.tools))) as bare:
            ours, theirs = await alternately(_call(served), _call(bare), batch=100, rounds=5)
    finally:
        library.close()
        await sandbox.aclose()
    return [
        time_at_most("", "sandboxed tool, in memory, p50, ms (low level, unsandboxed)", ours, 2.5, theirs),
    ]


async def over_stdio(home: Home) -> Row:
    """Measure the same call over stdio, sequentially and in parallel."""
    async with Client(home.alita()) as served, Client(home.fastmcp()) as fast, Client(home.bare()) as bare:
        ours, theirs = await alternately(_call(served), _call(fast), batch=100, rounds=5)
        our_rates, their_rates, bare_rates = [], [], []
        for _ in range(5):
            our_rates.append(await _rate(_call(served)))
            their_rates.append(await _rate(_call(fast)))
            bare_rates.append(await _rate(_call(bare)))
    rate, fast_rate = statistics.median(our_rates), statistics.median(their_rates)
    return [
        ratio_at_most("", "sandboxed tool, stdio, p50, ms (FastMCP, unsandboxed)", ours, theirs, 2),
        ratio_at_least("", f"the same, {IN_FLIGHT} in flight, calls/s (the same)", rate, fast_rate, 0.5),
        rate_at_least("P11", "the same, calls/s (low level, unsandboxed)", rate, 500, statistics.median(bare_rates)),
    ]


async def first_list(home: Home) -> Figure:
    """Measure the time from starting the process to the complete list of 1,000 tools."""
    ours, theirs = [], []
    for _ in range(7):
        ours.append(await _listed(home.alita()))
        theirs.append(await _listed(home.bare()))
    name = "start to the first list of 1,000 tools, ms (low level)"
    return ratio_at_most("P11", name, statistics.median(ours), statistics.median(theirs), 1.2)


async def memory(large: Home, small: Home) -> Figure:
    """Measure the memory of the server and its sandbox after listing all tools."""
    held = [await _memory(home) for home in (large, small)]
    return ratio_at_most("", "memory with 10,000 tools, MB (with 10)", held[0], held[1], 1.5)


async def alternately(
    one: Callable[[], Awaitable[Any]], other: Callable[[], Awaitable[Any]], *, batch: int, rounds: int
) -> tuple[float, float]:
    """Return the median milliseconds of both calls, measured in alternating batches after a warm-up."""
    taken: tuple[list[float], list[float]] = ([], [])
    for call in (one, other):
        for _ in range(20):
            await call()
    for _ in range(rounds):
        for call, times in zip((one, other), taken, strict=True):
            for _ in range(batch):
                started = time.perf_counter()
                await call()
                times.append((time.perf_counter() - started) * 1000)
    return statistics.median(taken[0]), statistics.median(taken[1])


def _call(client: Client) -> Callable[[], Awaitable[None]]:
    async def call() -> None:
        result = await client.call_tool("add_numbers", ADDED)
        assert result.structured_content == {"result": 5}, result

    return call


async def _rate(call: Callable[[], Awaitable[None]], times: int = 640) -> float:
    async def caller() -> None:
        for _ in range(times // IN_FLIGHT):
            await call()

    started = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(IN_FLIGHT)))
    return times / (time.perf_counter() - started)


async def _listed(server: StdioServerParameters) -> float:
    started = time.perf_counter()
    async with Client(server) as client:
        assert len(await _all_names(client)) >= 1_000
        return (time.perf_counter() - started) * 1000


async def _all_names(client: Client) -> list[str]:
    names: list[str] = []
    cursor = None
    while True:
        page = await client.list_tools(cursor=cursor)
        names += [tool.name for tool in page.tools]
        cursor = page.next_cursor
        if cursor is None:
            return names


async def _memory(home: Home) -> float:
    """Return the MB of one server's processes after a list and a call. Shared pages are counted once."""
    async with _children() as started, Client(home.alita()) as client:
        await _all_names(client)
        await _call(client)()
        await asyncio.sleep(1)
        return sum(proportional_mb(pid) for pid in started())


@asynccontextmanager
async def _children() -> AsyncIterator[Callable[[], list[int]]]:
    """Yield a function that returns the child processes started since."""
    before = set(started_below(os.getpid()))
    yield lambda: [pid for pid in started_below(os.getpid()) if pid not in before]


def started_below(pid: int) -> list[int]:
    """Return all descendants of a process."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(status.parent.name)] = int(status.read_text().rsplit(")", 1)[1].split()[1])
    below = [pid]
    for above in below:
        below += [child for child, parent in parents.items() if parent == above]
    return below[1:]


def proportional_mb(pid: int) -> float:
    """Return the proportional set size of a process in MB."""
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    wanted = parser.parse_args()
    rows = asyncio.run(measure())
    load = os.getloadavg()[0]
    if wanted.json:
        print(json.dumps({"rows": [row._asdict() for row in rows], "load": load}, indent=2))
    else:
        print(as_text(rows))
        print(f"{os.cpu_count()} cores, load {load:.1f} at the end")


if __name__ == "__main__":
    main()
