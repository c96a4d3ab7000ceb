"""What each addition to the embedded model's one program is worth, on questions nobody prepared for.

    python benchmarks/ladder.py sample --out ladder.jsonl               # a program and its repair; goes on
    python benchmarks/ladder.py sample --out ladder.jsonl --more 4      # then four more of each question
    python benchmarks/ladder.py whole --out whole.jsonl        # alita itself, with an empty library each time
    python benchmarks/ladder.py report ladder.jsonl whole.jsonl

`--first 20` asks only the first twenty: their order is by hash, so they are a sample.
`benchmarks/unseen/README.md` says where the questions come from and how their files are made. Programs are written
once and kept with what they printed: every rung that only combines them is computed from the same record.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from unseen_questions import HERE, is_right

from agent.configuration.settings_sources import read_settings
from agent.material.attached import look_at_files
from agent.models.protocol import EMBEDDED, Message, Model, Role
from agent.models.roles import Models
from agent.recorders.journaled_files import JournaledFiles
from agent.small.program import MAX_TOKENS, STOP, Task, answer_in, program_task, why_nothing, with_failure
from agent.state import State
from agent.store.journal import Journal
from mcp_tools.create.same_answer import answer_key
from mcp_tools.sandbox.backends import open_sandbox
from mcp_tools.sandbox.protocol import Sandbox

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.decisions import context_with

ALITA = Path(sys.executable).parent / "alita"
SECONDS = 150
"""Limit of a question that is asked of the whole program."""
TEMPERATURE = 0.6
Row = dict[str, Any]


class OneModel:
    """The same model for every role."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def for_role(self, role: str) -> Model:
        """The model."""
        return self._model


def questions(folder: Path, first: int | None) -> list[Row]:
    """The first questions in an order that nobody chose, with the paths of their files."""
    rows: list[Row] = [json.loads(line) for line in (HERE / "ladder.jsonl").read_text("utf-8").splitlines()]
    for row in rows:
        named = [row["file"]] if isinstance(row["file"], str) else row["file"] or []
        row["paths"] = [folder / name for name in named]
    return sorted(rows, key=lambda row: hashlib.sha256(row["id"].encode()).hexdigest())[:first]


async def sample(asked: list[Row], out: Path, more: int) -> None:
    """Writes and runs the programs that are not in the record yet."""
    done = {row["id"] for row in read(out) if not more or "more" in row}
    models = Models(read_settings({"model": EMBEDDED}))
    sandbox = await open_sandbox()
    try:
        for row in asked:
            if row["id"] in done:
                continue
            with tempfile.TemporaryDirectory() as place:
                journal = Journal.create(Path(place) / "journal.jsonl")
                line = await sampled(row, models.for_role(Role.WRITER), sandbox, journal, Path(place), more)
                await journal.aclose()
            with out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
            print(line["id"], file=sys.stderr, flush=True)
    finally:
        await sandbox.aclose()
        await models.aclose()


async def sampled(row: Row, model: Model, sandbox: Sandbox, journal: Journal, place: Path, more: int) -> Row:
    """The programs of a question: the likeliest one and its repair, or some more by chance, two at a time."""
    files = tuple(row["paths"])
    context = context_with(
        models=OneModel(model),
        sandbox=sandbox,
        journal=journal,
        files=files,
        reader=JournaledFiles(place / "files", journal),
    )
    started = time.monotonic()
    state: State = {"question": row["question"], "files": [path.name for path in files], "tools": [], "steps": []}
    if files:
        state["attached"] = await look_at_files(context)
    task = await program_task(state, context)
    prepared = round(time.monotonic() - started, 2)

    async def written(messages: list[Message], count: int = 1, temperature: float = 0.0, seed: int = 0) -> list[Row]:
        begun = time.monotonic()
        completions = await asyncio.gather(
            *(
                context.complete(
                    Role.WRITER, messages, temperature=temperature, seed=seed + nth, max_tokens=MAX_TOKENS, stop=STOP
                )
                for nth in range(count)
            )
        )
        each = (time.monotonic() - begun) / count
        return [await run(task, task.source_in(completion.text), row["question"], each) for completion in completions]

    if more:
        pairs = [await written(task.messages, 2, TEMPERATURE, seed) for seed in range(1, more + 1, 2)]
        return {"id": row["id"], "more": [one for pair in pairs for one in pair]}
    [greedy] = await written(task.messages)
    repaired = []
    if not greedy["answer"]:
        repaired = await written(with_failure(task.messages, greedy["source"], greedy["failure"]))
    told = {name: row[name] for name in ("id", "kind", "level", "question", "answer", "tolerance")}
    return {**told, "prepared": prepared, "greedy": greedy, "repaired": repaired}


async def run(task: Task, source: str, question: str, seconds: float) -> Row:
    """A program with what it printed, and the seconds of both."""
    outcome = await task.run(source)
    answer = answer_in(outcome.stdout, question) if outcome.ok else ""
    failure = "" if answer else why_nothing(outcome)
    printed = outcome.stdout[:2_000] if outcome.ok else ""
    told = {"source": source, "printed": printed, "answer": answer, "failure": failure}
    return {**told, "seconds": round(seconds + outcome.seconds, 2)}


def whole(asked: list[Row], out: Path) -> None:
    """Asks the command itself."""
    done = {row["id"] for row in read(out)}
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    for row in asked:
        if row["id"] in done:
            continue
        command = [str(ALITA), "--json", "--no-cache", "--model", EMBEDDED, "--max-seconds", str(SECONDS)]
        command += ["--approve", "auto", *(part for path in row["paths"] for part in ("--file", str(path)))]
        started = time.monotonic()
        with tempfile.TemporaryDirectory() as home:
            own = environment | {"ALITA_TOOLS_DIR": f"{home}/generated_tools"}
            ended = subprocess.run(
                [*command, row["question"]], env=own, cwd=home, capture_output=True, text=True, check=False
            )
        seconds = round(time.monotonic() - started, 1)
        told = json.loads(ended.stdout) if ended.stdout.startswith("{") else {"answer": ""}
        line = {name: row[name] for name in ("id", "kind", "level")} | {"seconds": seconds, "said": told["answer"]}
        line |= {"right": is_right(told["answer"], row), "created": told.get("tools_created")}
        with out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
        print(line["id"], line["right"], seconds, file=sys.stderr, flush=True)


def right(attempt: Row, row: Row) -> bool:
    """Whether a program gave the wanted answer."""
    return is_right(attempt["answer"], row)


def mended(row: Row) -> list[Row]:
    """The likeliest program, and its repair."""
    return [row["greedy"], *row["repaired"]]


def tried(attempts: list[Row]) -> list[Row]:
    """The attempts until the first that gave an answer."""
    used: list[Row] = []
    for attempt in attempts:
        used.append(attempt)
        if attempt["answer"]:
            break
    return used


def voted(row: Row, count: int) -> tuple[bool, list[Row]]:
    """Whether the answer that most of some programs gave is right, the earliest of equals."""
    attempts = [mended(row)[-1], *row["more"][: count - 1]]
    counts = Counter(answer_key(one["answer"]) for one in attempts if one["answer"])
    chosen = max(attempts, key=lambda one: counts[answer_key(one["answer"])] if one["answer"] else 0)
    return right(chosen, row), [*mended(row), *row["more"][: count - 1]]


def last(attempts: list[Row], row: Row) -> tuple[bool, list[Row]]:
    """Whether the last attempt is right."""
    return right(attempts[-1], row), attempts


RUNGS: dict[str, tuple[Callable[[Row], tuple[bool, list[Row]]], int]] = {
    "one program, what it prints": (lambda row: (is_right(row["greedy"]["printed"], row), [row["greedy"]]), 0),
    "+ the form that is asked for": (lambda row: last([row["greedy"]], row), 0),
    "+ one repair": (lambda row: last(mended(row), row), 0),
    "+ a second attempt where both fail": (lambda row: last(tried([*mended(row), *row["more"][:1]]), row), 2),
    "+ a vote of 3 instead": (lambda row: voted(row, 3), 2),
    "+ a vote of 5 instead": (lambda row: voted(row, 5), 4),
}
"""Each with the further programs that it needs."""


def report(paths: list[Path]) -> None:
    """Each rung with how many are right, and with the seconds of a question."""
    print(f"{'':40} right  median s   mean s")
    for path in paths:
        rows = read(path)
        if rows and "greedy" not in rows[0]:
            tell(f"{path.stem}: alita", [row["right"] for row in rows], [row["seconds"] for row in rows])
            continue
        for name, (rung, more) in RUNGS.items():
            known = [row for row in rows if len(row.get("more", [])) >= more]
            results = [rung(row) for row in known]
            seconds = [
                row["prepared"] + sum(one["seconds"] for one in used)
                for row, (_, used) in zip(known, results, strict=True)
            ]
            tell(f"{path.stem}: {name}", [is_good for is_good, _ in results], seconds) if known else None


def tell(name: str, good: list[bool], seconds: list[float]) -> None:
    """A line of the report."""
    print(f"{name:40} {sum(good):2} of {len(good)} {statistics.median(seconds):7.1f} {statistics.mean(seconds):8.1f}")


def read(path: Path) -> list[Row]:
    """The lines of a record, those of one question together; none where there is none."""
    rows: dict[str, Row] = {}
    for line in path.read_text("utf-8").splitlines() if path.exists() else []:
        row = json.loads(line)
        rows[row["id"]] = rows.get(row["id"], {}) | row
    return list(rows.values())


def main() -> None:
    """Measures or reports."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["sample", "whole", "report"])
    parser.add_argument("records", nargs="*", type=Path, help="what to report")
    parser.add_argument("--out", type=Path, default=Path("ladder.jsonl"))
    parser.add_argument("--files", type=Path, default=HERE, help="the folder of the questions' files")
    parser.add_argument("--more", type=int, default=0, help="further programs of each question")
    parser.add_argument("--first", type=int, help="ask only so many questions")
    options = parser.parse_args()
    asked = questions(options.files, options.first)
    if options.what == "report":
        report(options.records or [options.out])
    elif options.what == "whole":
        whole(asked, options.out)
    else:
        asyncio.run(sample(asked, options.out, options.more))


if __name__ == "__main__":
    main()
