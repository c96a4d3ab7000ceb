"""Two runs are compared question by question, on what they have in common, and the rest is told."""

from __future__ import annotations

import json

from agent.gaia.ledger import Header
from agent.gaia.report.comparison import compare
from agent.gaia.report.figures import Results
from agent.gaia.report.render import as_terminal
from agent.gaia.report.statistics import mcnemar
from support.attempts import attempt, tasks


def changed(shown, title):
    """The questions of the table of gained or lost ones."""
    return [row["question"] for row in shown.as_json()["tables"].get(title, [])]


def test_libraries_that_differ_are_a_notice():
    runs = [
        Results([attempt("q1", True)], tasks(1), name=mode, header=Header(configuration={"library": mode}))
        for mode in ("cold", "warm")
    ]
    assert list(compare(*runs).notices) == ["the tool libraries differ: cold in cold, warm in warm"]
    assert (list(compare(runs[0], runs[0]).notices), compare(*runs).as_json()["facts"]["library"]) == (
        [],
        ["cold", "warm"],
    )


def test_changed_questions_and_the_test_are_told():
    first = Results([attempt(f"q{n}", n <= 4) for n in range(1, 11)], tasks(10), name="a.jsonl")
    second = Results([attempt(f"q{n}", n >= 4) for n in range(1, 11)], tasks(10), name="b.jsonl")
    found = compare(first, second)
    assert changed(found, "Lost") == ["q1", "q2", "q3"]
    assert changed(found, "Gained") == ["q5", "q6", "q7", "q8", "q9", "q10"]
    told = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert told["facts"] == {
        "common questions": 10,
        "difference": 0.3,
        "p (McNemar)": mcnemar(3, 6),
        "not compared": {},
        "library": [None, None],
        "right in both": 1,
        "right in the first only": 3,
        "right in the second only": 6,
        "right in neither": 0,
    }
    assert [(run["name"], run["right"]) for run in told["tables"]["On the common questions"]] == [
        ("a.jsonl", 4),
        ("b.jsonl", 7),
    ]
    assert mcnemar(3, 6) == 0.5078125
    assert found.headline == (
        "+30.0 points on 10 common questions: 9 questions changed, 6 gained and 3 lost; p = 0.51 "
        "(McNemar, exact, two-sided)"
    )
    assert "Gained" in as_terminal(found)


def test_what_is_not_common_is_told_and_not_compared():
    first = Results([attempt("q1"), attempt("q2"), attempt("q3", question_sha256="x"), attempt("q4")], tasks(6))
    second = Results(
        [attempt("q1"), attempt("q3", False, question_sha256="y"), attempt("q4", None), attempt("q5")], tasks(6)
    )
    found = compare(first, second)
    told = found.as_json()["facts"]
    assert told["common questions"] == 1
    assert told["not compared"] == {
        "attempted in first run only": ["q2"],
        "with different text in each run": ["q3"],
        "without a reference answer in one of the runs": ["q4"],
        "attempted in second run only": ["q5"],
    }
    text = as_terminal(found)
    for task_id in ("q2", "q3", "q4", "q5"):
        assert f"not compared: {task_id}" in text


def test_of_several_epochs_the_majority_counts():
    three = [attempt("q1", n == 1, epoch=n) for n in (1, 2, 3)]
    found = compare(Results([attempt("q1")], tasks(1)), Results(three, tasks(1), epochs=3))
    assert changed(found, "Lost") == ["q1"]
    assert "several epochs" in as_terminal(found)
