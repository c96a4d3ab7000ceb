"""The committed routing set is balanced, consistent, and labelled by its rules."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

FILE = Path(__file__).parents[2] / "benchmarks" / "routing.jsonl"
ROWS = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]
BY_ID = {row["id"]: row for row in ROWS}
LABELS = {"use_tool", "create_tool", "run_code", "search", "browse", "read_file", "answer"}
KEYS = ["id", "split", "question", "files", "tools", "evidence", "accept", "paraphrase_of"]


def test_the_set_is_large_and_balanced():
    labels = Counter(row["accept"][0] for row in ROWS)
    assert set(labels) == LABELS
    assert len(ROWS) >= 80
    assert max(labels.values()) - min(labels.values()) <= 2
    assert sum(row["paraphrase_of"] is not None for row in ROWS) >= 25


def test_a_third_is_for_tuning_with_every_label_in_both_parts():
    dev = Counter(row["accept"][0] for row in ROWS if row["split"] == "dev")
    assert set(dev) == LABELS == {row["accept"][0] for row in ROWS if row["split"] == "test"}
    assert 0.3 <= sum(dev.values()) / len(ROWS) <= 0.4


def test_ids_and_situations_are_unique():
    assert len(BY_ID) == len(ROWS)
    assert len({json.dumps([r["question"], r["files"], r["tools"], r["evidence"]]) for r in ROWS}) == len(ROWS)


def test_each_row_is_complete_and_its_label_possible():
    for row in ROWS:
        assert list(row) == KEYS
        assert set(row["accept"]) <= LABELS
        assert row["tools"] or "use_tool" not in row["accept"], row["id"]
        if original := BY_ID.get(row["paraphrase_of"]):
            assert all(row[k] == original[k] for k in ("split", "files", "tools", "evidence", "accept"))
