"""The committed questions are complete and balanced, and the scorer distinguishes their answers."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from scoring import is_right

FILE = Path(__file__).parents[2] / "benchmarks" / "questions.jsonl"
ROWS = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def test_difficulties_and_splits_are_balanced():
    assert Counter(r["difficulty"] for r in ROWS) == {"easy": 22, "medium": 22, "hard": 22}
    assert Counter(r["split"] for r in ROWS) == {"dev": 22, "test": 44}
    assert len({r["id"] for r in ROWS}) == len({r["question"] for r in ROWS}) == len(ROWS)


def test_an_answer_scores_as_right_and_those_of_other_values_as_wrong():
    for row in ROWS:
        variants = [row, *row["held_back"]]
        for variant in variants:
            answer = variant["answer"]
            shown = ", ".join(map(str, answer)) if isinstance(answer, list) else str(answer)
            assert is_right(shown, answer), row["id"]
            assert not any(is_right(shown, v["answer"]) for v in variants if v["answer"] != answer), row["id"]
