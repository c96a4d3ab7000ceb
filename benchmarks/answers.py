"""Computes `questions.jsonl` from the reference functions: `answers.py --write`, or `--check`.

The file is committed, so that a measurement needs none of this; `--check` proves that it still says what the
reference functions say.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from reference import (
    counting,
    dates,
    integers,
    money,
    networks,
    parsing,
    samples,
    shapes,
    simulations,
    texts,
    units,
)
from reference.question import QUESTIONS, Question

FILE = Path(__file__).with_name("questions.jsonl")
MODULES = (counting, dates, integers, money, networks, parsing, samples, shapes, simulations, texts, units)
"""Importing them registers their questions."""


def questions() -> list[Question]:
    """Every question, ordered by kind, then from easy to hard, then by id."""
    order = ("easy", "medium", "hard")
    return sorted(QUESTIONS, key=lambda q: (q.kind, order.index(q.difficulty), q.id))


def rendered() -> str:
    """The whole of `questions.jsonl`."""
    return "".join(json.dumps(q.row(), ensure_ascii=False) + "\n" for q in questions())


def main(arguments: list[str] | None = None) -> int:
    """Writes or checks the file. Returns 1 when the check fails."""
    parser = argparse.ArgumentParser(description="Compute the answers of questions.jsonl.")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true", help="write questions.jsonl anew")
    action.add_argument("--check", action="store_true", help="fail if questions.jsonl differs from what is computed")
    chosen = parser.parse_args(arguments)
    text = rendered()
    if chosen.write:
        FILE.write_text(text, encoding="utf-8")
        print(f"{FILE.name}: {len(QUESTIONS)} questions written")
        return 0
    if not FILE.exists() or FILE.read_text(encoding="utf-8") != text:
        print(
            f"{FILE.name} differs from the computed answers: run `python benchmarks/answers.py --write`",
            file=sys.stderr,
        )
        return 1
    print(f"{FILE.name}: {len(QUESTIONS)} questions as computed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
