"""One HTML page without network and scripts: facts, tables, and sections of folded items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from mcp_tools.text import one_line, printable
from mcp_tools.tool import Json

_MOST_ROWS = 40
"""Rows of one table that people are shown."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under a title; `values` are the same rows as JSON objects."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    values: Sequence[Mapping[str, Json]]
    note: str = ""

    @property
    def shown_rows(self) -> list[Sequence[str]]:
        """The rows that people are shown, and how many are left out."""
        left = len(self.rows) - _MOST_ROWS
        more = [[f"… and {left:,} more", *("" for _ in self.head[1:])]] if left > 0 else []
        return [*self.rows[:_MOST_ROWS], *more]


@dataclass(frozen=True, slots=True)
class Fold:
    """A long text that opens on a click."""

    title: str
    text: str
    size: int
    mood: str = ""
    is_open: bool = False
    same_as: str = ""
    """The id of an earlier item with the same text, which is linked instead."""


@dataclass(frozen=True, slots=True)
class Item:
    """A line that opens on a click: a question or a call."""

    kind: str
    title: str
    note: str
    brief: str = ""
    mood: str = ""
    id: str = ""
    facts: Sequence[tuple[str, str]] = ()
    passages: Sequence[Fold] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """Items under a title."""

    title: str
    note: str = ""
    items: Sequence[Item] = ()
    texts: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """The page. `facts` are names and values; `notices` come before any figure can be believed."""

    title: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[Section]
    lead: str = ""
    notices: Sequence[str] = ()
    tables: Sequence[Table] = ()

    def as_html(self) -> str:
        """Return the page; nothing in a text is markup, and nothing is invisible."""
        from jinja2 import Environment

        environment = Environment(  # every value that is shown passes through `finalize`, and is escaped after it
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=lambda v: printable(v) if type(v) is str else v,
        )
        environment.filters["line"] = one_line
        template = files("agent.traces").joinpath("page.html").read_text(encoding="utf-8")
        return environment.from_string(template).render(page=self) + "\n"
