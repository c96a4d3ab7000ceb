"""Simulate up to 1,000 workers of one benchmark, from measured figures.

    python benchmarks/simulate.py                  # a minute: measures the inputs here, then simulates
    python benchmarks/simulate.py --inputs recorded    # seconds: uses the figures in docs/scale.md
    python benchmarks/simulate.py --json

A worker answers its questions one at a time. It calls the model, runs programs in the sandbox, and finally writes the
run to the store and the attempt to the ledger. All workers share the model's rate limit, the cores of their machines,
the database and the ledger. After a new tool, every machine scans the library again. Queues are first come, first
served. `Inputs` lists the measured and the assumed figures; docs/scale.md explains them.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import heapq
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

SEED = 41
WORKERS = (1, 10, 50, 100, 200, 500, 1_000)
QUESTIONS_PER_WORKER = 20


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs of a simulation, in seconds unless the name says otherwise."""

    # measured by this script; the values are those of docs/scale.md, taken on a busy machine
    sandbox_call: float = 0.016
    """A call in the warm sandbox."""
    ledger_line: float = 0.00053
    """Time of the ledger's single writer per line. Lines of the same 50 ms share one sync."""
    store_write: float = 0.015
    """Writing a run with its steps to PostgreSQL."""
    store_write_sqlite: float = 0.0033
    scan_1000: float = 0.117
    """Scanning a library of 1,000 tools after a change."""
    index_tool: float = 0.0094
    """Indexing one new tool."""
    worker_mb: float = 87.0
    """Memory of a worker process before its first question."""
    # measured earlier, docs/benchmarks.md
    worker_cpu: float = 0.04
    """Processor time of alita itself per question: graph, prompts, journal."""
    calls: float = 1.5
    """Model calls per question."""
    # assumed
    tools: float = 0.1
    """New tools per question."""
    model: float = 4.0
    """Median latency of a model call."""
    model_spread: float = 0.5
    """Standard deviation of the latency's logarithm."""
    program: float = 0.5
    """Processor time of programs per question."""
    requests_per_minute: float = 0.0
    """The model's rate limit. 0 for no limit."""
    cores_per_worker: float = 0.25
    workers_per_machine: int = 50
    connections: int = 20
    """Number of parallel writes in PostgreSQL."""
    library: int = 1_000
    """Tools at the start."""


_FULL = 0.85
"""Utilisation from which a part counts as full."""


class Station:
    """Several servers with one queue. Requests arrive in order of time."""

    def __init__(self, servers: int) -> None:
        self._free = [0.0] * servers
        self.busy = 0.0
        self.servers = servers

    def serve(self, now: float, seconds: float) -> float:
        """Return the time at which a request that arrives now is done."""
        end = max(now, heapq.heappop(self._free)) + seconds
        heapq.heappush(self._free, end)
        self.busy += seconds
        return end


class RateLimit:
    """A limit of requests per minute. Waiting requests keep their order."""

    def __init__(self, per_minute: float) -> None:
        self._gap = 60.0 / per_minute if per_minute else 0.0
        self._next = 0.0
        self.waited = 0.0
        self.passed = 0

    def serve(self, now: float) -> float:
        """Return the time at which a request may be sent."""
        at = max(now, self._next)
        self._next = at + self._gap
        self.waited += at - now
        self.passed += 1
        return at


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a simulation."""

    workers: int
    per_minute: float
    """Answered questions per minute."""
    seconds: float
    """Mean time of a question."""
    shares: dict[str, float]
    """Utilisation of each part, from 0 to 1."""

    @property
    def limit(self) -> str:
        """The part that is full, or an empty string."""
        name = max(self.shares, key=self.shares.__getitem__)
        return name if self.shares[name] >= _FULL else ""


def simulate(inputs: Inputs, workers: int, *, seed: int = SEED, questions: int = QUESTIONS_PER_WORKER) -> Outcome:
    """Simulate until each worker has answered its questions."""
    chance = random.Random(seed)
    machines = -(-workers // inputs.workers_per_machine)
    cores = [Station(max(1, round(min(workers, inputs.workers_per_machine) * inputs.cores_per_worker)))
             for _ in range(machines)]  # fmt: skip
    store, ledger, model = Station(inputs.connections), Station(1), RateLimit(inputs.requests_per_minute)
    tools, known = inputs.library, [inputs.library] * machines
    taken: list[float] = []
    events: list[tuple[float, int, int, Iterator[tuple[str, float]]]] = []

    def question() -> Iterator[tuple[str, float]]:
        """Yield the parts of a question in order."""
        calls = int(inputs.calls) + (chance.random() < inputs.calls % 1)
        yield "index", 0.0
        for _ in range(calls):
            yield "model", inputs.model * chance.lognormvariate(0.0, inputs.model_spread)
            yield "cores", inputs.sandbox_call + (inputs.worker_cpu + inputs.program) / calls
        if chance.random() < inputs.tools:
            yield "tool", 0.0
        yield "store", inputs.store_write
        yield "ledger", inputs.ledger_line

    order, left, begun = 0, [questions] * workers, [0.0] * workers
    for worker in range(workers):
        heapq.heappush(events, (chance.random(), order := order + 1, worker, question()))
    now = 0.0
    while events:
        now, _, worker, parts = heapq.heappop(events)
        machine = worker // inputs.workers_per_machine
        part, seconds = next(parts, ("", 0.0))
        if not part:
            taken.append(now - begun[worker])
            left[worker] -= 1
            if left[worker]:
                begun[worker] = now
                heapq.heappush(events, (now, order := order + 1, worker, question()))
            continue
        if part == "model":
            now = model.serve(now) + seconds
        elif part == "cores":
            now = cores[machine].serve(now, seconds)
        elif part == "store":
            now = store.serve(now, seconds)
        elif part == "ledger":
            now = ledger.serve(now, seconds)
        elif part == "tool":
            tools += 1
        elif new := tools - known[machine]:  # the first question on each machine after a change
            known[machine] = tools
            now = cores[machine].serve(now, inputs.scan_1000 * tools / 1_000 + inputs.index_tool * new)
        heapq.heappush(events, (now, order := order + 1, worker, parts))
    shares = {
        "model": model.passed / (inputs.requests_per_minute * now / 60) if inputs.requests_per_minute else 0.0,
        "cores": sum(one.busy for one in cores) / (now * sum(one.servers for one in cores)),
        "store": store.busy / (now * store.servers),
        "ledger": ledger.busy / now,
    }
    return Outcome(workers, 60 * len(taken) / now, statistics.mean(taken), shares)


# Measuring


def _each(work: Callable[[int], Any], times: int) -> float:
    """Return the seconds per call in the best of three rounds, since other work can only add time."""
    rounds = []
    for turn in range(3):
        started = time.perf_counter()
        for number in range(times):
            work(turn * times + number)
        rounds.append((time.perf_counter() - started) / times)
    return min(rounds)


def measured() -> Inputs:
    """Measure the inputs on this machine."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        found = replace(Inputs(), ledger_line=_ledger(folder), **_library(folder / "library"))
        found = replace(found, **asyncio.run(_sandbox()), worker_mb=_memory())
        return replace(found, store_write_sqlite=_store(folder / "sqlite", ""), store_write=_postgres(folder / "pg"))


def _ledger(folder: Path) -> float:
    from agent.gaia.attempt import Attempt
    from agent.gaia.ledger import Fingerprint, Ledger

    async def record(ledger: Ledger, count: int) -> None:
        lines = [Attempt(task_id=f"t{n}", answer="x" * 50, raw_answer="y" * 300, seconds=3.0) for n in range(count)]
        await asyncio.gather(*map(ledger.record, lines))

    with Ledger.open(folder / "out.ledger.jsonl", fingerprint=Fingerprint("set")) as ledger:
        return _each(lambda _: asyncio.run(record(ledger, 500)), 2) / 500


def _library(folder: Path) -> dict[str, float]:
    from library import fill

    from mcp_tools.library.library import Library

    fill(folder, 1_000)
    library = Library(folder, folder.parent / "data")
    library.search("numbers")
    name = next(iter(folder.glob("*.py"))).stem
    text = (folder / f"{name}.py").read_bytes()

    def change(number: int) -> None:
        (folder / f"{name}.py").write_bytes(text)
        os.utime(folder, ns=(number * 10**9, number * 10**9))
        library._index._due = 0.0
        library.search("numbers")

    seconds = _each(change, 10)
    started = time.perf_counter()
    fresh = Library(folder, folder.parent / "other")
    fresh.search("numbers")
    whole = time.perf_counter() - started
    library.close()
    fresh.close()
    return {"scan_1000": seconds, "index_tool": whole / 1_000}


async def _sandbox() -> dict[str, float]:
    from mcp_tools.sandbox.backends import open_sandbox
    from mcp_tools.sandbox.protocol import Job

    sandbox = await open_sandbox()
    try:
        job = Job("def double(n):\n    return 2 * n\n", "double", {"n": 2})
        taken = []
        for _ in range(60):
            started = time.perf_counter()
            await sandbox.run(job)
            taken.append(time.perf_counter() - started)
        return {"sandbox_call": min(taken)}
    finally:
        await sandbox.aclose()


def _memory() -> float:
    code = "import agent.alita, agent.graph, resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    return float(subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout) / 1024


def _store(home: Path, url: str) -> float:
    from agent.configuration.settings_sources import read_settings
    from agent.store import databases
    from agent.store.run_index import index_run
    from support.kept_runs import kept

    own = {"ALITA_HOME": str(home), **({"ALITA_DATABASE_URL": url} if url else {})}
    settings = read_settings({}, environment=own, current=home.parent)
    kept(settings, "a first question", "yes", steps=("found",))
    index_run(settings)
    for number in range(90):
        kept(settings, f"question {number}", "yes", steps=("one", "two"))
    with contextlib.ExitStack() as stack:
        if not url:
            stack.callback(databases.hold_store(settings))
        seconds = []
        for number in range(20):
            kept(settings, f"question {number}", "yes", steps=("one", "two"))
            started = time.perf_counter()
            index_run(settings)
            seconds.append(time.perf_counter() - started)
    databases.disconnect()
    return min(seconds)


def _postgres(home: Path) -> float:
    from support.postgres import PostgresServer

    with PostgresServer() as server:
        return _store(home, server.database())


CASES = {
    "no rate limit": {},
    "500 model calls per minute": {"requests_per_minute": 500.0},
    "5,000 model calls per minute": {"requests_per_minute": 5_000.0},
    "no rate limit, 16 workers per core": {"cores_per_worker": 1 / 16},
    "no rate limit, 0.2 seconds per model call": {"model": 0.2, "program": 0.05},
    "the same, with one SQLite file for all": {"model": 0.2, "program": 0.05, "connections": 1},
    "the same, with a new tool from every question": {"model": 0.2, "program": 0.05, "tools": 1.0},
}


def table(inputs: Inputs) -> str:
    """Return the outcomes as a Markdown table."""
    lines = [f"| questions per minute with … workers | {' | '.join(f'{n:,}' for n in WORKERS)} | saturated |"]
    lines.append(f"|---|{'--:|' * len(WORKERS)}---|")
    for name, changes in CASES.items():
        case: dict[str, Any] = dict(changes)
        if case.get("connections") == 1:
            case["store_write"] = inputs.store_write_sqlite
        found = [simulate(replace(inputs, **case), workers) for workers in WORKERS]
        part = found[-1].limit
        full = f"{part}, from {next(one.workers for one in found if one.shares[part] >= _FULL):,}" if part else "–"
        lines.append(f"| {name} | {' | '.join(f'{one.per_minute:,.0f}' for one in found)} | {full} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="simulate.py"
    )
    parser.add_argument("--inputs", choices=["measured", "recorded"], default="measured")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    inputs = measured() if options.inputs == "measured" else Inputs()
    if options.json:
        found = {
            name: [asdict(simulate(replace(inputs, **case), n)) for n in WORKERS]  # type: ignore[arg-type]
            for name, case in CASES.items()
        }
        print(json.dumps({"inputs": asdict(inputs), "outcomes": found}))
        return
    for name, value in asdict(inputs).items():
        print(f"{name:22} {value:,.5g}")
    print()
    print(table(inputs))


if __name__ == "__main__":
    main()
