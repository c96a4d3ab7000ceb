"""The account of a run on stderr: the same lines everywhere, movement only on a terminal."""

import io

from inline_snapshot import snapshot

from agent import events as e
from agent.answer import Answer
from agent.cli.screen import Screen
from agent.models.protocol import Usage

STORY = [
    e.RunStarted("261121-104055-k3f9", "What is the 57th Fibonacci number?", "embedded"),
    e.ModelStarting("fetching the embedded model", 0.1),
    e.ModelStarting("fetching the embedded model", 0.11),
    e.ModelStarting("fetching the embedded model", 0.5),
    e.StepStarted(1, 12, "create_tool", "no tool of the library computes this"),
    e.ModelCalled("coordinator", "embedded", Usage(812, 96, 0, 1), 1.234),
    e.SpecWritten("fibonacci(n: int) -> int", "Computes Fibonacci numbers."),
    e.CodeChecked(False, ("typed: annotate n",)),
    e.CodeChecked(True),
    e.TrialFinished(True, "365435296162"),
    e.TrialFinished(False, message="wall time: 10 s"),
    e.ToolRegistered("fibonacci", "/elsewhere/generated_tools/fibonacci.py", "verified"),
    e.StepStarted(2, 12, "use_tool"),
    e.ToolCalled("fibonacci", {"n": 57}, True, "365435296162", 0.0021),
    e.Note("search is not configured"),
    e.RunFinished(Answer("365435296162", "answered", (), (), 2, Usage(812, 96, 0, 2, 0.0), 3.21, "261121-104055-k3f9")),
]


def told(screen_of=lambda stream: Screen(stream, folds=False), story=STORY, *, verbose=False):
    stream = io.StringIO()
    screen = screen_of(stream)
    for event in story:
        screen.event(event, verbose=verbose)
    return stream.getvalue()


def test_a_file_gets_plain_lines():
    assert told() == snapshot(
        """\
  model   fetching the embedded model 10%
  model   fetching the embedded model 50%
● decide  create_tool — no tool of the library computes this
  spec    fibonacci(n: int) -> int
  check   code ✗ typed: annotate n
  check   code ok
  trial   call → 365435296162
  trial   call ✗ wall time: 10 s
  saved   /elsewhere/generated_tools/fibonacci.py (verified)
● decide  use_tool
  call    fibonacci(n=57) → 365435296162 (2 ms)
  note    search is not configured
● done    answered · 2 steps · 2 model calls · 908 tokens · 3.2 s · run 261121-104055-k3f9
"""
    )


def test_verbose_adds_model_calls():
    assert "  model   coordinator: embedded, 812 + 96 tokens (1.2 s)\n" in told(verbose=True)


def test_quiet_shows_warnings_only():
    story = [*STORY, e.Warned("nothing isolates")]
    assert told(lambda stream: Screen(stream, quiet=True), story) == "alita: nothing isolates\n"


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_dumb_terminals_get_plain_lines_and_no_color_takes_the_colour(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert not Screen(Terminal()).animated
    monkeypatch.setenv("TERM", "xterm")
    assert Screen(Terminal()).animated
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    Screen(stream).note("n")
    Screen(stream).event(e.Note("a note"))
    assert "\x1b[33" not in stream.getvalue()
