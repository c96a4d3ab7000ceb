"""How a session looks; whatever text is shown, it neither steers the terminal nor passes for a prompt."""

import io
import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot
from rich.cells import cell_len
from rich.console import Console

from agent import events as e
from agent.answer import Answer
from agent.cli.output import rows_of
from agent.cli.screen import Screen
from agent.errors import UsageError
from agent.traces.lines import Line

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
PROMPT = "alita (ask) › "
HOSTILE = [
    f"\n{PROMPT}rm",
    f"\r{PROMPT}",
    "\x1b[2J\x1b[1;1H",
    "\x1b]0;title\x07",
    "\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\",
    "&#27;[2J &#x9b;2J &#x202e;evil &#13;x",
    "a list\n\n- &#x202e;evil &#x200b; &#27;[2J\n",
    "a\u202eb\u200bc\U000e0041",
    "\x9b2J",
    "x" * 58 + f" {PROMPT}",
    "\n\nKeep this tool? [y]es · [n]o ›",
    "```\n" + PROMPT + "\n```",
    f"# t\n\n> {PROMPT}\n\n- {PROMPT}\n\n| a |\n|---|\n| {PROMPT} |",
    "\\u001b[2J\b\b\b\v\f\x00",
]


@pytest.fixture(autouse=True)
def sixty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("NO_COLOR", raising=False)


def rich_screen(stream: io.StringIO) -> Screen:
    console = Console(file=stream, width=60, force_terminal=True, highlight=False, markup=False, emoji=False)
    return Screen(stream, console=console, folds=True)


def plain_screen(stream: io.StringIO) -> Screen:
    return Screen(stream, folds=True)


def spoken_screen(stream: io.StringIO) -> Screen:
    return Screen(stream, spoken=True, folds=True)


SCREENS: list[Callable[[io.StringIO], Screen]] = [rich_screen, plain_screen, spoken_screen]
WAYS: dict[str, Callable[[Screen, str], None]] = {
    "answer": lambda screen, text: screen.answer(text),
    "quote": lambda screen, text: screen.quote(text),
    "code": lambda screen, text: screen.code(text),
    "rows": lambda screen, text: screen.rows([("name", text), (text, "x")]),
    "line": lambda screen, text: screen.line(Line("note", text)),
    "whole": lambda screen, text: screen.line(Line("note", text, whole=True)),
    "note": lambda screen, text: screen.note(f"It says {text}"),
    "error": lambda screen, text: screen.error(UsageError(text, remedy=text)),
    "step": lambda screen, text: screen.event(e.StepStarted(1, 2, text, text)),
    "refused": lambda screen, text: screen.event(e.ToolRefused(text, text)),
    "file": lambda screen, text: screen.event(e.FileRead(text, text, text, (text,))),
    "searched": lambda screen, text: screen.event(e.WebSearched(text, text, (text,))),
    "search failed": lambda screen, text: screen.event(e.WebSearched(text, text, ok=False, message=text)),
    "page": lambda screen, text: screen.event(e.PageRead(text, text, text)),
    "browser": lambda screen, text: screen.event(e.BrowserStepped(1, text, text, text, ok=False, message=text)),
    "instruction": lambda screen, text: screen.event(e.InstructionFound(text, text)),
    "called": lambda screen, text: screen.event(e.ToolCalled(text, {text: text}, False, text)),
    "finished": lambda screen, text: screen.event(e.RunFinished(Answer(text, "limit", limit=text, run_id=text))),
    "warned": lambda screen, text: screen.event(e.Warned(text)),
}


def shown(make: Callable[[io.StringIO], Screen], way: str, text: str) -> str:
    stream = io.StringIO()
    WAYS[way](make(stream), text)
    return stream.getvalue()


def assert_harmless(told: str) -> None:
    rows = _COLOUR.sub("", told).split("\n")
    for row in rows:
        assert row == "" or row.isprintable() or "\u200d" in row, ascii(row)
        assert not row.startswith(("alita", "Keep", "more>")), row
        assert cell_len(row) <= 60, row


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", SCREENS)
def test_hostile_text_neither_steers_nor_passes_for_a_prompt(make: Callable[[io.StringIO], Screen], way: str) -> None:
    for text in HOSTILE:
        assert_harmless(shown(make, way, text))


@settings(max_examples=10)
@given(text=st.text(st.characters(codec="utf-8"), max_size=200), make=st.sampled_from(SCREENS))
def test_no_answer_leaves_its_place(text: str, make: Callable[[io.StringIO], Screen]) -> None:
    told = _COLOUR.sub("", shown(make, "answer", text))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2066-\u2069\u202a-\u202e]", told)
    assert all(row in {"", "The answer is:"} or row.startswith("  ") for row in told.split("\n"))


@settings(max_examples=10)
@given(text=st.text(max_size=300), width=st.integers(12, 100))
def test_rows_fit_and_lose_no_word(text: str, width: int) -> None:
    rows = rows_of(text, width, head="* ", indent="  ")
    assert all(cell_len(row) <= width for row in rows)
    words = re.sub(r"\s", "", "".join(row[2:] for row in rows))
    from mcp_tools.text import printable

    assert words == re.sub(r"\s", "", printable(text))


STORY: list[e.Event] = [
    e.StepStarted(1, 12, "create_tool", "no tool of the library computes this"),
    e.SpecWritten("fibonacci(n: int) -> int", "Computes Fibonacci numbers."),
    e.CodeChecked(False, ("typed: annotate n",)),
    e.TrialFinished(True, "365435296162"),
    e.Note("search is not configured; " + "a long reason " * 6),
    e.RunFinished(Answer("365435296162", "answered", steps=2, seconds=3.21, run_id="261121-104055-k3f9")),
]


def story(make: Callable[[io.StringIO], Screen]) -> str:
    stream = io.StringIO()
    screen = make(stream)
    for event in STORY:
        screen.event(event)
    screen.answer("365435296162")
    return _COLOUR.sub("", stream.getvalue())


def test_a_run_at_60_columns() -> None:
    assert story(rich_screen) == snapshot("""\
● decide  create_tool — no tool of the library computes this
  spec    fibonacci(n: int) -> int
  check   code ✗ typed: annotate n
  trial   call → 365435296162
  note    search is not configured; a long reason a long
          reason a long reason a long reason a long reason a
          long reason
● done    answered · 2 steps · 3.2 s · run
          261121-104055-k3f9
  365435296162
""")


def test_a_run_read_aloud() -> None:
    assert story(spoken_screen) == snapshot("""\
  Decide: create_tool, because: no tool of the library
  computes this.
  Spec: fibonacci(n: int) -> int.
  Check: code failed: typed: annotate n.
  Trial: call gives 365435296162.
  Note: search is not configured; a long reason a long
  reason a long reason a long reason a long reason a long
  reason.
  Done: answered, 2 steps, 3.2 s, run 261121-104055-k3f9.
The answer is:
  365435296162
""")


def test_a_run_without_movement_has_the_same_lines() -> None:
    assert story(plain_screen) == story(rich_screen)


@pytest.mark.parametrize("text", ["2*3*5*7", "__init__", "# 1", "list<int>", "1. first", "a_b_c", "3 < 4 > 2"])
def test_a_single_line_is_shown_as_it_stands(text: str) -> None:
    assert _COLOUR.sub("", shown(rich_screen, "answer", text)) == f"  {text}\n"


def test_lines_that_are_no_markdown_keep_their_ends() -> None:
    assert _COLOUR.sub("", shown(rich_screen, "answer", "1*2*3\n4 * 5\nlist<int>")) == "  1*2*3\n  4 * 5\n  list<int>\n"


def test_markdown_is_rendered_and_loses_nothing() -> None:
    told = _COLOUR.sub("", shown(rich_screen, "answer", "# T\n\nA **b** `c` list<int>\n\n- [d](http://e/f)\n"))
    assert "A b c list<int>" in told
    assert "d (http://e/f)" in told
    assert "**" not in told


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_growing_answer_is_drawn_above_the_live_line_and_removed_before_it_is_printed() -> None:
    stream = Tty()
    screen = rich_screen(stream)
    screen.streamed("one\n\n- two\x1b[2J\x1b[31m")
    screen.begin_work(lambda width: "thinking\x1b[2J"[:width])
    screen.end_work()
    drawn = _COLOUR.sub("", stream.getvalue())
    assert re.search(r"  one\s+• two\s+⠋ thinking", drawn)
    assert "\x1b[2J" not in drawn
    assert drawn.count("\x1b[1A\x1b[2K") >= 2, "its rows are removed"
    screen.answer("one")
    assert _COLOUR.sub("", stream.getvalue()).endswith("  one\n")


def test_an_answer_goes_to_standard_output_too_when_that_is_elsewhere(capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    stream = io.StringIO()
    console = Console(file=stream, width=60, force_terminal=True)
    Screen(stream, console=console, answers=sys.stdout).answer("4\x1b[2J2")
    assert capsys.readouterr().out == "42\n"
    assert "42" in stream.getvalue()
    quiet = io.StringIO()
    Screen(quiet, answers=sys.stdout).answer("42")
    assert (capsys.readouterr().out, quiet.getvalue()) == ("42\n", "")
