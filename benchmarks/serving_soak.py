"""Thousands of calls, one in a hundred of which crashes, hangs or floods: is every one answered, and does nothing leak?

    python benchmarks/serving_soak.py [--json] [--calls 10000] [--bad 0.01]      # some minutes

One server over stdio, 32 calls in flight. What is counted are the server's processes, open files and memory, after the
first tenth of the calls, in which every kind of call has happened, and after the last.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from serving import PEERS, add_numbers, proportional_mb, started_below
from table import Figure, as_text, at_most

from mcp_tools.library.library import Library
from mcp_tools.tool import Status, Tool

IN_FLIGHT = 32
SECONDS = 60.0
"""Within which every call must be answered, the 2 seconds of a hanging one and its wait for a place included."""

BAD = {
    "crash_hard": "    import ctypes\n\n    ctypes.string_at(0)\n",
    "exit_at_once": "    import os\n\n    os._exit(n)\n",
    "hang_forever": "    import time\n\n    while True:\n        time.sleep(1)\n",
    "spin_forever": "    while True:\n        n += 1\n",
    "flood_output": "    while True:\n        print('x' * 100_000)\n",
    "flood_result": "    return 'x' * 50_000_000\n",
    "eat_memory": "    return len([bytearray(10_000_000) for _ in range(1_000)])\n",
}


def bad_tool(name: str, body: str) -> Tool:
    """A tool that misbehaves."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    description = f"Does what no tool should: {name.replace('_', ' ')}."
    source = f'def {name}(n: int) -> int:\n    """{description}"""\n{body}'
    return Tool(name, description, schema, {"type": "object"}, source, status=Status.VERIFIED)


@dataclass
class Leaks:
    """What a server holds at one moment."""

    processes: int
    descriptors: int
    memory_mb: float

    @classmethod
    def now(cls, server: int) -> Leaks:
        """What it holds, the processes below it included."""
        pids = [server, *started_below(server)]
        return cls(len(pids), sum(map(_descriptors, pids)), sum(map(proportional_mb, pids)))


@dataclass
class Soaked:
    """What came of all calls."""

    calls: int
    outcomes: Counter[str] = field(default_factory=Counter)
    """How the calls of each tool were answered: `add_numbers right`, `hang_forever wall_time` …"""
    unanswered: list[str] = field(default_factory=list)
    early: Leaks | None = None
    late: Leaks | None = None
    seconds: float = 0.0

    def rows(self) -> list[Figure]:
        """The figures."""
        assert self.early is not None
        assert self.late is not None
        wrong = sum(count for name, count in self.outcomes.items() if not _is_right(name))
        early, late = self.early, self.late
        # A child more or less at that moment:
        processes, files, megabytes = early.processes + 2, early.descriptors + 16, early.memory_mb * 1.1 + 16
        return [
            at_most("", f"calls of {self.calls:,} without an answer", len(self.unanswered), 0),
            at_most("", "answers that are wrong", wrong, 0),
            at_most("", "processes at the end (early on)", late.processes, processes, early.processes),
            at_most("", "open files at the end (early on)", late.descriptors, files, early.descriptors),
            at_most("", "memory at the end, MB (early on)", late.memory_mb, megabytes, early.memory_mb),
            Figure("", "calls a second, misbehaving ones included", self.calls / self.seconds),
        ]


async def soak(calls: int, bad: float) -> Soaked:
    """Calls a server so many times, this share of them at tools that misbehave."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "tools"
        library = Library(folder, folder.parent / "data")
        for tool in (add_numbers(), *(bad_tool(name, body) for name, body in BAD.items())):
            library.register(tool)
        library.close()
        env = {"PATH": os.environ["PATH"], "HOME": scratch, "ALITA_HOME": scratch}
        before = set(started_below(os.getpid()))
        parameters = StdioServerParameters(command=sys.executable, args=[PEERS, "soak", str(folder)], env=env)
        async with Client(parameters) as client:
            server = min(set(started_below(os.getpid())) - before)
            return await _soaked(client, server, calls, bad)


async def _soaked(client: Client, server: int, calls: int, bad: float) -> Soaked:
    soaked = Soaked(calls)
    waiting = _shuffled(calls, bad)
    first = waiting[: calls // 10]
    started = time.perf_counter()
    await _all_called(client, [*BAD, *first], soaked)
    await asyncio.sleep(1)
    soaked.early = Leaks.now(server)
    await _all_called(client, waiting[calls // 10 :], soaked)
    soaked.seconds = time.perf_counter() - started
    await asyncio.sleep(1)
    soaked.late = Leaks.now(server)
    return soaked


def _shuffled(calls: int, bad: float) -> list[str]:
    generator = random.Random(calls)
    misbehaving = list(BAD) * calls
    names = misbehaving[: round(calls * bad)] + ["add_numbers"] * (calls - round(calls * bad))
    generator.shuffle(names)
    return names


async def _all_called(client: Client, names: list[str], soaked: Soaked) -> None:
    numbered = iter(enumerate(names))

    async def caller() -> None:
        for number, name in numbered:
            await _called(client, name, number, soaked)

    await asyncio.gather(*(caller() for _ in range(IN_FLIGHT)))


async def _called(client: Client, name: str, number: int, soaked: Soaked) -> None:
    arguments = {"a": number, "b": 1} if name == "add_numbers" else {"n": number}
    try:
        result = await asyncio.wait_for(client.call_tool(name, arguments), SECONDS)
    except Exception as error:
        soaked.unanswered.append(f"{name}: {type(error).__name__}: {error}")
        return
    if result.is_error:
        kind = ((result.meta or {}).get("alita/error") or {}).get("kind", "error")
        soaked.outcomes[f"{name} {kind}"] += 1
    else:
        is_sum = result.structured_content == {"result": number + 1}
        soaked.outcomes[f"{name} {'right' if is_sum else 'wrong'}"] += 1


def _is_right(outcome: str) -> bool:
    """Whether a tool that works gave its result, and one that misbehaves an error that is no fault of the sandbox."""
    name, _, kind = outcome.partition(" ")
    return kind == "right" if name == "add_numbers" else kind not in {"right", "wrong", "sandbox"}


def _descriptors(pid: int) -> int:
    try:
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))
    except OSError:
        return 0


def main() -> int:
    """Calls, and prints the table or the JSON; 1 when something leaked or was not answered."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    parser.add_argument("--calls", type=int, default=10_000, help="how many (default %(default)s)")
    parser.add_argument("--bad", type=float, default=0.01, help="share that misbehaves (default %(default)s)")
    wanted = parser.parse_args()
    soaked = asyncio.run(soak(wanted.calls, wanted.bad))
    rows = soaked.rows()
    if wanted.json:
        told: dict[str, Any] = {"rows": [row._asdict() for row in rows], "outcomes": soaked.outcomes}
        print(json.dumps({**told, "unanswered": soaked.unanswered[:20], "load": os.getloadavg()[0]}, indent=2))
        return 0
    print(as_text(rows))
    for outcome, count in sorted(soaked.outcomes.items()):
        print(f"{count:8,}  {outcome}{'' if _is_right(outcome) else '   WRONG'}")
    print("\n".join(soaked.unanswered[:20]))
    return 0 if all(row.met is not False for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
