"""What a benchmark shows while it runs: a table on a terminal, lines elsewhere."""

import io

from rich.console import Console

from agent.gaia.attempt import Attempt, Task
from agent.gaia.progress import AttemptsPlanned, Began, Display, Ended, Said

TASKS = (Task("a", "?", 1), Task("b", "?", 2), Task("c", "?", None))
EVENTS = (
    AttemptsPlanned(TASKS, (Attempt("a", correct=True, input_tokens=1000, cost=0.5),), 3),
    Began(TASKS[1], 1),
    Said("b", 1, "search (so)", "search"),
    Ended(Attempt("c", status="error", error="no \x1b[31mconnection")),
)


def shown(*events, verbose=False):
    display = Display(verbose=verbose)
    for event in events:
        display.show(event)
    return display


def table_of(display):
    out = io.StringIO()
    Console(file=out, width=100).print(display.table())
    return out.getvalue()


def test_the_table_counts_by_level_and_names_what_is_under_way():
    text = table_of(shown(*EVENTS))

    rows = [line.split() for line in text.splitlines()]
    assert rows[0] == ["level", "questions", "done", "right", "wrong", "errors", "tokens", "cost"]
    assert rows[1] == ["1", "1", "1", "1", "0", "0", "1,000", "$0.5000"]
    assert rows[2] == ["2", "1", "0", "0", "0", "0", "0", "$0"]
    assert rows[4] == ["all", "3", "2", "1", "0", "1", "1,000", "unknown"]  # a price that is unknown is never 0
    assert "1 of 3 attempts" in text
    assert "b search" in text


def test_lines_are_one_for_each_attempt_and_steer_no_terminal(capsys):
    shown(*EVENTS, Said("b", 1, "waiting"))

    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0] == "3 questions, 1 done before; 3 attempts to make."
    assert lines[1].startswith("[1/3] c: error: no connection (0 s, 0 tokens, unknown); 1 right of 3")


def test_verbose_tells_every_step(capsys):
    shown(*EVENTS, Said("b", 1, "waiting"), verbose=True)
    assert [line.strip() for line in capsys.readouterr().err.splitlines()][1::2] == ["b: search (so)", "b: waiting"]


def test_of_several_epochs_each_attempt_is_one_of_all_and_counts_once(capsys):
    done = tuple(Attempt(task_id, epoch, correct=True) for task_id in "abc" for epoch in (1, 2))
    again = [Ended(Attempt("a", 3, status="error")), Ended(Attempt("a", 3, correct=True))]
    display = shown(AttemptsPlanned(TASKS, done, 3, epochs=3), *again)

    rows = [line.split() for line in table_of(display).splitlines()]
    assert rows[0][:4] == ["level", "questions", "×", "3"]
    assert (rows[1][1:6], rows[4][1:3]) == (["3", "3", "3", "0", "0"], ["9", "7"])
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("3 questions × 3 epochs, 6 done before; 3 attempts")
    assert "; 7 right of 9" in lines[-1]


class _Closed(io.StringIO):
    """What a pipe is like that nobody reads any more."""

    def write(self, _text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


def test_lines_that_nobody_reads_stop_nothing(monkeypatch):
    monkeypatch.setattr("sys.stderr", _Closed())
    Display(verbose=True).say("It goes on.")
