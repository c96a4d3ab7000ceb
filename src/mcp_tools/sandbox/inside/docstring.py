"""Parse Google-style docstrings."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

_SECTIONS = {
    "args": "parameters", "arguments": "parameters", "parameters": "parameters", "params": "parameters",
    "attributes": "parameters", "returns": "returns", "return": "returns", "yields": "returns",
    "raises": "text", "note": "text", "notes": "text", "examples": "examples", "example": "examples",
}  # fmt: skip
_HEADING = re.compile(r"^(\w+):\s*$")
_PARAMETER = re.compile(r"^\*{0,2}(\w+)\s*(?:\(([^)]*)\))?\s*:\s*(.*)$")
_TYPE = r"(?:(?:int|float|str|bool|list|dict|tuple|set|None|Any)(?:\[[^:]*\])?|\w+(?:\.\w+)+|[\w.]+\[[^:]*\])"
_TYPE_PREFIX = re.compile(rf"^{_TYPE}(?:\s*\|\s*{_TYPE})*:\s+")
_BULLET = re.compile(r"[-*•] |\d+[.)] ")
_DOCTEST = re.compile(r"^[ \t]*>>>.*(?:\n[ \t]*\S.*)*", re.MULTILINE)


class Docstring(NamedTuple):
    """The parts of a docstring."""

    text: str
    """Summary and body, without the sections on parameters, result and examples."""
    parameters: dict[str, str]
    returns: str


def parse_docstring(docstring: str, names: Collection[str] = ()) -> Docstring:
    """Split a docstring into its parts.

    Args:
        docstring: The text without indentation, as `inspect.getdoc` returns it.
        names: The parameter names, if known. If they are, a line such as `other: text` continues a description.
    """
    parts: dict[str, list[str]] = {"text": [], "parameters": [], "returns": [], "examples": []}
    section = "text"
    for line in _DOCTEST.sub("", docstring).splitlines():
        heading = _HEADING.match(line)
        if heading and heading[1].lower() in _SECTIONS:
            section = _SECTIONS[heading[1].lower()]
            if section == "text":
                parts["text"].append(line)
            continue
        if line and not line[0].isspace() and not (section == "parameters" and _named(line, names)):
            section = "text"
        parts[section].append(line)
    returns = ""
    for line in parts["returns"]:
        returns = _continued(returns, line.strip())
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(parts["text"])).strip()
    return Docstring(text, _parameters(parts["parameters"], names), _TYPE_PREFIX.sub("", returns))


def _named(line: str, names: Collection[str]) -> re.Match[str] | None:
    """Match the first line of a parameter's description."""
    match = _PARAMETER.match(line)
    return match if match and (not names or match[1] in names) else None


def _continued(description: str, line: str) -> str:
    """Append a line to a description. A list item starts a new line; any other line is joined with a space."""
    return f"{description}{chr(10) if _BULLET.match(line) else ' '}{line}".strip()


def _parameters(lines: list[str], names: Collection[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    present = [line for line in lines if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for line in present), default=0)
    name = ""
    for line in present:
        match = _named(line[margin:], names)  # a more indented line starts with a space, so it does not match
        if match:
            name = match[1]
            found[name] = match[3]
        elif name:
            found[name] = _continued(found[name], line.strip())
    return found
