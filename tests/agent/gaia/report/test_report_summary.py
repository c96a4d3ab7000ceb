"""A summary counts every selected question, whatever became of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import RunError
from agent.gaia.attempt import Task
from agent.gaia.report.figures import open_report, report_of
from agent.gaia.report.tables import as_markdown, as_terminal, seconds_text, shown
from support.attempts import attempt, tasks, write_ledger

STATUSES = ("ok", "error", "timeout", "limit", "missing-file", "interrupted")
LINES = st.lists(
    st.tuples(st.integers(1, 6), st.integers(1, 3), st.sampled_from(STATUSES), st.sampled_from([True, False, None])),
    max_size=30,
)


@given(LINES, st.integers(0, 6), st.integers(1, 3))
def test_accuracy_is_right_by_all_selected_questions_and_epochs(lines, selected, epochs):
    attempts = [attempt(f"q{n}", correct, epoch=epoch, status=status) for n, epoch, status, correct in lines]
    summary = report_of(attempts, tasks(selected), epochs=epochs)
    last = {a.key: a for a in attempts if int(a.task_id[1:]) <= selected}
    numbers = {*range(1, epochs + 1), *(a.epoch for a in last.values())}
    assert summary.overall.of == selected * (len(numbers) if selected else 0)
    assert summary.overall.right == sum(a.correct is True for a in last.values())
    assert summary.attempted + summary.missing == summary.overall.of
    assert sum(summary.status.values()) == summary.overall.of
    for groups in (summary.level, summary.file_type, summary.route):
        assert sum(group.of for group in groups) == summary.overall.of
        assert sum(group.right for group in groups) == summary.overall.right
    if selected and summary.mean_pass_at_1 is not None:
        assert summary.mean_pass_at_1 == pytest.approx(summary.overall.right / summary.overall.of)
        assert summary.pass_at_k[1] == pytest.approx(summary.mean_pass_at_1)
        low, high = summary.overall.interval95
        assert low <= summary.mean_pass_at_1 <= high
    json.dumps(report_of(attempts, tasks(selected), epochs=epochs).as_json(), allow_nan=False)


def test_missing_and_broken_questions_stay_in_the_denominator():
    attempts = [attempt("q1"), attempt("q2", None, status="error", error="it broke"), attempt("q3", False)]
    summary = report_of(attempts, tasks(5))
    assert (summary.overall.right, summary.overall.of, summary.errors, summary.missing) == (1, 5, 1, 2)
    assert as_terminal(shown(report_of(attempts, tasks(5)))).startswith(
        "20.0 % right: 1 of 5 (5 selected questions), 95 % interval 3.6 to 62.4 % (Wilson)\n"
    )


def test_the_last_attempt_counts_and_what_came_before_was_paid():
    attempts = [attempt("q1", None, status="error", cost=0.5), attempt("q1", True, cost=0.25)]
    summary = report_of(attempts, tasks(1))
    assert (summary.overall.right, summary.errors, summary.retried) == (1, 0, 1)
    assert summary.effort.cost == 0.75


def test_what_an_interrupted_run_took_is_counted_once():
    """The attempt that goes on with a run holds what it took before."""
    interrupted = attempt("q1", None, status="interrupted", run_id="r", cost=0.5)
    effort = report_of([interrupted, attempt("q1", run_id="r", cost=0.75, seconds=3.0)], tasks(1)).effort
    assert (effort.cost, effort.seconds, effort.input_tokens) == (0.75, 3.0, 100)


def test_an_unknown_price_is_unknown_and_never_nothing():
    text = as_terminal(shown(report_of([attempt("q1", cost=None)], tasks(1))))
    assert "$" not in text
    assert report_of([attempt("q1", cost=None), attempt("q2", cost=0.5)], tasks(2)).effort.cost is None
    assert report_of([attempt("q1", cost=None)], tasks(1)).as_json()["effort"]["cost"] is None


def test_several_epochs_have_each_figure_under_its_own_name():
    rights = {"q1": (True, True, True), "q2": (True, False, False), "q3": (False, False, False), "q4": (False,) * 3}
    attempts = [attempt(q, right, epoch=n) for q, three in rights.items() for n, right in enumerate(three, 1)]
    summary = report_of(attempts, tasks(4), epochs=3)
    assert summary.pass_at_1_by_epoch == (0.5, 0.25, 0.25)
    assert summary.mean_pass_at_1 == pytest.approx(1 / 3)
    assert summary.pass_at_1_stdev == pytest.approx(0.1443, abs=1e-4)
    assert summary.pass_at_k == pytest.approx({1: 1 / 3, 2: (1 + 2 / 3) / 4, 3: 0.5})
    assert summary.pass_hat_k == pytest.approx({1: 1 / 3, 2: 0.25, 3: 0.25})
    text = as_markdown(shown(report_of(attempts, tasks(4), epochs=3)))
    for name in ("mean pass@1", "pass@3", "pass^3"):
        assert name in text.replace("\\", "")


def test_epochs_of_one_question_do_not_make_the_interval_narrower():
    one = report_of([attempt("q1"), attempt("q2", False)], tasks(2)).overall.interval95
    many = [attempt(q, q == "q1", epoch=n) for n in range(1, 6) for q in ("q1", "q2")]
    assert report_of(many, tasks(2), epochs=5).overall.interval95 == pytest.approx(one)


def test_without_true_answers_the_accuracy_is_unknown():
    report = report_of([attempt("q1", None), attempt("q2", None)], tasks(2))
    assert as_terminal(shown(report)).startswith("accuracy unknown: no attempt")
    assert "0.0 %" not in as_terminal(shown(report))
    assert report.as_json()["overall"]["accuracy"] is None


def test_questions_are_grouped_by_level_file_and_route():
    selected = (Task("q1", "", 1, "a.XLSX"), Task("q2", "", 2, "b.pdf"), Task("q3", "", None, ""))
    attempts = [
        attempt("q1", routes=("plan", "read_file", "run_code", "read_file", "answer")),
        attempt("q2", level=2, routes=()),
    ]
    summary = report_of(attempts, selected)
    assert {g.name for g in summary.level} == {"1", "2", "no level"}
    assert {g.name for g in summary.file_type} == {"xlsx", "pdf", "no file"}
    assert {g.name for g in summary.route} == {"read_file → run_code", "no action", "not attempted"}


def test_tools_resolutions_and_leaks_are_counted():
    attempts = [
        attempt("q1", tools_created=("mean",), resolution="correct"),
        attempt("q2", tools_reused=("mean",), tools_failed=("sum",), resolution="correct", leaks=("mirror.example",)),
        attempt("q3", False, tools_reused=("mean",), resolution="reasoning_gap"),
    ]
    report = report_of(attempts, tasks(3))
    mean, failed = report.tools
    assert (mean.name, mean.created, mean.reused, mean.reused_right, mean.failed) == ("mean", 1, 2, 1, 0)
    assert (failed.name, failed.failed) == ("sum", 1)
    assert report.resolutions == {"correct": 2, "reasoning_gap": 1}
    assert report.leaks == {"q2": ("mirror.example",)}
    assert any("right attempts among those that met one: 1" in notice for notice in report.notices)


def test_a_ledger_with_torn_and_foreign_lines_is_read_and_they_are_told(tmp_path):
    path = write_ledger(tmp_path / "l.jsonl", [attempt("q1"), attempt("q2", False)], tasks(3))
    with path.open("ab") as file:
        file.write(b'{"kind":"attempt","task_id":5}\n\xff\xfe rubbish\n[1]\n{"kind":"other"}\n{"kind":"attempt","task')
    report = open_report(path)
    assert (report.overall.right, report.overall.of) == (1, 3)
    assert len(report.notices) == 3
    assert report.created.startswith("2026-01-02")


def test_a_ledger_without_attempts_has_a_report(tmp_path):
    report = open_report(write_ledger(tmp_path / "l.jsonl", [], tasks(2)))
    assert as_terminal(shown(report)).startswith("0.0 % right: 0 of 2")
    assert report.effort.median_seconds is None
    empty = open_report(write_ledger(tmp_path / "e.jsonl", []))
    assert as_terminal(shown(empty)).startswith("no question was selected")
    assert as_markdown(shown(empty))
    (tmp_path / "new.jsonl").write_bytes(b"")
    assert open_report(tmp_path / "new.jsonl").questions == 0


def test_where_the_ledger_does_not_say_what_was_selected_this_is_told(tmp_path):
    path = write_ledger(tmp_path / "l.jsonl", [attempt("q1")])
    assert any("does not say which questions were selected" in notice for notice in open_report(path).notices)
    assert open_report(path, tasks(4)).overall.of == 4


def test_no_ledger_is_an_error_of_the_user(tmp_path):
    with pytest.raises(RunError, match="cannot be read"):
        open_report(tmp_path / "none.jsonl")


def test_texts_of_others_cannot_steer_a_terminal_or_be_markup():
    tool = "\x1b[31mred\u202e|<script>alert(1)</script>*x*"
    report = report_of([attempt("q1", tools_created=(tool,))], tasks(1))
    plain, markdown = as_terminal(shown(report)), as_markdown(shown(report))
    assert "\x1b" not in plain
    assert "\u202e" not in plain + markdown
    assert "<script>" not in markdown
    assert "\\|&lt;script&gt;" in markdown


@pytest.mark.parametrize(("seconds", "text"), [(None, "–"), (0, "0 s"), (75, "1 min 15 s"), (7_260, "2 h 1 min")])
def test_times_are_told_as_people_read_them(seconds, text):
    assert seconds_text(seconds) == text
