"""Edits JSON as text. Comments and trailing commas are understood where the client understands them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from agent.hosts.toml_text import DamagedTextError, UnusualTextError, newline_of, place_of

_SPACE = re.compile(r"[ \t\r\n]*")
_COMMENT = re.compile(r"//[^\r\n]*|/\*.*?\*/", re.DOTALL)
_REST_OF_LINE = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)")
_SCALARS = json.JSONDecoder(strict=True)


@dataclass(slots=True)
class _Node:
    """A value and where it stands."""

    start: int
    end: int
    value: Any
    members: list[_Member] | None = None
    """Those of an object, in their order; None for anything else."""


@dataclass(slots=True)
class _Member:
    key: str
    start: int
    """Where its key begins."""
    node: _Node
    comma: int | None = field(default=None)
    """Where the comma after it stands."""


class JsonText:
    """JSON.

    Args:
        comments: Whether comments and trailing commas are allowed.
    """

    def __init__(self, *, comments: bool) -> None:
        self._comments = comments

    def parse(self, text: str) -> dict[str, Any]:
        """The settings. An empty text has none."""
        if not text.strip():
            return {}
        found = self._root(text).value
        if not isinstance(found, dict):
            raise DamagedTextError("an object is wanted", 1, 1)
        return found

    def put(self, text: str, key: str, name: str, entry: dict[str, Any]) -> str:
        """The text with an entry under a top-level key, in the place of one of that name."""
        if not text.strip():
            return json.dumps({key: {name: entry}}, indent=2, ensure_ascii=False) + "\n"
        root = self._root(text)
        unit = _unit(text, root)
        servers = _member(root, key)
        if servers is None:
            return _inserted(text, root, key, {name: entry}, unit)
        if servers.node.members is None:
            raise UnusualTextError(f"{key!r} is no object")
        standing = _member(servers.node, name)
        if standing is None:
            return _inserted(text, servers.node, name, entry, unit)
        node = standing.node
        return text[: node.start] + _dumped(entry, _margin(text, standing.start), unit, text) + text[node.end :]

    def remove(self, text: str, key: str, name: str) -> str:
        """The text without an entry that is there, also when it is there twice."""
        while name in (self.parse(text).get(key) or {}):
            text = self._without_last(text, key, name)
        return text

    def _without_last(self, text: str, key: str, name: str) -> str:
        servers = _member(self._root(text), key)
        members = servers.node.members if servers else None
        if not members:
            return text
        assert servers is not None, "what has members is there"
        if len(members) == 1 and not _COMMENT.search(_without(text, servers.node, members[0].node)):
            return f"{text[: servers.node.start]}{{}}{text[servers.node.end :]}"
        index = max(i for i, member in enumerate(members) if member.key == name)
        member = members[index]
        start, end = _line_start(text, member.start), member.node.end if member.comma is None else member.comma + 1
        if member.comma is None and index:
            comma = members[index - 1].comma
            assert comma is not None, "a member that has one after it is followed by a comma"
            return text[:comma] + text[comma + 1 : start] + text[end:]
        comment = _REST_OF_LINE.match(text, end) if start < member.start and self._comments else None
        return text[:start] + text[comment.end() if comment else end :]

    def _root(self, text: str) -> _Node:
        reader = _Reader(text, comments=self._comments)
        try:
            root = reader.node(reader.space(0))
            end = reader.space(root.end)
        except RecursionError:
            raise DamagedTextError("it is nested too deeply", 1, 1) from None
        if end != len(text):
            raise reader.damaged("nothing more is wanted", end)
        return root


class _Reader:
    """Finds where each value of a text stands."""

    def __init__(self, text: str, *, comments: bool) -> None:
        self._text = text
        self._comments = comments

    def damaged(self, message: str, position: int) -> DamagedTextError:
        return DamagedTextError(message, *place_of(self._text, position))

    def space(self, position: int) -> int:
        """The next position that is no space and no comment."""
        while True:
            found = _SPACE.match(self._text, position)
            position = found.end() if found else position
            comment = _COMMENT.match(self._text, position)
            if comment is None:
                return position
            if not self._comments:
                raise self.damaged("this program allows no comments here", position)
            position = comment.end()

    def node(self, position: int) -> _Node:
        character = self._text[position : position + 1]
        if character == "{":
            return self._object(position)
        if character == "[":
            return self._array(position)
        try:
            value, end = _SCALARS.raw_decode(self._text, position)
        except json.JSONDecodeError as error:
            raise self.damaged(error.msg[:1].lower() + error.msg[1:], error.pos) from None
        except StopIteration:
            raise self.damaged("a value is wanted", position) from None
        return _Node(position, end, value)

    def _object(self, start: int) -> _Node:
        members: list[_Member] = []
        position = self.space(start + 1)
        while self._text[position : position + 1] != "}":
            self._require_comma(members and members[-1].comma is None, position)
            if self._text[position : position + 1] != '"':
                raise self.damaged('a key in double quotes or "}" is wanted', position)
            key = self.node(position)
            colon = self.space(key.end)
            if self._text[colon : colon + 1] != ":":
                raise self.damaged('":" is wanted', colon)
            member = _Member(key.value, position, self.node(self.space(colon + 1)))
            members.append(member)
            position = self.space(member.node.end)
            if self._text[position : position + 1] == ",":
                member.comma = position
                position = self._after_comma(position, "}")
        return _Node(start, position + 1, {member.key: member.node.value for member in members}, members)

    def _array(self, start: int) -> _Node:
        values: list[Any] = []
        position, comma = self.space(start + 1), True
        while self._text[position : position + 1] != "]":
            self._require_comma(not comma, position)
            node = self.node(position)
            values.append(node.value)
            position = self.space(node.end)
            comma = self._text[position : position + 1] == ","
            if comma:
                position = self._after_comma(position, "]")
        return _Node(start, position + 1, values)

    def _require_comma(self, is_missing: object, position: int) -> None:
        if is_missing:
            raise self.damaged('"," is wanted', position)

    def _after_comma(self, comma: int, closing: str) -> int:
        position = self.space(comma + 1)
        if self._text[position : position + 1] == closing and not self._comments:
            raise self.damaged("this program allows no comma before a closing bracket", comma)
        return position


def _without(text: str, node: _Node, part: _Node) -> str:
    """The text of an object without that of a value in it."""
    return text[node.start : part.start] + text[part.end : node.end]


def _member(node: _Node, key: str) -> _Member | None:
    """The member of that key; of several the last, which is the one that counts."""
    if node.members is None:
        raise UnusualTextError("an object is wanted")
    return next((member for member in reversed(node.members) if member.key == key), None)


def _inserted(text: str, node: _Node, key: str, value: Any, unit: str) -> str:
    """The text with one more member at the end of an object."""
    members = node.members or []
    newline = newline_of(text)
    if members and "\n" not in text[node.start : node.end]:
        written = f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
        last = members[-1]
        at = last.node.end if last.comma is None else last.comma
        return f"{text[:at]}, {written}{text[at:]}"
    outer = _margin(text, node.start)
    margin = _margin(text, members[0].start) if members else outer + unit
    written = f"{newline}{margin}{json.dumps(key)}: {_dumped(value, margin, unit, text)}"
    if not members:
        inside = text[node.start + 1 : node.end - 1].rstrip()
        return f"{text[: node.start + 1]}{inside}{written}{newline}{outer}{text[node.end - 1 :]}"
    last = members[-1]
    after = last.node.end if last.comma is None else last.comma + 1
    rest = _REST_OF_LINE.match(text, after)
    at = rest.end() if rest else after
    if last.comma is None:
        return f"{text[:after]},{text[after:at]}{written}{text[at:]}"
    return f"{text[:at]}{written},{text[at:]}"


def _dumped(value: Any, margin: str, unit: str, text: str) -> str:
    """A value over several lines, the first of which has its place already."""
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return f"{newline_of(text)}{margin}".join(lines)


def _unit(text: str, root: _Node) -> str:
    """What a level is indented by."""
    first = root.members[0] if root.members else None
    return (_margin(text, first.start) if first else "") or "  "


def _margin(text: str, position: int) -> str:
    """The spaces at the beginning of a position's line."""
    line = text[text.rfind("\n", 0, position) + 1 : position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _line_start(text: str, position: int) -> int:
    """Where the spaces before a position begin, with the line break before these."""
    start = position
    while start and text[start - 1] in " \t":
        start -= 1
    if start and text[start - 1] == "\n":
        start -= 1
        start -= text[start - 1 : start] == "\r"
    return start
