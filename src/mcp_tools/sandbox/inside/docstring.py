"""Google-style docstrings: the text, and what they say of parameters and result."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_SECTIONS = {
    "args": "parameters", "arguments": "parameters", "parameters": "parameters", "params": "parameters",
    "returns": "returns", "return": "returns", "yields": "returns",
    "raises": "other", "examples": "text", "example": "text", "note": "text", "notes": "text",
}  # fmt: skip
_HEADING = re.compile(r"^(\w+):\s*$")
_PARAMETER = re.compile(r"^\*{0,2}(\w+)\s*(?:\(([^)]*)\))?\s*:\s*(.*)$")
_TYPE_PREFIX = re.compile(r"^[\w.]+(?:\[[^:]*\])?(?:\s*\|\s*[\w.]+(?:\[[^:]*\])?)*:\s+")


@dataclass(slots=True)
class Docstring:
    """A docstring taken apart."""

    text: str = ""
    """Summary and body, without the sections on parameters, result and errors."""
    parameters: dict[str, str] = field(default_factory=dict)
    returns: str = ""


def parse(docstring: str) -> Docstring:
    """Takes a cleaned docstring apart."""
    parts: dict[str, list[str]] = {"text": [], "parameters": [], "returns": [], "other": []}
    section = "text"
    for line in docstring.splitlines():
        heading = _HEADING.match(line)
        if heading and heading[1].lower() in _SECTIONS:
            section = _SECTIONS[heading[1].lower()]
            if section == "text":
                parts["text"].append(line)
            continue
        if line and not line[0].isspace() and not (section == "parameters" and _PARAMETER.match(line)):
            section = "text"
        parts[section].append(line)
    returns = " ".join(" ".join(parts["returns"]).split())
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(parts["text"])).strip()
    return Docstring(text, _parameters(parts["parameters"]), _TYPE_PREFIX.sub("", returns))


def _parameters(lines: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    present = [line for line in lines if line.strip()]
    if not present:
        return found
    margin = min(len(line) - len(line.lstrip()) for line in present)
    name = ""
    for line in present:
        match = _PARAMETER.match(line[margin:])
        if match and not line[margin : margin + 1].isspace():
            name = match[1]
            found[name] = match[3]
        elif name:
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found
