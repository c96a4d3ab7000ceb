"""The sources of an answer, as they stand below it."""

from __future__ import annotations

from agent.answering.answer import Answer
from mcp_tools.text import one_line


def source_lines(answer: Answer) -> list[str]:
    """Two lines for each source: where it is, and what it says."""
    lines = ["Sources:"] if answer.sources else []
    for source in answer.sources:
        title = one_line(source.title, 100)
        named = f"{title} — {source.url}" if title and title != source.url else source.url
        lines.append(f"  [{source.number}] {one_line(named, 400)}")
        lines += [f'      "{one_line(source.quote, 240)}"'] if source.quote else []
    return lines
