"""Measure how often the coordinator chooses the right action in benchmarks/routing.jsonl.

    python benchmarks/routing.py                # all rows
    python benchmarks/routing.py --split dev    # rows for tuning prompts and rules; lists the wrong ones

Uses the configured model and its strategy, as in a run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from agent.configuration.settings_sources import read_settings
from agent.errors import ModelError, ModelOutputError
from agent.material.pages import means_page
from agent.models.protocol import Role
from agent.models.roles import Models
from agent.question import Purpose
from agent.state import LOOK, Decision, State, Step, ToolRef

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.decisions import OneModel, context_with

ROWS = Path(__file__).with_name("routing.jsonl")
COMPUTING = frozenset({"use_tool", "create_tool", "run_code"})
PROGRAMS = frozenset({"create_tool", "run_code"})
"""These count as equal: a tool can be created from a program."""
Row = dict[str, Any]


async def decide(row: Row, models: Models | OneModel) -> str:
    """Return the action that a run would take."""
    context = context_with(models=models)
    try:
        state = situation(row)
        decision = (await context.strategy(Role.COORDINATOR).decide(state, context)).decisions[0]
        if means_page(decision) and "read_file" not in row["accept"]:  # a run reads the page first
            state["steps"] = [*state["steps"], read_in_vain(len(state["steps"]) + 1, decision)]
            decision = (await context.strategy(Role.COORDINATOR).decide(state, context)).decisions[0]
        return decision.action
    except ModelError:  # a small model chose `browse`, which it cannot do
        return "browse"
    except ModelOutputError:
        return "answer"


def situation(row: Row) -> State:
    """Return the state of a run with the row's findings, each of which starts with its action."""
    steps = []
    for number, text in enumerate(row["evidence"], 1):
        head, _, result = text.partition(":")
        action = head.split()[0]
        failed = result.strip().startswith("error")
        value = result.strip() if action in COMPUTING and not failed else None
        steps.append(
            Step(number=number, action=action, input=action, ok=not failed, finding=text, value=value, ending=LOOK)
        )
    tools = [ToolRef(tool["name"], tool["description"], tool.get("inputSchema", {})) for tool in row["tools"]]
    return State(question=row["question"], purpose=Purpose.ANSWER, files=row["files"], tools=tools, steps=steps)


def read_in_vain(number: int, decision: Decision) -> Step:
    """Return the step of a page that could not be read without a browser."""
    text = "This page needs JavaScript."
    return Step(number=number, action="read_file", input=decision.input, ok=True, finding=text, value=None, ending=LOOK)


async def measure(rows: list[Row]) -> None:
    """Decide every row, then print the wrong tuning rows and the rates."""
    models = Models(read_settings({}))
    results = []
    for row in rows:
        action = await decide(row, models)
        accepted = {*row["accept"], *(PROGRAMS if PROGRAMS & {*row["accept"]} else ())}
        results.append((row, action in accepted))
        if row["split"] == "dev" and action not in accepted:
            print(f"wrong  {row['id']:22} {action:12} wanted {'/'.join(row['accept'])}: {row['question'][:70]!r}")
    await models.aclose()
    for label in sorted({row["accept"][0] for row in rows}):
        print(rate(label, [right for row, right in results if row["accept"][0] == label]))
    print(rate("paraphrases", [right for row, right in results if row["paraphrase_of"]]))
    for split in ("dev", "test"):
        if mine := [right for row, right in results if row["split"] == split]:
            print(rate(split, mine))
    print(rate("all", [right for _, right in results]))


def rate(name: str, results: list[bool]) -> str:
    """Return one line of the report."""
    return f"{name:28} {sum(results)} of {len(results)} = {sum(results) / len(results):.0%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--split", choices=["dev", "test"])
    options = parser.parse_args()
    rows = [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]
    asyncio.run(measure([row for row in rows if options.split in (None, row["split"])]))


if __name__ == "__main__":
    main()
