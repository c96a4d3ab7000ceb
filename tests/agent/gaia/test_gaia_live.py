"""What a benchmark shows while it runs: a line for each attempt."""

import io

from agent.gaia.attempt import Attempt, Task
from agent.gaia.progress import Display

TASKS = (Task("a", "?", 1), Task("b", "?", 2), Task("c", "?", None))


def show(*, verbose=False):
    display = Display(verbose=verbose)
    display.plan(TASKS, (Attempt("a", correct=True, input_tokens=1000, cost=0.5),), 3)
    display.tell("b", "search (so)")
    display.end(Attempt("c", status="error", error="no \x1b[31mconnection"))
    display.tell("b", "waiting")


def test_lines_are_one_for_each_attempt_and_steer_no_terminal(capsys):
    show()

    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert lines[0] == "3 questions, 1 done before; 3 attempts to make."
    assert lines[1].startswith("[1/3] c: error: no connection (0 ms, 0 tokens, cost unknown); 1 right of 3")


def test_verbose_tells_every_step(capsys):
    show(verbose=True)
    assert [line.strip() for line in capsys.readouterr().err.splitlines()][1::2] == ["b: search (so)", "b: waiting"]


def test_of_several_epochs_each_attempt_is_one_of_all_and_counts_once(capsys):
    done = tuple(Attempt(task_id, epoch, correct=True) for task_id in "abc" for epoch in (1, 2))
    display = Display()
    display.plan(TASKS, done, 3, epochs=3)
    display.end(Attempt("a", 3, status="error"))
    display.end(Attempt("a", 3, correct=True))

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
