"""Cost of a sandbox call (P10), compared with a new interpreter per call, with and without bubblewrap.

    python benchmarks/sandbox.py            # the table; under a minute
    python benchmarks/sandbox.py --json     # the same as one JSON object

Every baseline is measured in the same run. The machine should be idle, because the figures depend on starting
processes.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from machine import bare_python_ms, run_ms, slowness

from mcp_tools.sandbox.backends import BubblewrapSandbox, find_bwrap
from mcp_tools.sandbox.environment import executable, system_paths
from mcp_tools.sandbox.protocol import Job

STDLIB = Job("import math\n\ndef f(n: int) -> float:\n    return math.sqrt(n)\n", "f", {"n": 2})
SLEEP = Job("import time\n\ndef f() -> None:\n    time.sleep(0.5)\n", "f")
PANDAS = Job(
    "import pandas as pd\n\ndef f(n: int) -> int:\n    return int(pd.Series(range(n)).sum())\n",
    "f",
    {"n": 10},
    packages=("pandas",),
)
TARGETS = {
    "stdlib_ms": ("warm call, standard library, p50", "ms", 1.5, "at most"),
    "pandas_ms": ("warm call, pandas loaded, p50", "ms", 3.5, "at most"),
    "calls_per_second": ("concurrent callers", "calls/s", 600.0, "at least"),
    "start_ms": ("start to the first answer, p50", "ms", 60.0, "at most"),
    "private_mb": ("private memory of a call's process", "MB", 2.0, "at most"),
}
BESIDES = {
    "zygote_ms": "start of the warm interpreter, p50",
    "stdlib_p90_ms": "warm call, standard library, p90",
    "spaced_ms": "the same with 10 ms between calls, p50",
    "pandas_p90_ms": "warm call, pandas loaded, p90",
}
BASELINES = {
    "python_ms": "python -I -S -c pass, per call",
    "bwrap_python_ms": "bwrap + python -I -S -c pass, per call",
}


def main() -> None:
    parser = argparse.ArgumentParser(description="What a call in the sandbox costs.")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    wanted = parser.parse_args()
    figures = asyncio.run(measure())
    print(json.dumps(figures, indent=2) if wanted.json else table(figures))


async def measure() -> dict[str, Any]:
    """Measure all figures, by name."""
    figures: dict[str, Any] = {"python_ms": bare_python_ms()}
    figures["bwrap_python_ms"] = run_ms(_bwrapped([executable(), "-I", "-S", "-c", "pass"]))
    starts = [await _start() for _ in range(10)]
    figures["zygote_ms"] = statistics.median(start for start, _ in starts)
    figures["start_ms"] = statistics.median(answered for _, answered in starts)
    async with BubblewrapSandbox() as sandbox:
        figures["level"] = sandbox.isolation.level
        figures["stdlib_ms"], figures["stdlib_p90_ms"] = await _latency(lambda: sandbox.run(STDLIB), 400)
        figures["spaced_ms"], _ = await _latency(lambda: sandbox.run(STDLIB), 200, breath=0.01)
        figures["calls_per_second"] = await _rate(lambda: sandbox.run(STDLIB), 2000, callers=16)
        sleeping = asyncio.create_task(sandbox.run(SLEEP))
        await asyncio.sleep(0.2)
        figures["private_mb"] = _private_mb()
        await sleeping
        await sandbox.run(PANDAS)
        figures["pandas_ms"], figures["pandas_p90_ms"] = await _latency(lambda: sandbox.run(PANDAS), 200)
    figures["load"] = os.getloadavg()[0]
    figures["ratios"] = {
        "python / warm call": figures["python_ms"] / figures["stdlib_ms"],
        "bwrap + python / warm call": figures["bwrap_python_ms"] / figures["stdlib_ms"],
    }
    return figures


def table(figures: dict[str, Any]) -> str:
    """Return the figures as a table."""
    lines = [f"{'':42} {'measured':>10}   target"]
    for name, (words, unit, _, _) in TARGETS.items():
        met = "met" if is_met(name, figures[name]) else "MISSED"
        lines.append(f"{words:42} {figures[name]:10.2f}   {shown_target(name)} {unit}  {met}")
    lines += [f"{words:42} {figures[name]:10.2f} ms" for name, words in BESIDES.items()]
    lines += [f"{words:42} {figures[name]:10.2f} ms baseline" for name, words in BASELINES.items()]
    lines += [f"{words:42} {ratio:10.1f} times" for words, ratio in figures["ratios"].items()]
    lines.append(f"level {figures['level']}; {os.cpu_count()} cores, load {figures['load']:.1f} at the end")
    return "\n".join(lines)


def is_met(name: str, measured: float) -> bool:
    """Return True if a figure meets its target. Targets for times and rates are scaled to this machine."""
    _, unit, target, side = TARGETS[name]
    if unit == "MB":
        return measured <= target
    return measured <= target * slowness() if side == "at most" else measured >= target / slowness()


def shown_target(name: str) -> str:
    """Return a target for printing, also scaled to this machine."""
    _, unit, target, side = TARGETS[name]
    sign = "≤" if side == "at most" else "≥"
    if unit == "MB" or slowness() == 1:
        return f"{sign} {target:g}"
    return f"{sign} {target:g} {'×' if side == 'at most' else '÷'} {slowness():g}"


def _bwrapped(command: list[str]) -> list[str]:
    binds = [part for path in system_paths() for part in ("--ro-bind", path, path)]
    return [str(find_bwrap()), "--unshare-all", *binds, "--", *command]


async def _start() -> tuple[float, float]:
    sandbox = BubblewrapSandbox()
    started = time.perf_counter()
    await sandbox.open()
    opened = time.perf_counter()
    await sandbox.run(STDLIB)
    answered = time.perf_counter()
    await sandbox.aclose()
    return (opened - started) * 1000, (answered - started) * 1000


async def _latency(call: Callable[[], Awaitable[Any]], times: int, *, breath: float = 0) -> tuple[float, float]:
    """Return median and 90th percentile in milliseconds of sequential calls."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        outcome = await call()
        taken.append((time.perf_counter() - started) * 1000)
        assert outcome.ok, outcome.problem
        await asyncio.sleep(breath)
    return statistics.median(taken), statistics.quantiles(taken, n=10)[-1]


async def _rate(call: Callable[[], Awaitable[Any]], times: int, *, callers: int) -> float:
    async def caller() -> None:
        for _ in range(times // callers):
            assert (await call()).ok

    started = time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(callers)))
    return times // callers * callers / (time.perf_counter() - started)


def _private_mb() -> float:
    """Return the private memory of processes without children, which are those that run a call."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(status.parent.name)] = int(status.read_text().rsplit(")", 1)[1].split()[1])
    below = [os.getpid()]
    for above in below:
        below += [pid for pid, parent in parents.items() if parent == above]
    waiting = [pid for pid in below if pid not in parents.values()]
    return statistics.median(_private_of(pid) for pid in waiting)


def _private_of(pid: int) -> float:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Private_")) / 1024


if __name__ == "__main__":
    sys.exit(main())
