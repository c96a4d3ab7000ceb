"""Two runs are compared question by question, on what they have in common, and the rest is told."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from agent.gaia.report.comparison import compare, sentence, shown
from agent.gaia.report.figures import report_of
from agent.gaia.report.statistics import mcnemar
from agent.gaia.report.tables import as_markdown, as_terminal
from support.attempts import attempt, tasks


def test_changed_questions_and_the_test_are_told():
    first = report_of([attempt(f"q{n}", n <= 4) for n in range(1, 11)], tasks(10), name="a.jsonl")
    second = report_of([attempt(f"q{n}", n >= 4) for n in range(1, 11)], tasks(10), name="b.jsonl")
    found = compare(first, second)
    assert [c.task_id for c in found.lost] == ["q1", "q2", "q3"]
    assert [c.task_id for c in found.gained] == ["q5", "q6", "q7", "q8", "q9", "q10"]
    assert (found.both, found.neither, found.common) == (1, 0, 10)
    assert found.mcnemar_p == mcnemar(3, 6) == 0.5078125
    assert sentence(found) == (
        "+30.0 points on 10 common questions: 9 questions changed, 6 gained and 3 lost; p = 0.51 "
        "(McNemar, exact, two-sided)"
    )
    assert "Gained" in as_terminal(shown(found))
    assert "## Lost" in as_markdown(shown(found))
    json.dumps(found.as_json(), allow_nan=False)


def test_what_is_not_common_is_told_and_not_compared():
    first = report_of([attempt("q1"), attempt("q2"), attempt("q3", question_sha256="x"), attempt("q4")], tasks(6))
    second = report_of(
        [attempt("q1"), attempt("q3", False, question_sha256="y"), attempt("q4", None), attempt("q5")], tasks(6)
    )
    found = compare(first, second)
    assert found.common == 1
    assert (found.only_first, found.only_second) == (("q2",), ("q5",))
    assert (found.altered, found.unscored) == (("q3",), ("q4",))
    text = as_terminal(shown(found))
    for task_id in ("q2", "q3", "q4", "q5"):
        assert f"not compared: {task_id}" in text


def test_a_broken_attempt_counts_as_wrong():
    first = report_of([attempt("q1")], tasks(1))
    second = report_of([attempt("q1", None, status="error")], tasks(1))
    assert [change.task_id for change in compare(first, second).lost] == ["q1"]


def test_of_several_epochs_the_majority_counts():
    three = [attempt("q1", n == 1, epoch=n) for n in (1, 2, 3)]
    found = compare(report_of([attempt("q1")], tasks(1)), report_of(three, tasks(1), epochs=3))
    assert [change.task_id for change in found.lost] == ["q1"]
    assert "several epochs" in as_terminal(shown(found))


def test_runs_without_a_common_question_are_not_compared():
    found = compare(report_of([attempt("q1")], tasks(2)), report_of([attempt("q2")], tasks(2)))
    assert sentence(found).startswith("The runs have no scored question in common")
    assert found.mcnemar_p == 1.0


@given(st.lists(st.tuples(st.sampled_from([True, False]), st.sampled_from([True, False])), min_size=1, max_size=12))
def test_turned_round_gains_are_losses(pairs):
    reports = [
        report_of([attempt(f"q{n}", pair[side]) for n, pair in enumerate(pairs, 1)], tasks(len(pairs)))
        for side in (0, 1)
    ]
    there, back = compare(*reports), compare(*reversed(reports))
    assert [c.task_id for c in there.gained] == [c.task_id for c in back.lost]
    assert (there.mcnemar_p, there.both, there.neither) == (back.mcnemar_p, back.both, back.neither)
    assert there.second.right - there.first.right == len(there.gained) - len(there.lost)
