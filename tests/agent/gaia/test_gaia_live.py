"""What a benchmark shows while it runs: a table on a terminal, lines elsewhere."""

import io

from rich.console import Console

from agent.gaia.attempt import Attempt, Task
from agent.gaia.progress import Began, Ended, PlainDisplay, Planned, Said, Stepped, Tally, duration, money, table_of

TASKS = (Task("a", "?", 1), Task("b", "?", 2), Task("c", "?", None))
EVENTS = (
    Planned(TASKS, (Attempt("a", correct=True, input_tokens=1000, cost=0.5),), 3),
    Began(TASKS[1], 1),
    Stepped("b", 1, "search", "so"),
    Ended(Attempt("c", status="error", error="no \x1b[31mconnection")),
)


def test_the_table_counts_by_level_and_names_what_is_under_way():
    tally, out = Tally(), io.StringIO()
    for event in EVENTS:
        tally.note(event)
    Console(file=out, width=100).print(table_of(tally))

    rows = [line.split() for line in out.getvalue().splitlines()]
    assert rows[0] == ["level", "questions", "done", "right", "wrong", "errors", "tokens", "cost"]
    assert rows[1] == ["1", "1", "1", "1", "0", "0", "1,000", "$0.5000"]
    assert rows[2] == ["2", "1", "0", "0", "0", "0", "0", "$0.0000"]
    assert rows[4] == ["all", "3", "2", "1", "0", "1", "1,000", "?"]  # a price that is unknown is never 0
    assert "1 of 3 attempts" in out.getvalue()
    assert "b search" in out.getvalue()


def test_lines_are_one_for_each_attempt_and_steer_no_terminal(capsys):
    display = PlainDisplay(verbose=False)
    for event in (*EVENTS, Said("b", "waiting")):
        display.show(event)

    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0] == "3 questions, 1 done before; 3 attempts to make."
    assert lines[1].startswith("[1/3] c: error: no connection (0 s, 0 tokens, ?); 1 right of 3")


def test_verbose_tells_every_step(capsys):
    display = PlainDisplay(verbose=True)
    for event in (*EVENTS, Said("b", "waiting")):
        display.show(event)
    assert [line.strip() for line in capsys.readouterr().err.splitlines()][1::2] == ["b: search (so)", "b: waiting"]


def test_of_several_epochs_each_attempt_is_one_of_all(capsys):
    tally, out, display = Tally(), io.StringIO(), PlainDisplay(verbose=False)
    done = [Attempt(task_id, epoch, correct=True) for task_id in "abc" for epoch in (1, 2)]
    for event in (Planned(TASKS, tuple(done), 3, epochs=3), Ended(Attempt("a", 3, correct=True))):
        tally.note(event)
        display.show(event)
    Console(file=out, width=100).print(table_of(tally))

    rows = [line.split() for line in out.getvalue().splitlines()]
    assert rows[0][:4] == ["level", "questions", "×", "3"]
    assert (rows[1][1:3], rows[4][1:3]) == (["3", "3"], ["9", "7"])
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("3 questions × 3 epochs, 6 done before; 3 attempts")
    assert "; 7 right of 9" in lines[1]


def test_an_attempt_that_is_made_again_counts_once():
    tally = Tally()
    for event in (*EVENTS, Ended(Attempt("c", correct=True))):
        tally.note(event)
    assert (tally.total().done, tally.total().errors, tally.total().right) == (2, 0, 2)


def test_durations_and_money_read_well():
    assert [duration(s) for s in (0.4, 59, 200, 7500)] == ["0 s", "59 s", "3 min 20 s", "2 h 05 min"]
    assert (money(None), money(0.03125)) == ("?", "$0.0312")


class _Closed(io.StringIO):
    """What a pipe is like that nobody reads any more."""

    def write(self, _text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


def test_lines_that_nobody_reads_stop_nothing(monkeypatch):
    monkeypatch.setattr("sys.stderr", _Closed())
    PlainDisplay(verbose=True).say("It goes on.")
