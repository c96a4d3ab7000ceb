"""What a benchmark shows while it runs: a line for each attempt."""

import io

from agent.gaia.attempt import Attempt, Task
from agent.gaia.progress import AttemptsPlanned, Began, Display, Ended, Said

TASKS = (Task("a", "?", 1), Task("b", "?", 2), Task("c", "?", None))
EVENTS = (
    AttemptsPlanned(TASKS, (Attempt("a", correct=True, input_tokens=1000, cost=0.5),), 3),
    Began(TASKS[1], 1),
    Said("b", 1, "search (so)"),
    Ended(Attempt("c", status="error", error="no \x1b[31mconnection")),
)


def shown(*events, verbose=False):
    display = Display(verbose=verbose)
    for event in events:
        display.show(event)


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
    shown(AttemptsPlanned(TASKS, done, 3, epochs=3), *again)

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
