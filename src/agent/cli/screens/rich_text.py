"""Answers as Markdown on a terminal, without what could steer or imitate it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mcp_tools.text import printable

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult

_BLOCKS = re.compile(
    r"^ {0,3}(?:#{1,6} |```|~~~|> |\|.*\||[-*+] \S|\d{1,3}[.)] \S)|\*\*\S[^*\n]*\*\*|\[[^\]\n]+\]\([^)\s]+\)",
    re.MULTILINE,
)


def is_markdown(text: str) -> bool:
    """Whether a text of several lines is written in Markdown. A single line is a result, and is shown as it stands."""
    return "\n" in text.strip() and _BLOCKS.search(text) is not None


class Safe:
    """What another renderable shows, character by character fit for a terminal.

    Markdown may spell characters as entities, so that cleaning the source is not enough.
    """

    def __init__(self, inner: RenderableType) -> None:
        self._inner = inner

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lines without links and other controls, and without blanks at their ends, which a narrower window wraps."""
        from rich.segment import Segment

        for line in console.render_lines(self._inner, options, pad=False):
            kept = [(printable(text), style) for text, style, control in line if not control]
            while kept and not kept[-1][0].strip():
                kept.pop()
            for number, (text, style) in enumerate(kept, 1):
                shown = text.rstrip() if number == len(kept) else text
                yield Segment(shown, style.update_link(None) if style else None)
            yield Segment.line()


def answer_text(text: str) -> RenderableType:
    """An answer: Markdown where it is written so, else the text with its own line ends."""
    from rich.padding import Padding
    from rich.text import Text

    clean = printable(text).strip("\n")
    shown: RenderableType = _markdown(clean) if is_markdown(clean) else Text(clean, overflow="fold")
    return Safe(Padding(shown, (0, 0, 0, 2)))


def code_text(source: str, *, first: int | None = None) -> RenderableType:
    """A Python source with numbered lines, or its first lines."""
    from rich.padding import Padding
    from rich.syntax import Syntax

    lines = printable(source).rstrip("\n")
    shown = Syntax(
        lines,
        "python",
        theme="ansi_dark",
        line_numbers=True,
        word_wrap=True,
        background_color="default",
        line_range=(None, first),
    )
    return Safe(Padding(shown, (0, 0, 0, 2)))


def _markdown(text: str) -> RenderableType:
    from markdown_it import MarkdownIt
    from rich.markdown import Markdown

    shown = Markdown(text, code_theme="ansi_dark", hyperlinks=False)
    # rich leaves out what it takes for HTML: `list<int>` would lose its half.
    parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
    shown.parsed = parser.parse(text)
    return shown


def numbered(lines: Iterable[str], *, first: int = 1) -> list[str]:
    """Lines with their numbers before them, for screens without colour."""
    return [f"  {number:>3}  {line}".rstrip() for number, line in enumerate(lines, first)]
