"""A self-contained HTML page without scripts: facts, tables, and sections of collapsible items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from mcp_tools.text import one_line, printable
from mcp_tools.tool import Json

_MAX_ROWS = 40
"""Maximum number of rows of a table on the page. The JSON output contains all rows."""


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table. `values` contains its rows as JSON objects."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    values: Sequence[Mapping[str, Json]]
    note: str = ""

    @property
    def shown_rows(self) -> list[Sequence[str]]:
        """The rows shown on the page, and the number of omitted rows."""
        left = len(self.rows) - _MAX_ROWS
        more = [[f"… and {left:,} more", *("" for _ in self.head[1:])]] if left > 0 else []
        return [*self.rows[:_MAX_ROWS], *more]


@dataclass(frozen=True, slots=True)
class Fold:
    """A long text that can be expanded."""

    title: str
    text: str
    size: int
    mood: str = ""
    is_open: bool = False
    same_as: str = ""
    """Id of an earlier item with the same text. If set, the page shows a link to that item instead of the text."""


@dataclass(frozen=True, slots=True)
class Item:
    """A question or call that can be expanded."""

    kind: str
    title: str
    note: str
    brief: str = ""
    mood: str = ""
    id: str = ""
    facts: Sequence[tuple[str, str]] = ()
    passages: Sequence[Fold] = ()


@dataclass(frozen=True, slots=True)
class PageSection:
    """A titled list of items."""

    title: str
    note: str = ""
    items: Sequence[Item] = ()
    texts: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class StaticPage:
    """A page. `facts` are pairs of name and value. `notices` are warnings at the top."""

    title: str
    facts: Sequence[tuple[str, str]]
    sections: Sequence[PageSection]
    lead: str = ""
    notices: Sequence[str] = ()
    tables: Sequence[Table] = ()

    def as_html(self) -> str:
        """Return the page as HTML. Texts are escaped, and invisible characters are made visible."""
        from jinja2 import Environment

        environment = Environment(  # every value passes through `finalize` and is then escaped
            autoescape=True,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=lambda v: printable(v) if type(v) is str else v,
        )
        environment.filters["line"] = one_line
        template = files("agent.traces").joinpath("page.html").read_text(encoding="utf-8")
        return environment.from_string(template).render(page=self) + "\n"
