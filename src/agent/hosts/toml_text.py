"""Edits TOML as text, table by table, and so keeps its comments and its order."""

from __future__ import annotations

import json
import re
import tomllib
from itertools import pairwise
from typing import Any, Protocol

import yaml  # type: ignore[import-untyped]  # its types are a package of their own


class DamagedTextError(ValueError):
    """A text that is not of its format.

    Args:
        message: What is wrong.
        line: Where, from 1.
        column: Where in the line, from 1.
    """

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {message}")


class UnusualTextError(ValueError):
    """A text of a shape that is not edited here; its owner edits it better."""


class TextFormat(Protocol):
    """Reads and edits the text of a settings file."""

    def parse(self, text: str) -> dict[str, Any]:
        """The settings. An empty text has none.

        Raises:
            DamagedTextError: It is not of this format.
        """
        ...

    def put(self, text: str, key: str, name: str, entry: dict[str, Any]) -> str:
        """The text with an entry under a top-level key, in the place of one of that name.

        Raises:
            UnusualTextError: The text must be edited by hand.
        """
        ...

    def remove(self, text: str, key: str, name: str) -> str:
        """The text without an entry that is there."""
        ...


def newline_of(text: str) -> str:
    """How the text ends its lines."""
    return "\r\n" if "\r\n" in text else "\n"


def place_of(text: str, position: int) -> tuple[int, int]:
    """Line and column of a position, from 1."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


def ended(text: str, newline: str) -> str:
    """The text with an end of its last line."""
    return text if not text or text.endswith("\n") else text + newline


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


_UNIT = "  "


class YamlText:
    """YAML in block style; a top-level key written in braces is left to its owner."""

    def parse(self, text: str) -> dict[str, Any]:
        """The settings. An empty text has none."""
        try:
            found = yaml.safe_load(text)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
            raise DamagedTextError(error.problem or error.context or "it is no YAML", *place) from None
        except yaml.YAMLError as error:
            raise DamagedTextError(str(error).splitlines()[0], 1, 1) from None
        except RecursionError:
            raise DamagedTextError("it is nested too deeply", 1, 1) from None
        if found is None:
            return {}
        if not isinstance(found, dict):
            raise DamagedTextError("a mapping is wanted", 1, 1)
        return found

    def put(self, text: str, key: str, name: str, entry: dict[str, Any]) -> str:
        """The text with an entry under a top-level key, in the place of one of that name."""
        newline = newline_of(text)
        pair = _pair(yaml.compose(text), key)
        if pair is None:
            written = [f"{key}:", *_lines_yaml_text(name, entry, _UNIT)]
            return ended(text, newline) + newline.join(written) + newline
        head, servers = pair
        if isinstance(servers, yaml.MappingNode) and not servers.value:
            text = text[: servers.start_mark.index].rstrip(" ") + text[servers.end_mark.index :]
        lines = ended(text, newline).splitlines(keepends=True)
        if not servers.value:
            at, margin = head.end_mark.line + 1, _UNIT
        elif isinstance(servers, yaml.MappingNode) and not servers.flow_style:
            margin = " " * servers.value[0][0].start_mark.column
            standing = _pair(servers, name)
            if standing is not None:
                first, last = _span(lines, standing)
                lines[first:last] = []
                at = first
            else:
                at = _span(lines, servers.value[-1])[1]
        else:
            raise UnusualTextError(f"{key!r} is written in braces")
        lines[at:at] = [line + newline for line in _lines_yaml_text(name, entry, margin)]
        return "".join(lines)

    def remove(self, text: str, key: str, name: str) -> str:
        """The text without an entry that is there."""
        pair = _pair(yaml.compose(text), key)
        standing = _pair(pair[1], name) if pair else None
        if pair is None or standing is None:
            return text
        if pair[1].flow_style:
            raise UnusualTextError(f"{key!r} is written in braces")
        if len(pair[1].value) == 1:
            colon = text.index(":", pair[0].end_mark.index) + 1
            text = f"{text[:colon]} {{}}{text[colon:]}"
        lines = text.splitlines(keepends=True)
        first, last = _span(lines, standing)
        lines[first:last] = []
        return "".join(lines)


def _pair(node: Any, key: str) -> tuple[Any, Any] | None:
    """The nodes of a key and its value, if the node is a mapping that has it."""
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((pair for pair in node.value if pair[0].value == key), None)


def _span(lines: list[str], pair: tuple[Any, Any]) -> tuple[int, int]:
    """The lines of a key and its value: blank lines and comments after them belong to what follows."""
    first, end = pair[0].start_mark.line, pair[1].end_mark
    is_block = isinstance(pair[1], yaml.CollectionNode) and not pair[1].flow_style
    last = end.line if is_block or not end.column else end.line + 1  # a block ends where the next token begins
    last = min(max(last, first + 1), len(lines))
    while last > first + 1 and (not (line := lines[last - 1].strip()) or line.startswith("#")):
        last -= 1
    return first, last


def _lines_yaml_text(name: str, entry: dict[str, Any], margin: str) -> list[str]:
    """An entry in block style; its values are JSON, which is YAML too."""
    values = (f"{margin}{_UNIT}{field}: {json.dumps(value, ensure_ascii=False)}" for field, value in entry.items())
    return [f"{margin}{name}:", *values]
