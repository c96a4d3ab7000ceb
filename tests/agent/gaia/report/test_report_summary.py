"""A summary counts every selected question, whatever became of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.gaia.report.figures import Results, open_results
from agent.gaia.report.render import as_terminal
from agent.gaia.report.report import report_of as report_on
from support.attempts import attempt, tasks, write_ledger

STATUSES = ("ok", "error", "timeout", "limit", "missing-file", "interrupted")
LINES = st.lists(
    st.tuples(st.integers(1, 6), st.integers(1, 3), st.sampled_from(STATUSES), st.sampled_from([True, False, None])),
    max_size=30,
)


def report_of(attempts, selected, epochs=1):
    return report_on(Results(attempts, selected, epochs))


def facts_of(*arguments, **more):
    return report_of(*arguments, **more).as_json()["facts"]


@given(LINES, st.integers(0, 6), st.integers(1, 3))
def test_accuracy_is_right_by_all_selected_questions_and_epochs(lines, selected, epochs):
    attempts = [attempt(f"q{n}", correct, epoch=epoch, status=status) for n, epoch, status, correct in lines]
    told = json.loads(json.dumps(report_of(attempts, tasks(selected), epochs=epochs).as_json(), allow_nan=False))
    facts, whole = told["facts"], told["facts"]["all"]
    last = {a.key: a for a in attempts if int(a.task_id[1:]) <= selected}
    numbers = {*range(1, epochs + 1), *(a.epoch for a in last.values())}
    assert whole["of"] == selected * (len(numbers) if selected else 0)
    assert whole["right"] == sum(a.correct is True for a in last.values())
    assert facts["attempted"] + facts["missing"] == whole["of"]
    assert sum(facts["status"].values()) == whole["of"]
    for name in ("By level", "By file type", "By route"):
        assert sum(group["of"] for group in told["tables"].get(name, [])) == whole["of"]
        assert sum(group["right"] for group in told["tables"].get(name, [])) == whole["right"]
    if selected and (mean := facts["mean pass@1"]) is not None:
        assert mean == pytest.approx(whole["right"] / whole["of"])
        low, high = whole["interval95"]
        assert low <= mean <= high
        if len(numbers) > 1:
            figures = {row["figure"]: row["value"] for row in told["tables"]["Over the epochs"]}
            assert figures["pass@1"] == pytest.approx(mean)


def test_missing_and_broken_questions_stay_in_the_denominator():
    attempts = [attempt("q1"), attempt("q2", None, status="error", error="it broke"), attempt("q3", False)]
    facts = facts_of(attempts, tasks(5))
    assert (facts["all"]["right"], facts["all"]["of"], facts["errors"], facts["missing"]) == (1, 5, 1, 2)
    assert as_terminal(report_of(attempts, tasks(5))).startswith(
        "20.0 % right: 1 of 5 (5 selected questions), 95 % interval 3.6 to 62.4 % (Wilson)\n"
    )


def test_the_last_attempt_counts_and_what_came_before_was_paid():
    attempts = [attempt("q1", None, status="error", cost=0.5), attempt("q1", True, cost=0.25)]
    facts = facts_of(attempts, tasks(1))
    assert (facts["all"]["right"], facts["errors"], facts["tried again"]) == (1, 0, 1)
    assert facts["cost"] == 0.75


def test_what_an_interrupted_run_took_is_counted_once():
    """The attempt that goes on with a run holds what it took before."""
    interrupted = attempt("q1", None, status="interrupted", run_id="r", cost=0.5)
    facts = facts_of([interrupted, attempt("q1", run_id="r", cost=0.75, seconds=3.0)], tasks(1))
    assert (facts["cost"], facts["time"], facts["effort"]["input_tokens"]) == (0.75, 3.0, 100)


def test_several_epochs_have_each_figure_under_its_own_name():
    rights = {"q1": (True, True, True), "q2": (True, False, False), "q3": (False, False, False), "q4": (False,) * 3}
    attempts = [attempt(q, right, epoch=n) for q, three in rights.items() for n, right in enumerate(three, 1)]
    report = report_of(attempts, tasks(4), epochs=3)
    told = report.as_json()
    assert told["facts"]["mean pass@1"] == pytest.approx(1 / 3)
    assert told["facts"]["standard deviation of pass@1"] == pytest.approx(0.1443, abs=1e-4)
    assert {row["figure"]: row["value"] for row in told["tables"]["Over the epochs"]} == pytest.approx(
        {
            **{"epoch 1": 0.5, "epoch 2": 0.25, "epoch 3": 0.25},
            **{"pass@1": 1 / 3, "pass@2": (1 + 2 / 3) / 4, "pass@3": 0.5},
        }
    )
    for name in ("33.3 % ± standard deviation 14.4 points", "pass@3"):
        assert name in as_terminal(report)


def test_without_true_answers_the_accuracy_is_unknown():
    report = report_of([attempt("q1", None), attempt("q2", None)], tasks(2))
    assert as_terminal(report).startswith("accuracy unknown: no attempt")
    assert "0.0 %" not in as_terminal(report)
    assert report.as_json()["facts"]["all"]["accuracy"] is None


def test_tools_resolutions_and_leaks_are_counted():
    attempts = [
        attempt("q1", tools_created=("mean",), resolution="correct"),
        attempt("q2", tools_reused=("mean",), tools_failed=("sum",), resolution="correct", leaks=("mirror.example",)),
        attempt("q3", False, tools_reused=("mean",), resolution="reasoning_gap"),
    ]
    told = report_of(attempts, tasks(3)).as_json()
    tables = told["tables"]
    assert tables["Tools"] == [
        {"tool": "mean", "created": 1, "reused": 2, "reused and right": 1, "failed": 0},
        {"tool": "sum", "created": 0, "reused": 0, "reused and right": 0, "failed": 1},
    ]
    assert {row["resolution"]: row["attempts"] for row in tables["How attempts resolved"]} == {
        "correct": 2,
        "reasoning_gap": 1,
    }
    assert told["facts"]["right after a leak"] == 1
    assert any("1 question (q2); of these attempts, right: 1" in notice for notice in told["notices"])


def test_a_ledger_with_torn_and_foreign_lines_is_read_and_they_are_told(tmp_path):
    path = write_ledger(tmp_path / "l.jsonl", [attempt("q1"), attempt("q2", False)], tasks(3))
    with path.open("ab") as file:
        file.write(b'{"kind":"attempt","task_id":5}\n\xff\xfe rubbish\n[1]\n{"kind":"other"}\n{"kind":"attempt","task')
    told = report_on(open_results(path)).as_json()
    assert (told["facts"]["all"]["right"], told["facts"]["all"]["of"]) == (1, 3)
    assert len(told["notices"]) == 3
    assert told["facts"]["begun"].startswith("2026-01-02")


def test_texts_of_others_cannot_steer_a_terminal():
    tool = "\x1b[31mred\u202e|<script>alert(1)</script>*x*"
    report = report_of([attempt("q1", tools_created=(tool,))], tasks(1))
    plain = as_terminal(report)
    assert not {"\x1b", "\u202e"} & {*plain}
