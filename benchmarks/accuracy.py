"""Accuracy on benchmarks/questions.jsonl: alita, the same model alone, and the model with one program.

    python benchmarks/accuracy.py --out accuracy.jsonl            # all arms and questions; continues an earlier run
    python benchmarks/accuracy.py --out accuracy.jsonl --report   # only print the table

Every question starts with an empty library, so that no question helps another.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from scoring import is_right

from agent.alita import Alita
from agent.configuration.settings import Settings
from agent.configuration.settings_sources import read_settings
from agent.models.protocol import Model, Request, Role
from agent.models.roles import Models
from agent.nodes.evaluate import final_form
from agent.small.program import code_in
from mcp_tools.prompt import parse_prompt
from mcp_tools.sandbox.backends import open_sandbox
from mcp_tools.sandbox.protocol import Job, Limits, Sandbox

QUESTIONS = Path(__file__).with_name("questions.jsonl")
ARMS = ("alone", "program", "alita")
PROGRAM_LIMITS = Limits(wall_seconds=10, cpu_seconds=10)
ALONE = parse_prompt(
    "alone",
    """<!-- system -->
Think step by step, then give the final answer on the last line as `Answer: …`, with only what was asked for.
<!-- user -->
{{question}}""",
)

PROGRAM = parse_prompt(
    "program",
    """<!-- system -->
You answer a question by writing one complete Python program that prints the answer and nothing else. Use only the \
standard library. Follow every rule of the question exactly. Answer with one Python code block: no comments, no \
explanation.
<!-- user -->
{{question}}
<!-- assistant -->
```python""",
)
"""Prompts of the baselines. They are fixed, so that results stay comparable when alita's prompts change."""

Row = dict[str, Any]


async def ask_alone(question: str, model: Model) -> str:
    """Return the answer of the model alone, with step-by-step thinking."""
    completion = await model.complete(Request(ALONE.render(question=question), temperature=0, max_tokens=600))
    lines = [line for line in completion.text.strip().splitlines() if line.strip()] or [""]
    return final_form(lines[-1].replace("*", ""), question)


async def ask_program(question: str, model: Model, sandbox: Sandbox) -> str:
    """Return the output of one program that the model writes."""
    completion = await model.complete(Request(PROGRAM.render(question=question), temperature=0, max_tokens=900))
    outcome = await sandbox.run(Job(code_in(completion.text), None, limits=PROGRAM_LIMITS))
    return outcome.stdout.strip()


async def ask_alita(question: str, settings: Settings, tools: Path) -> str:
    """Return the answer of alita with an empty library."""
    settings = settings.model_copy(update={"tools_dir": tools, "use_cache": False})
    async with Alita.open(settings) as alita:
        return (await alita.ask(question)).text


async def measure(rows: list[Row], arms: Iterable[str], out: Path) -> None:
    """Ask the questions that are not in the ledger yet, and add one line per question and arm."""
    done = {(line["arm"], line["id"]) for line in _lines(out)}
    settings = read_settings({})
    models = Models(settings)
    model = models.for_role(Role.WRITER)
    sandbox = await open_sandbox()
    try:
        for row in rows:
            for arm in arms:
                if (arm, row["id"]) in done:
                    continue
                line = await _one(arm, row, model, sandbox, settings)
                with out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line, ensure_ascii=False) + "\n")
                    file.flush()
                    os.fsync(file.fileno())
                print(
                    f"{arm:8} {row['difficulty']:6} {row['id']:24} {'right' if line['right'] else 'wrong':5} "
                    f"{line['seconds']:6.1f} s  {line['answer'][:40]!r}",
                    file=sys.stderr,
                    flush=True,
                )
    finally:
        await sandbox.aclose()
        await models.aclose()


async def _one(arm: str, row: Row, model: Model, sandbox: Sandbox, settings: Settings) -> Row:
    started = time.monotonic()
    answer = error = ""
    try:
        if arm == "alone":
            answer = await ask_alone(row["question"], model)
        elif arm == "program":
            answer = await ask_program(row["question"], model, sandbox)
        else:
            with tempfile.TemporaryDirectory() as folder:
                answer = await ask_alita(row["question"], settings, Path(folder))
    except Exception as failure:
        error = repr(failure)[:300]
    return {
        "arm": arm,
        "id": row["id"],
        "difficulty": row["difficulty"],
        "split": row["split"],
        "right": is_right(answer, row["answer"]),
        "seconds": round(time.monotonic() - started, 2),
        "answer": answer,
        "error": error,
    }


def report(lines: list[Row]) -> Row:
    """Return the figures for all questions, and for those that no prompt was tuned on."""
    figures: Row = {}
    for arm in ARMS:
        mine = [line for line in lines if line["arm"] == arm]
        for part in ("all", "test", "dev", "easy", "medium", "hard"):
            rows = [line for line in mine if part in ("all", line["split"], line["difficulty"])]
            figures[f"{arm} {part}"] = [sum(line["right"] for line in rows), len(rows)]
        figures[f"{arm} seconds, median"] = _median([line["seconds"] for line in mine])
    return figures


def _median(values: list[float]) -> float | None:
    return round(sorted(values)[len(values) // 2], 3) if values else None


def _lines(out: Path) -> list[Row]:
    if not out.exists():
        return []
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines() if line.endswith("}")]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("accuracy.jsonl"), help="the ledger; measured rows are kept")
    parser.add_argument("--arms", default=",".join(ARMS))
    parser.add_argument("--split", choices=["dev", "test"])
    parser.add_argument("--report", action="store_true", help="measure nothing")
    options = parser.parse_args()
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if options.split in (None, row["split"])]
    if not options.report:
        asyncio.run(measure(rows, options.arms.split(","), options.out))
    for name, value in report(_lines(options.out)).items():
        shown = f"{value[0]} of {value[1]}" if isinstance(value, list) else value
        print(f"{name:40} {shown}")


if __name__ == "__main__":
    main()
