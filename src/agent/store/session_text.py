"""Exports a session as Markdown or JSON."""

from __future__ import annotations

import json
import re
import time
from typing import Literal

from agent.conversation import Turn
from agent.store.sessions import StoredSession
from mcp_tools.text import one_line, printable

Format = Literal["md", "json"]
_LOADS_SOMETHING = re.compile(
    r"!(?=\[)|<(?=\s*/?(?:img|picture|source|svg|image|iframe|video|audio|embed|object|link|input|style|script)\b)"
    r"|<(?=[a-z][\w-]*(?:\s|$|/(?!>)))",
    re.I,
)
"""Matches the start of a Markdown picture, of an HTML element that loads a resource, or of any element with
attributes."""
_SPELLED = {"!": "&#33;", "<": "&lt;"}


def export_session(session: StoredSession, form: Format) -> str:
    """Return a session as text that ends with a newline.

    The Markdown contains no control characters and loads no pictures.
    """
    if form == "json":
        return json.dumps(session.as_json(), indent=2) + "\n"
    head = f"# {one_line(session.title)}\n\nSession {session.id}, {_when(session.started)}, model {session.model}\n"
    return _without_pictures(head + "".join(f"\n{_turn(number, turn)}" for number, turn in enumerate(session.turns, 1)))


def _without_pictures(text: str) -> str:
    """Escape pictures in Markdown, so that a viewer loads nothing.

    Code is left unchanged. Escaping can change which parts are code, so it is repeated until nothing changes.
    """
    from markdown_it import MarkdownIt

    lines, parse = text.split("\n"), MarkdownIt("commonmark").parse
    while True:
        code: set[int] = set()
        for token in parse("\n".join(lines)):
            if token.type in ("fence", "code_block") and token.map:
                code.update(range(*token.map))
        spelled = [
            line if number in code else _LOADS_SOMETHING.sub(lambda found: _SPELLED[found[0]], line)
            for number, line in enumerate(lines)
        ]
        if spelled == lines:
            return "\n".join(lines)
        lines = spelled


def _turn(number: int, turn: Turn) -> str:
    answer = printable(turn.answer).strip() or f"_No answer: {printable(turn.error or turn.status)}_"
    asked = "\n".join(f"> {line}".rstrip() for line in printable(turn.question).splitlines())
    restated = f"Understood as: {one_line(turn.restated, 1000)}\n\n" if turn.restated else ""
    facts = [
        turn.status.replace("_", " "),
        _when(turn.asked),
        f"{turn.seconds:.1f} s",
        *([f"created {', '.join(turn.tools_created)}"] if turn.tools_created else []),
        *([f"used {', '.join(turn.tools_used)}"] if turn.tools_used else []),
        *([f"run {turn.run_id}"] if turn.run_id else []),
    ]
    return f"## {number}. Question\n\n{asked}\n\n{restated}{answer}\n\n_{' · '.join(map(one_line, facts))}_\n"


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
