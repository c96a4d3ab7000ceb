"""Overhead of alita per model call: P1 and P2 in milliseconds, P3 in calls, P4 in bytes.

    python benchmarks/overhead.py [--json] [--repeat 5]

A scripted OpenAI-compatible server replies immediately with a number of tool calls, each with different arguments, and
then with the answer. Each repetition starts three new processes, one after another, with the same server:

- alita: the real `Alita.ask` with its journal and sandbox, after a warm-up question;
- trip: a bare httpx2 client that sends the same request bodies, to measure the round trip itself;
- sdk: the bare `openai` SDK in a loop that appends each tool call and its result.

Overhead is wall time minus the round trips and the time in the sandbox. Replanning is off, because it adds a call every
six steps. A pair is one action and the next decision. A whole run is `Alita.ask`, including the run's folder and the
final fsync, divided by its model calls. Processor time is that of the asking thread, minus the same parts; it is
meaningful even on a busy machine. All figures are medians.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from overhead_processes import QUESTION
from table import Figure, as_text, at_most, ratio_at_most, time_at_most

ROOT = Path(__file__).parents[1]
CALLS = (1, 40)

Figures = dict[str, Any]


def arguments_of(step: int) -> dict[str, int]:
    """Return different arguments for each step, because repeated calls are refused."""
    return {"number": 1000 + step, "factor": 7, "modulus": 97}


def script(body: dict[str, Any]) -> Any:
    """Return the next tool call, or `done` after the number of calls in the model's name."""
    from support.openai_server import Step

    wanted = int(body["model"].removeprefix("calls-"))
    done = sum(message["role"] == "tool" for message in body["messages"])
    return Step(text="done") if done >= wanted else Step(tools=[("multiply_modulo", arguments_of(done))])


class Bench:
    """The server, a home folder for alita, and the measuring processes."""

    def __init__(self, folder: Path) -> None:
        from support.openai_server import OpenAIServer

        self.folder = folder
        self.server = OpenAIServer()
        self.server.default = script

    def process(self, what: str, argument: object, home: Path) -> Figures:
        """Return the figures that a new process measured."""
        done = subprocess.run(self._command(what, argument), env=_environment(home), capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{what} failed:\n{done.stderr}")
        found: Figures = json.loads(done.stdout.splitlines()[-1])
        return found

    def start(self, what: str, argument: object, home: Path) -> subprocess.Popen[bytes]:
        """Start a process that may be killed."""
        command = self._command(what, argument)
        return subprocess.Popen(command, env=_environment(home), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def _command(self, what: str, argument: object) -> list[str]:
        return [
            sys.executable,
            str(ROOT / "benchmarks" / "overhead_processes.py"),
            what,
            self.server.url,
            str(argument),
        ]

    def repetition(self, calls: int) -> Figures:
        """Run each of the three processes once."""
        with tempfile.TemporaryDirectory(dir=self.folder) as home:
            self.server.requests.clear()
            ours = self.process("alita", calls, Path(home))
            sent = self.server.requests[-(calls + 1) :]
            bodies = Path(home) / "bodies.jsonl"
            bodies.write_text("".join(json.dumps(body) + "\n" for body in sent), encoding="utf-8")
            bare_client = self.process("trip", bodies, Path(home))
            trips = bare_client["trips"]
            self.server.requests.clear()
            sdk = self.process("sdk", calls, Path(home))["walls"]
            bare = self.server.requests[-(calls + 1) :]
            bodies.write_text("".join(json.dumps(body) + "\n" for body in bare), encoding="utf-8")
            bare_trips = self.process("trip", bodies, Path(home))["trips"]
        trip = statistics.median(trips)
        return {
            "pair_ms": 1000 * (ours["pair"] - trip),
            "last_pair_ms": 1000 * (ours["last_pair"] - statistics.median(trips[-5:])),
            "pair_cpu_ms": 1000 * (ours["pair_cpu"] - bare_client["cpu"]),
            "run_ms": 1000 * (ours["run"] - statistics.mean(trips)),
            "trip_ms": 1000 * trip,
            "sandbox_ms": 1000 * ours["sandbox"],
            "sdk_ms": 1000 * statistics.median(w - t for w, t in zip(sdk, bare_trips, strict=True)),
            "sdk_last_ms": 1000 * (statistics.median(sdk[-5:]) - statistics.median(bare_trips[-5:])),
            "sizes": [_size(body) for body in sent],
            "bare_sizes": [_size(body) for body in bare],
            "tool_size": _size(sent[0]) - _size(without_tools(sent[0])),
        }

    def killed(self, calls: int = 12, after: int = 7) -> Figures:
        """Kill a run with SIGKILL, resume it, and count the model calls of both processes."""
        asked = 0

        def until_killed(body: dict[str, Any]) -> Any:
            nonlocal asked
            asked += 1
            if asked == after:
                os.kill(process.pid, signal.SIGKILL)
            return script(body)

        with tempfile.TemporaryDirectory(dir=self.folder) as home:
            self.server.default = until_killed
            process = self.start("once", calls, Path(home))
            process.wait()
            self.server.default = script
            self.server.requests.clear()
            answer = self.process("resume", calls, Path(home))
        return {"answered": answer["text"] == "done", "calls": len(self.server.requests), "wanted": calls + 2 - after}


def _environment(home: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL", "TMPDIR")}
    return {**kept, "ALITA_HOME": str(home), "ALITA_TOOLS_DIR": str(home / "tools")}


def without_tools(body: dict[str, Any]) -> dict[str, Any]:
    """Return a first request as it would be with an empty library, since the offered tools depend on the question."""
    return {**body, "tools": [tool for tool in body["tools"] if tool["function"]["name"] != "multiply_modulo"]}


def _size(body: Any) -> int:
    return len(json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode())


def measure(repeat: int) -> Figures:
    """Return all figures, as medians over the repetitions."""
    sys.path.insert(0, str(ROOT / "tests"))
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        with bench.server:
            found: dict[int, list[Figures]] = {calls: [] for calls in CALLS}
            for _ in range(repeat):
                for calls in CALLS:
                    found[calls].append(bench.repetition(calls))
            killed = bench.killed()
    figures: Figures = {"repeat": repeat, "killed": killed, "model_calls_for_one_tool": len(found[1][0]["sizes"])}
    for calls, rows in found.items():
        times = [name for name in rows[0] if name.endswith("_ms")]
        figures[f"calls_{calls}"] = {name: round(statistics.median(row[name] for row in rows), 3) for name in times}
    sizes, bare = found[40][0]["sizes"], found[40][0]["bare_sizes"]
    figures["prompt"] = {
        "fixed_bytes": sizes[0] - len(QUESTION) - found[40][0]["tool_size"],
        "tool_bytes": found[40][0]["tool_size"],
        "growth_bytes": (sizes[-1] - sizes[0]) / 40,
        "bare_growth_bytes": (bare[-1] - bare[0]) / 40,
    }
    return figures


def table(figures: Figures) -> list[Figure]:
    """Return the figures with their baselines and targets."""
    one, many, prompt, killed = figures["calls_1"], figures["calls_40"], figures["prompt"], figures["killed"]
    went_on = killed["answered"] and killed["calls"] <= killed["wanted"]
    calls = figures["model_calls_for_one_tool"]
    return [
        time_at_most("P1", "overhead of a pair, 1 tool call, ms", one["pair_ms"], 2.5, one["sdk_ms"]),
        Figure("", "of a whole run with 1 tool call, per model call, ms", one["run_ms"]),
        Figure("P1", "model calls after kill -9 and resume", killed["calls"], killed["wanted"], "no more", went_on),
        time_at_most("P2", "overhead of a pair at 40 tool calls, ms", many["last_pair_ms"], 3.5, many["sdk_last_ms"]),
        ratio_at_most("P2", "overhead of a pair at 40 to that at 1, ms", many["last_pair_ms"], one["pair_ms"], 1.4),
        Figure("", "of the bare SDK: at 40 to that at 1, ms", many["sdk_last_ms"], one["sdk_ms"]),
        Figure("", "of a whole run with 40 tool calls, per model call, ms", many["run_ms"], many["sdk_ms"]),
        Figure("", "processor time of a pair, 1 tool call, ms", one["pair_cpu_ms"]),
        Figure("", "processor time of a pair at 40 tool calls, ms", many["pair_cpu_ms"]),
        Figure("", "server's round trip, taken off, ms", one["trip_ms"]),
        Figure("", "sandboxed call, taken off, ms", one["sandbox_ms"]),
        Figure("P3", "model calls for one tool of the library", calls, 2, "2", calls == 2),
        at_most("P4", "prompt without question and tool, bytes", prompt["fixed_bytes"], 4096),
        Figure("", "what a tool adds to it, bytes", prompt["tool_bytes"]),
        ratio_at_most("P4", "prompt, growth per step, bytes", prompt["growth_bytes"], prompt["bare_growth_bytes"], 1.1),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--repeat", type=int, default=5, help="fresh processes of each kind")
    options = parser.parse_args()
    figures = measure(options.repeat)
    found = table(figures)
    if options.json:
        rows = [figure._asdict() for figure in found]
        print(json.dumps({"benchmark": "overhead", "rows": rows, "figures": figures}))
        return
    print(as_text(found))


if __name__ == "__main__":
    main()
