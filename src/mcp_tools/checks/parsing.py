"""Rules on the text itself, before anything is parsed, and the parsing."""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Iterator

from mcp_tools.checks.rule import Remark
from mcp_tools.checks.source import Source
from mcp_tools.checks.syntax import children
from mcp_tools.text import joiners_in_place

LARGEST = 64 * 1024
"""Bytes of the largest source."""
DEEPEST = 150
"""Levels of the deepest syntax tree: what reads it walks recursively."""

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_VARIATION_SUPPLEMENT = range(0xE0100, 0xE01F0)


def size(source: Source) -> Iterator[Remark]:
    """At most 64 kB."""
    if len(source.data) > LARGEST:
        yield Remark(
            0,
            f"the source has {len(source.data):,} bytes of at most {LARGEST:,}; pass data as a parameter",
        )


def encoding(source: Source) -> Iterator[Remark]:
    """UTF-8 without a byte-order mark and without a cookie that says otherwise."""
    data = source.data
    if data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        yield Remark(1, "the file starts with a byte-order mark; save it as UTF-8 without one")
        return
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        yield Remark(line, f"byte {error.start} (0x{data[error.start]:02x}) is not UTF-8; save the file as UTF-8")
    for number, line_bytes in enumerate(data.split(b"\n", 2)[:2], start=1):
        cookie = _COOKIE.match(line_bytes)
        if cookie and cookie[1].lower().replace(b"_", b"-") not in {b"utf-8", b"utf8"}:
            yield Remark(number, f"the file declares the encoding {cookie[1].decode()!r}; remove that comment")


def hidden_characters(source: Source) -> Iterator[Remark]:
    """No character that a reader cannot see or that changes the order of what they see."""
    text = source.text
    if text.isascii() and not _CONTROL.search(text):
        return
    joiners = joiners_in_place(text)
    line = 1
    for index, character in enumerate(text):
        if character == "\n":
            line += 1
        elif index not in joiners and _is_hidden(text, index):
            name = unicodedata.name(character, "control character")
            yield Remark(
                line,
                f"hidden character U+{ord(character):04X} ({name}); remove it or write it as an escape",
            )


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def _is_hidden(text: str, index: int) -> bool:
    character = text[index]
    if character in "\n\t":
        return False
    if character == "\r":
        return text[index + 1 : index + 2] != "\n"  # alone it lets a line overwrite itself on a terminal
    if character in "\u2028\u2029\u3164\u115f\u1160\uffa0":  # separate lines or stand for nothing, but are no controls
        return True
    return unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co"} or ord(character) in _VARIATION_SUPPLEMENT


def parses(source: Source) -> Iterator[Remark]:
    """Python can parse and compile it."""
    try:
        _ = source.tree
    except SyntaxError as error:
        line = error.lineno or 0
        lines = source.text.splitlines()
        shown = lines[line - 1].strip()[:80] if 0 < line <= len(lines) else ""
        yield Remark(line, f"Python says: {error.msg}" + (f", at `{shown}`" if shown else ""))
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        what = "it is nested too deeply" if isinstance(error, RecursionError | MemoryError) else str(error)
        yield Remark(0, f"Python cannot parse it: {what}; write it in small steps")


def nesting(source: Source) -> Iterator[Remark]:
    """The syntax tree is at most 150 levels deep."""
    level: list[ast.AST] = [source.tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in children(node)]
        if not level:
            return
    line = min(getattr(node, "lineno", 0) for node in level)
    yield Remark(line, f"nested more than {DEEPEST} levels deep; split the expression or use a table")
