"""How XML is built: each kind of element by its path, how often it is there, its first one, and what it holds."""

from __future__ import annotations

import io
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from agent.files.tables.columns import values_told
from mcp_tools.text import one_line

_MOST = 60
"""Kinds of elements that are told of."""
_MOST_VALUES = 50_000
"""Different values of one attribute that are counted."""
_SAMPLE = 160
"""Characters of the first element of a kind."""
_LONGEST = 200
"""Characters of a text that is a value; more is prose."""


@dataclass(slots=True)
class Elements:
    """The elements with one path."""

    count: int = 0
    sample: str = ""
    values: dict[str, Counter[str]] = field(default_factory=dict)
    """Of each attribute, `@name`, and of the text, an empty name."""
    has_prose: bool = False

    def add(self, element: Any) -> None:
        """One more, at its end."""
        self.count += 1
        for name, value in element.attrib.items():
            self._count(f"@{local_name(name)}", value)
        if text := (element.text or "").strip():
            self.has_prose |= len(text) > _LONGEST
            self._count("", text[:_LONGEST])
        if not self.sample:
            attributes = "".join(f' {local_name(name)}="{value}"' for name, value in element.attrib.items())
            self.sample = one_line(f"<{local_name(element.tag)}{attributes}>{text}", _SAMPLE)

    def told(self) -> str:
        """What they hold."""
        parts = [
            f"{name or 'text'}: {'prose' if not name and self.has_prose else values_told(counted)}"
            + (f" (in {there:,})" if (there := counted.total()) < self.count else "")
            for name, counted in self.values.items()
        ]
        return "; ".join([self.sample, *parts]) if self.count > 1 else self.sample

    def _count(self, name: str, value: str) -> None:
        values = self.values.setdefault(name, Counter())
        if len(values) < _MOST_VALUES or value in values:
            values[value] += 1


def elements_of(text: str) -> dict[str, Elements]:
    """The elements of an XML text by their paths: `bom/part/price`.

    Raises:
        DefusedXmlException: It declares entities.
        ParseError: It is not well formed; what comes before is lost, too.
    """
    from defusedxml.ElementTree import iterparse  # type: ignore[import-untyped]  # it has no types

    found: dict[str, Elements] = {}
    path: list[str] = []
    # as text it has no encoding any more, whatever its declaration says
    body = re.sub(r"\A\s*<\?xml[^>]*\?>", "", text)
    for event, element in iterparse(io.BytesIO(body.encode("utf-8", "replace")), events=("start", "end")):
        if event == "start":
            path.append(local_name(element.tag))
            found.setdefault("/".join(path), Elements())
        else:
            found["/".join(path)].add(element)
            path.pop()
            element.clear()
    return found


def elements_told(found: dict[str, Elements]) -> list[str]:
    """A line for each kind of element, in the order of the first ones."""
    lines = [f"- {path} × {one.count:,}: {one.told()}" for path, one in list(found.items())[:_MOST]]
    more = [f"- and {len(found) - _MOST} more kinds"] if len(found) > _MOST else []
    return ["Elements:", *lines, *more]


def local_name(tag: Any) -> str:
    """A name without its namespace."""
    return str(tag).rpartition("}")[2]
