"""Edits TOML as text, table by table, and so keeps its comments and its order."""

from __future__ import annotations

import json
import re
import tomllib
from itertools import pairwise
from typing import Any

from agent.hosts.text_format import DamagedTextError, ended, newline_of

_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_HEADER = re.compile(r"[ \t]*\[\[?[^\[\]]+\]\]?[ \t]*(?:#.*)?$")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


class TomlText:
    """TOML in tables; servers written as inline tables are left to their owner."""

    def parse(self, text: str) -> dict[str, Any]:
        """The settings. An empty text has none."""
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            message = str(error)
            place = _PLACE.search(message)
            line, column = (int(place[1]), int(place[2])) if place and place[1] else (text.count("\n") + 1, 1)
            raise DamagedTextError(_PLACE.sub("", message).lower(), line, column) from None
        except RecursionError:
            raise DamagedTextError("it is nested too deeply", 1, 1) from None

    def put(self, text: str, key: str, name: str, entry: dict[str, Any]) -> str:
        """The text with an entry under a top-level key, in the place of one of that name."""
        newline = newline_of(text)
        written = [line + newline for line in _lines(key, name, entry)]
        lines = ended(text, newline).splitlines(keepends=True)
        tables = _tables(lines, key, name)
        if tables:
            first = tables[0][0]
            for start, end in reversed(tables):
                lines[start:end] = []
            lines[first:first] = written
        else:
            lines += [newline, *written] if lines and lines[-1].strip() else written
        return "".join(lines)

    def remove(self, text: str, key: str, name: str) -> str:
        """The text without an entry that is there, and without the blank lines before it."""
        lines = text.splitlines(keepends=True)
        for start, end in reversed(_tables(lines, key, name)):
            while start and not lines[start - 1].strip():
                start -= 1
            lines[start:end] = []
        return "".join(lines)


def _lines(key: str, name: str, entry: dict[str, Any]) -> list[str]:
    return [f"[{_key(key)}.{_key(name)}]", *(f"{_key(field)} = {_value(value)}" for field, value in entry.items())]


def _value(value: Any) -> str:
    """A value; texts, numbers, truths and lists are written as in JSON."""
    if isinstance(value, dict):
        inner = ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    return json.dumps(value, ensure_ascii=False)


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)


def _tables(lines: list[str], key: str, name: str) -> list[tuple[int, int]]:
    """First line and line after the last of each table of an entry; what follows blank lines is the next one's."""
    own = re.compile(rf"[ \t]*\[{_spelled(key)}\.{_spelled(name)}(?:\..*)?\][ \t]*(?:#.*)?$")
    headers = [number for number, line in enumerate(lines) if _HEADER.match(line.rstrip("\r\n"))]
    found = []
    for start, end in pairwise([*headers, len(lines)]):
        if own.match(lines[start].rstrip("\r\n")):
            while end > start + 1 and (not (line := lines[end - 1].strip()) or line.startswith("#")):
                end -= 1
            found.append((start, end))
    return found


def _spelled(key: str) -> str:
    """A key as a header may write it."""
    plain = re.escape(key)
    return rf"[ \t]*(?:{plain}|\"{plain}\"|'{plain}')[ \t]*"
