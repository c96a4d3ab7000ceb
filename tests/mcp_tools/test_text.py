"""Text of others cannot move the cursor, hide itself or change its direction."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_tools.text import did_you_mean, duration, one_line, printable

CASES = {
    "plain": ("a b\tc\nd", "a b\tc\nd"),
    "colour": ("\x1b[31;1mred\x1b[0m", "red"),
    "cursor": ("a\x1b[2Jb\x1b[10;3Hc", "abc"),
    "title": ("\x1b]0;owned\x07text", "text"),
    "link": ("\x1b]8;;http://evil.example\x1b\\here\x1b]8;;\x1b\\", "here"),
    "clipboard, eight-bit": ("\x9d52;c;ZXZpbA==\x9ctext", "text"),
    "device control": ("a\x1bPq#0\x1b\\b", "ab"),
    "unfinished device control hides nothing": ("a\x1bP rest of the page", "a rest of the page"),
    "unfinished title hides nothing": ("a\x1b]0;rest", "a0;rest"),
    "carriage return": ("wrong\rright", "wrong\nright"),
    "line separator": ("a\u2028b\u2029c\x85d", "a\nb\nc\nd"),
    "bell and backspace": ("a\x07b\x08c\x00", "abc"),
    "right to left": ("user\u202ecod.exe", "usercod.exe"),
    "zero width": ("pass\u200bword\ufeff", "password"),
    "tags": ("hi\U000e0041\U000e0042", "hi"),
    "surrogate": ("a\ud800b", "ab"),
    "emoji family": ("👨‍👩‍👧 and 🏳️‍🌈", "👨‍👩‍👧 and 🏳️‍🌈"),
    "persian": ("می‌خواهم", "می‌خواهم"),
}


@pytest.mark.parametrize(("text", "shown"), CASES.values(), ids=CASES.keys())
def test_printable(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(st.one_of(st.characters(), st.sampled_from("\x1b\x9b\x9d[]P\\;0m\u200d\u202e\r"))))
@example("\x1b\x1b[31m[31m")
def test_nothing_dangerous_is_left_and_a_second_time_changes_nothing(text: str) -> None:
    shown = printable(text)
    assert printable(shown) == shown
    left = {c for c in shown if unicodedata.category(c) in {"Cc", "Cf", "Cs"}}
    assert left <= set("\n\t\u200c\u200d")


@pytest.mark.parametrize("mark", ["\x9d", "\x90", "\x9d\x90", "\x1b]", "\x1bP", "\x9b0", "\x1b"], ids=ascii)
def test_sequences_without_an_end_take_no_minute(mark: str) -> None:
    began = time.thread_time()
    printable(mark * (100_000 // len(mark)))
    assert time.thread_time() - began < 2


@given(st.text(), st.integers(1, 40))
def test_one_line_is_one_line_and_short(text: str, width: int) -> None:
    line = one_line(text, width)
    assert len(line) <= width
    assert len(line.splitlines()) <= 1


def test_a_cut_line_shows_that_it_was_cut() -> None:
    assert one_line("one\ntwo  three", 9) == "one two …"
    assert one_line("one\ntwo", 7) == "one two"


def test_near_names_are_found_among_very_many_at_once() -> None:
    """A client may ask for fifty tools in one call."""
    names = [f"convert_{number}_something_to_{number * 7 % 9973}" for number in range(10_000)]
    begun = time.monotonic()
    for _ in range(10):
        said = did_you_mean("convert_4711_somethin_to_3058", names)
    assert said == f"Did you mean {names[4711]}? "
    assert did_you_mean("nothing", [*map(str, range(10_000))]) == ""
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize(("seconds", "shown"), [(float("nan"), "nan s"), (float("inf"), "inf s"), (125, "2 min 5 s")])
def test_a_duration_from_a_damaged_file_is_shown(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown
