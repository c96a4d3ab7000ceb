"""Our own questions about files: alita beside the same model alone and smolagents' CodeAgent with that model.

    python benchmarks/gaia_sample.py --out gaia_sample.jsonl            # all of it; goes on where it stopped
    python benchmarks/gaia_sample.py --out gaia_sample.jsonl --report   # only the table, from what was measured

The embedded model answers every question of gaia_files/sample/ in three ways, each within the same time. alita is the
benchmark runner with an empty library for each question. Alone, the model is given the question and the text of the
file, as far as it fits, and answers at once. The CodeAgent (group bench of pyproject.toml) is told where the file is,
may import what programs read such files with, and has our readers as a tool. All three answers go through the same form
and the same scorer. What took too long or broke is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agent.answering.final_answer import final_answer, in_asked_format
from agent.configuration.settings import Settings
from agent.configuration.settings_sources import read_settings
from agent.files.contents import FileProblem
from agent.files.media.speech import from_settings
from agent.files.reading import read
from agent.gaia.report.statistics import wilson
from agent.gaia.scorer import score
from agent.models.embedded.local_server import LocalServer, ServerOptions
from agent.models.embedded.weights import Weights
from agent.models.protocol import EMBEDDED, Model, Request, Role
from agent.models.roles import Models
from mcp_tools.prompt import parse_prompt

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "gaia_files" / "sample"
ARMS = ("alita", "alone", "smolagents")
FITS = 8_000
"""Characters of a file that the model is given at once: tables of numbers take a token for one or two of them."""
ALONE = parse_prompt(
    "alone",
    """<!-- system -->
Answer the question about the file. Think step by step, then write the last line as `FINAL ANSWER: …`, with only what \
was asked for.
<!-- user -->
{{file}}{{question}}""",
)
"""Fixed: alita's own prompts change, what they are measured against does not."""
_KEEP_AWAKE = 60.0
"""Seconds between two words to the model's server that it is in use: it hears only of our own client by itself."""

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Measured:
    """A line of what was measured."""

    arm: str
    id: str
    level: int
    part: str
    """dev, test or web."""
    right: bool
    seconds: float
    answer: str
    status: str = "ok"
    """Else what kept it from its end: timeout, limit, or what broke."""
    tokens: int = 0


async def ask_alone(row: Row, model: Model) -> Row:
    """The model's own answer to the question, with the text of the file in front of it."""
    shown = await _shown(SAMPLE / row["file_name"]) if row["file_name"] else ""
    completion = await model.complete(
        Request(ALONE.render(file=shown, question=row["Question"]), temperature=0, max_tokens=600)
    )
    usage = completion.usage
    lines = final_answer(completion.text).splitlines() or [""]
    return {"answer": lines[-1].strip(), "tokens": usage.input_tokens + usage.output_tokens}


async def _shown(path: Path) -> str:
    """The text of a file as our readers give it, cut to fit."""
    try:
        reading = await read(path, limit=FITS, speech=from_settings(read_settings()))
    except FileProblem as problem:
        return f"The file {path.name} cannot be read: {problem}\n\n"
    return f"The file {path.name}, {reading.where}:\n\n{reading.text[:FITS]}\n\n"


async def ask_alita(row: Row, folder: Path, seconds: float) -> Row:
    """What the benchmark runner makes of the question. Its ledger stays in the folder."""
    output = folder / f"{row['task_id']}.json"
    command = [sys.executable, str(ROOT / "src" / "gaia_benchmark.py"), str(SAMPLE / "questions.jsonl"), "--resume"]
    command += ["--ids", row["task_id"], "--library", "cold", "--output", str(output), "--max-seconds", f"{seconds:g}"]
    command += ["--model", EMBEDDED, "--no-cache"]
    done = await _finished(command, b"", seconds * 1.2 + 60)
    return attempt_of(output.with_name(f"{output.stem}.ledger.jsonl"), done)


def attempt_of(ledger: Path, done: Finished) -> Row:
    """The last attempt of a ledger; without one, what the runner complained of."""
    lines = ledger.read_text(encoding="utf-8").splitlines() if ledger.exists() else []
    attempts = [line for line in map(json.loads, lines) if line["kind"] == "attempt"]
    if not attempts:
        return {"answer": "", "status": f"no attempt: {done.complaint}"}
    last = attempts[-1]
    tokens = last["input_tokens"] + last["output_tokens"]
    return {"answer": last["answer"], "status": last["status"], "tokens": tokens}


async def ask_smolagents(row: Row, server: LocalServer, seconds: float) -> Row:
    """What smolagents' CodeAgent answers, in a process of its own that is killed at the end of its time."""
    state = await server.find()
    given = {
        "question": row["Question"],
        "file": row["file_name"],
        "url": f"http://127.0.0.1:{state.port}/v1",
        "token": state.token,
    }
    awake = asyncio.create_task(_keep_awake(server))
    command = [sys.executable, str(Path(__file__).with_name("gaia_sample_smolagents.py"))]
    try:
        with tempfile.TemporaryDirectory() as folder:  # its programs run in no sandbox: they get a copy
            if row["file_name"]:
                shutil.copy(SAMPLE / row["file_name"], folder)
            done = await _finished(command, json.dumps(given).encode(), seconds, Path(folder))
    finally:
        awake.cancel()
    if done.code is None:
        return {"answer": "", "status": "timeout"}
    if done.code:
        return {"answer": "", "status": f"broke: {done.complaint}"}
    found: Row = json.loads(done.output.splitlines()[-1])
    return found | {"answer": final_answer(found["answer"])}


async def _keep_awake(server: LocalServer) -> None:
    while True:
        server.files.touch()
        await asyncio.sleep(_KEEP_AWAKE)


@dataclass(frozen=True, slots=True)
class Finished:
    """What a process left."""

    code: int | None
    """None when its time was over and it was killed."""
    output: str
    errors: str

    @property
    def complaint(self) -> str:
        """The last line that it wrote on stderr."""
        return (self.errors.strip().splitlines() or [f"ended with {self.code}"])[-1][:300]


async def _finished(command: Sequence[str], given: bytes, seconds: float, folder: Path = ROOT) -> Finished:
    """Runs a process to its end, or kills it with its children."""
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        output, errors = await asyncio.wait_for(process.communicate(given), seconds)
        return Finished(process.returncode, output.decode(errors="replace"), errors.decode(errors="replace"))
    except TimeoutError:
        return Finished(None, "", "")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def measure(rows: Sequence[Row], arms: Sequence[str], out: Path, seconds: float) -> None:
    """Asks what the file does not hold yet, a line for each question and arm, question by question."""
    done = {(line.arm, line.id) for line in measured(out)}
    todo = [(row, arm) for row in rows for arm in arms if (arm, row["task_id"]) not in done]
    if not todo:
        return
    this = asyncio.current_task()
    assert this
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this.cancel)  # nothing it started outlives it
    folder = out.with_name(f"{out.stem}.runs")
    folder.mkdir(parents=True, exist_ok=True)
    parts = parts_of_split()
    wanted = read_settings({}).model_copy(update={"model": EMBEDDED})
    models = Models(wanted)
    server = _server(wanted)
    try:
        for row, arm in todo:
            started = time.monotonic()
            try:
                if arm == "alita":
                    found = await ask_alita(row, folder, seconds)
                elif arm == "alone":
                    found = await asyncio.wait_for(ask_alone(row, models.for_role(Role.COORDINATOR)), seconds)
                else:
                    found = await ask_smolagents(row, server, seconds)
            except Exception as failure:
                found = {"answer": "", "status": f"broke: {failure!r}"[:300]}
            line = line_of(arm, row, parts[row["task_id"]], found, time.monotonic() - started)
            _append(out, line)
            print(
                f"{arm:10} {line.level} {line.id:22} {'right' if line.right else 'wrong':5} {line.seconds:6.1f} s  "
                f"{line.answer[:40]!r} {'' if line.status == 'ok' else line.status[:60]}",
                file=sys.stderr,
                flush=True,
            )
    finally:
        await models.aclose()


def _server(wanted: Settings) -> LocalServer:
    """The server that `EmbeddedModel` uses, for those who speak to it by themselves."""
    weights = Weights(wanted.models_dir).ready()
    return LocalServer(wanted.runtime_dir, ServerOptions(weights, idle=wanted.model_idle_seconds))


def line_of(arm: str, row: Row, part: str, found: Row, seconds: float) -> Measured:
    """What is kept of an answer: in the form that the question asks for, and scored."""
    answer = in_asked_format(found["answer"], row["Question"])
    right = bool(answer) and score(answer, row["Final answer"]).correct
    more = {name: found[name] for name in ("status", "tokens") if name in found}
    return Measured(arm, row["task_id"], row["Level"], part, right, round(seconds, 2), answer, **more)


def _append(out: Path, line: Measured) -> None:
    with out.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(line), ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())


def measured(out: Path) -> list[Measured]:
    """What a file holds; a line that was torn by a kill is measured again."""
    if not out.exists():
        return []
    lines = []
    for text in out.read_text(encoding="utf-8").splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            lines.append(Measured(**json.loads(text)))
    return lines


def parts_of_split() -> dict[str, str]:
    """Of each question whether it is for tuning (dev), for measuring (test), or needs the web."""
    split = json.loads((SAMPLE / "split.json").read_bytes())
    return {task_id: part for part, ids in split.items() for task_id in ids}


def questions() -> list[Row]:
    """The rows of the set."""
    return [json.loads(line) for line in (SAMPLE / "questions.jsonl").read_text(encoding="utf-8").splitlines()]


COLUMNS = ("without web", "test", "dev", "level 1", "level 2", "level 3", "web")


def table(lines: Sequence[Measured]) -> list[list[str]]:
    """For each arm how many are right of those that were asked, with Wilson's 95 % interval for all without web."""
    head = ["arm", *COLUMNS, "95 %", "seconds, median", "tokens, median", "too long or broke"]
    rows = [head]
    for arm in ARMS:
        mine = [line for line in lines if line.arm == arm]
        if not mine:
            continue
        counted = {name: _column(mine, name) for name in COLUMNS}
        own = counted["without web"]
        low, high = wilson(sum(line.right for line in own), len(own))
        shares = [f"{sum(line.right for line in part)} of {len(part)}" for part in counted.values()]
        middle = [f"{statistics.median(getattr(line, name) for line in mine):.0f}" for name in ("seconds", "tokens")]
        failed = sum(line.status not in ("ok", "limit") for line in own)
        rows.append([arm, *shares, f"{low:.0%} to {high:.0%}", *middle, str(failed)])
    return rows


def _column(lines: Sequence[Measured], name: str) -> list[Measured]:
    if name in ("test", "dev", "web"):
        return [line for line in lines if line.part == name]
    return [line for line in lines if line.part != "web" and name in ("without web", f"level {line.level}")]


def shown(rows: Sequence[Sequence[str]]) -> str:
    """The table in columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("gaia_sample.jsonl"), help="what is measured; rows are kept")
    parser.add_argument("--arms", default=",".join(ARMS), help="some of them, separated by commas")
    parser.add_argument("--ids", help="ask these questions, separated by commas")
    parser.add_argument(
        "--part", choices=["dev", "test", "web"], help="ask these; without it all but those for the web"
    )
    parser.add_argument("--limit", type=int, help="ask the first so many of these")
    parser.add_argument("--seconds", type=float, default=600.0, help="for each question and arm (%(default)g)")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    options = parser.parse_args()
    arms = options.arms.split(",")
    rows = chosen(questions(), options.ids, options.part)[: options.limit]
    if unknown := set(arms) - set(ARMS):
        parser.error(f"--arms: {', '.join(sorted(unknown))} is none of {', '.join(ARMS)}")
    if not rows:
        parser.error("no question fits")
    if not options.report:
        try:
            asyncio.run(measure(rows, arms, options.out, options.seconds))
        except (asyncio.CancelledError, KeyboardInterrupt):
            sys.exit("stopped; the same command goes on from here")
    print(shown(table(measured(options.out))))


def chosen(rows: Sequence[Row], ids: str | None, part: str | None) -> list[Row]:
    """The questions that are asked."""
    if ids:
        return [row for row in rows if row["task_id"] in ids.split(",")]
    parts = parts_of_split()
    return [row for row in rows if (parts[row["task_id"]] == part if part else parts[row["task_id"]] != "web")]


if __name__ == "__main__":
    main()
