"""P7: cost of the benchmark runner, with 200 questions, 32 in parallel, and a model that takes 200 ms.

    python benchmarks/gaia_runner.py [--json] [--questions 200] [--at-once 32]

A local server answers every question after 200 ms, with one model call per question. The runner is the real one, with a
journal per run and a synced ledger. The ideal time is the waiting time alone: questions / parallel x 200 ms, in whole
rounds. Wall time runs from the start of the first question to the last line in the ledger, and processor time is that
of the runner in between. Memory is what the runner holds at the end, minus that of a process after the same imports.
The baseline is the bare `openai` SDK, which asks the same server without agent, log or isolation.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from typing import Any

from table import Figure, as_text, at_most, time_at_most

ROOT = Path(__file__).parents[1]
DELAY = 0.2
ANSWER = "FINAL ANSWER: 42"
Figures = dict[str, Any]


class Answering(asyncio.Protocol):
    """A minimal Chat Completions server with a delay. It is cheap, because it shares the processors with the runner."""

    body = json.dumps(
        {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": ANSWER}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 5},
        }
    ).encode()
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)

    def connection_made(self, transport: Any) -> None:
        self._transport, self._got = transport, b""

    def data_received(self, data: bytes) -> None:
        self._got += data
        while (end := self._got.find(b"\r\n\r\n")) >= 0:
            lines = self._got[:end].lower().split(b"\r\n")
            size = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
            if len(self._got) < end + 4 + size:
                return
            self._got = self._got[end + 4 + size :]
            asyncio.get_running_loop().call_later(DELAY, self._transport.write, self.head + self.body)


async def serve() -> None:
    """Print the port, then serve until killed."""
    server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def held_mb() -> float:
    """Return the memory of this process in MiB."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def import_all() -> None:
    """Import what questions need, so that the figures do not include it."""
    for name in (
        *("agent.gaia.runner", "agent.alita", "agent.standard.standard", "agent.calls.web_access"),
        *("anyio._backends._asyncio", "h11", "httpcore2", "mcp_tools.sandbox.warm", "openai"),
    ):
        import_module(name)
    import_module("agent.graph").build_graph()


def question_file(folder: Path, count: int) -> Path:
    """Write questions that neither arithmetic nor the cache can answer."""
    path = folder / "questions.jsonl"
    rows = ({"task_id": f"t{i}", "Question": f"Who was person {i} on board?", "Level": i % 3 + 1} for i in range(count))
    path.write_text("".join(json.dumps({**row, "Final answer": "42", "file_name": ""}) + "\n" for row in rows))
    return path


def ours(url: str, folder: Path, count: int, at_once: int) -> Figures:
    """Measure the runner in this process."""
    import_all()
    from agent.configuration.settings_sources import read_settings
    from agent.gaia.attachments import usual_attachments
    from agent.gaia.configuration import RunOptions, with_limit
    from agent.gaia.dataset import load_jsonl
    from agent.gaia.progress import Display
    from agent.gaia.runner import Benchmark

    settings = with_limit(read_settings({"model": "m", "base_url": url, "use_cache": False}))
    dataset = load_jsonl(question_file(folder, count))
    options = RunOptions(output=folder / "out.json", concurrency=at_once)
    seen: Figures = {"ended": 0}

    class Measured(Benchmark):
        async def _attempt(self, *what: Any) -> None:
            if "began" not in seen:
                seen.update(began=time.monotonic(), cpu=time.process_time())
            await super()._attempt(*what)
            seen["ended"] += 1
            if seen["ended"] == count:
                wall, cpu = time.monotonic() - seen["began"], time.process_time() - seen["cpu"]
                seen.update(wall=wall, cpu=cpu, mb=held_mb())

    class Silent(Display):
        def say(self, text: str) -> None:
            """Print nothing, so that printing is not measured."""

    outcome = asyncio.run(Measured(options, dataset, settings, usual_attachments(settings), Silent()).run())
    right = sum(attempt.correct is True for attempt in outcome.attempts)
    return {"wall": seen["wall"], "cpu": seen["cpu"], "mb": seen["mb"], "right": right}


def imported() -> Figures:
    """Measure the memory of a process with the same imports."""
    import_all()
    return {"mb": held_mb()}


def bare(url: str, count: int, at_once: int) -> Figures:
    """Measure the openai SDK in a loop."""
    from openai import AsyncOpenAI

    async def all_of_them() -> float:
        client = AsyncOpenAI(base_url=url, api_key="none")
        left = iter(range(count))

        async def slot() -> None:
            for i in left:
                await client.chat.completions.create(
                    model="m", messages=[{"role": "user", "content": f"Who was person {i} on board?"}]
                )

        began = time.monotonic()
        await asyncio.gather(*(slot() for _ in range(at_once)))
        return time.monotonic() - began

    before = time.process_time()
    wall = asyncio.run(all_of_them())
    return {"wall": wall, "cpu": time.process_time() - before}


def in_a_process(what: str, *arguments: object) -> Figures:
    """Return the figures that a new process measured."""
    command = [sys.executable, __file__, "--part", what, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{what} failed:\n{done.stderr}")
    found: Figures = json.loads(done.stdout.splitlines()[-1])
    return found


def part(what: str, arguments: list[str]) -> Figures:
    """Measure one part in this process."""
    if what == "imported":
        return imported()
    url, folder, count, at_once = arguments[0], Path(arguments[1]), int(arguments[2]), int(arguments[3])
    os.environ["ALITA_HOME"] = str(folder / "home")
    if what == "ours":
        return ours(url, folder, count, at_once)
    return bare(url, count, at_once)


def figures(count: int, at_once: int) -> Figures:
    """Measure all parts with one server, one at a time."""
    server = subprocess.Popen([sys.executable, __file__, "--part", "serve"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
    try:
        with tempfile.TemporaryDirectory() as one:
            found: Figures = {"imported": in_a_process("imported")}
            found["bare"] = in_a_process("bare", url, one, count, at_once)
            found["ours"] = in_a_process("ours", url, one, count, at_once)
    finally:
        server.kill()
        server.wait()
    return found


def rows(found: Figures, count: int, at_once: int) -> list[Figure]:
    """Return the figures with their targets."""
    ideal = math.ceil(count / at_once) * DELAY
    told, sdk = found["ours"], found["bare"]
    cpu, more = 1000 * told["cpu"] / count, told["mb"] - found["imported"]["mb"]
    wall = f"{count} questions, {at_once} at once: wall / ideal"
    return [
        at_most("P7", wall, told["wall"] / ideal, 1.15, sdk["wall"] / ideal),
        time_at_most("P7", "processor time a question, ms", cpu, 7, 1000 * sdk["cpu"] / count),
        at_most("P7", "memory over the imports, MiB", more, 40),
    ]


def main() -> int:
    if "--part" in sys.argv:
        what, *arguments = sys.argv[sys.argv.index("--part") + 1 :]
        if what == "serve":
            asyncio.run(serve())
        else:
            print(json.dumps(part(what, arguments)))
        return 0
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=32)
    options = parser.parse_args()
    found = figures(options.questions, options.at_once)
    made = rows(found, options.questions, options.at_once)
    print(json.dumps({**found, "rows": [row._asdict() for row in made]}) if options.json else as_text(made))
    return 0


if __name__ == "__main__":
    sys.exit(main())
