"""Edits YAML as text, line by line, and so keeps its comments and its order."""

from __future__ import annotations

import json
from typing import Any

import yaml  # type: ignore[import-untyped]  # its types are a package of their own

from agent.hosts.text_format import DamagedTextError, UnusualTextError, ended, newline_of

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
            written = [f"{key}:", *_lines(name, entry, _UNIT)]
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
        lines[at:at] = [line + newline for line in _lines(name, entry, margin)]
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


def _lines(name: str, entry: dict[str, Any], margin: str) -> list[str]:
    """An entry in block style; its values are JSON, which is YAML too."""
    values = (f"{margin}{_UNIT}{field}: {json.dumps(value, ensure_ascii=False)}" for field, value in entry.items())
    return [f"{margin}{name}:", *values]
