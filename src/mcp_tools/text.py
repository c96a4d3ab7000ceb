"""Make text from models, tools and the web safe to print; small text helpers."""

from __future__ import annotations

import heapq
import math
import re
import unicodedata
from collections.abc import Iterable

# A sequence ends where the next one begins. Otherwise, each unterminated one would cost a scan to the end.
_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b\]|\x9d)[^\x07\x1b\x90\x98\x9c-\x9f]*(?:\x07|\x1b\\|\x9c)"  # system commands: titles, links, clipboard
    r"|(?:\x1b[PX^_]|[\x90\x98\x9e\x9f])[^\x1b\x90\x98\x9c-\x9f]*(?:\x1b\\|\x9c)"  # device control, private messages
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor
    r"|\x1b[ -/]*[0-~]"  # other escapes: character sets, reset
)
_PICTOGRAPH = "\u2190-\u2bff\ufe0f\U0001f000-\U0001faff"
_INDIC_OR_ARABIC = "\u0600-\u0dff"
_NEEDED_JOINER = re.compile(
    rf"(?<=[{_PICTOGRAPH}])\u200d(?=[{_PICTOGRAPH}])|(?<=[{_INDIC_OR_ARABIC}])[\u200c\u200d](?=[{_INDIC_OR_ARABIC}])"
)
_LINE_ENDS = re.compile(r"\r\n|[\r\x85\u2028\u2029]")


def printable(text: str) -> str:
    """Return the text without escape sequences and without control, bidirectional, tag and zero-width characters.

    Line feeds and tabs are kept. A carriage return, which could overwrite a line, becomes a line feed. Zero-width
    joiners are kept where the script needs them: inside an emoji, and between Arabic or Indic letters.
    """
    text = _LINE_ENDS.sub("\n", _ESCAPE_SEQUENCE.sub("", text))
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    joiners = joiners_in_place(text)
    return "".join(
        c
        for position, c in enumerate(text)
        if c in "\n\t" or position in joiners or unicodedata.category(c) not in {"Cc", "Cf", "Cs"}
    )


def joiners_in_place(text: str) -> set[int]:
    """Return the positions of zero-width joiners that the script needs, as in emoji and Arabic or Indic words."""
    return {match.start() for match in _NEEDED_JOINER.finditer(text)}


def one_line(text: str, width: int = 100) -> str:
    """Return the text on one line of at most `width` characters, truncated with an ellipsis if necessary."""
    beginning = text[: 100 * width + 1000]  # some page titles have millions of characters
    line = " ".join(printable(beginning).split())
    return line if len(line) <= width and len(beginning) == len(text) else line[: width - 1] + "…"


def middle_left_out(text: str, most: int) -> str:
    """Return the text, replacing its middle with a note of the omitted length if it exceeds `most` characters."""
    if len(text) <= most:
        return text
    tail = most // 3
    note = f"[… {len(text) - most:,} of {len(text):,} characters left out …]"
    return f"{text[: most - tail]}\n{note}\n{text[len(text) - tail :]}"


def duration(seconds: float) -> str:
    """Format a duration for display: `250 ms`, `1.5 s`, `2 min 5 s`."""
    if not math.isfinite(seconds):  # from a damaged file
        return f"{seconds} s"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def count_of(number: int, noun: str) -> str:
    """Return a count with its noun: `1 file`, `2 files`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def words(text: str) -> frozenset[str]:
    """Return the set of words in a text."""
    return frozenset(text.split())


_MAX_COMPARED = 200


def did_you_mean(word: str, known: Iterable[str], *, most: int = 1, cutoff: float = 0.6) -> str:
    """Return "Did you mean X? " with the most similar known words, or an empty string if none is similar."""
    import difflib

    names = [*known]
    if len(names) > _MAX_COMPARED:  # comparison is slow, so first select the words that share letter pairs
        pairs = {word[place : place + 2] for place in range(len(word) - 1)}
        shares = {name: sum(pair in name for pair in pairs) / (len(word) + len(name)) for name in names}
        names = heapq.nlargest(_MAX_COMPARED, names, key=shares.__getitem__)
    near = difflib.get_close_matches(word, names, most, cutoff)
    return f"Did you mean {', '.join(near)}? " if near else ""
