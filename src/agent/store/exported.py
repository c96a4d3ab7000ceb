"""A session as a file for others: Markdown to read, JSON to go on with."""

from __future__ import annotations

import json
import time
from typing import Literal

from agent.conversation import Turn
from agent.store.session import Session
from mcp_tools.text import one_line, printable

Format = Literal["md", "json"]


def export_session(session: Session, form: Format) -> str:
    """The session as text, which ends with a line feed. Markdown is free of control characters."""
    if form == "json":
        return json.dumps(session.as_json(), indent=2) + "\n"
    head = f"# {one_line(session.title)}\n\nSession {session.id}, {_when(session.started)}, model {session.model}\n"
    return head + "".join(f"\n{_turn(number, turn)}" for number, turn in enumerate(session.turns, 1))


def _turn(number: int, turn: Turn) -> str:
    answer = printable(turn.answer).strip() or f"_No answer: {printable(turn.error or turn.status)}_"
    restated = f"Understood as: {one_line(turn.restated, 1000)}\n\n" if turn.restated else ""
    return f"## {number}. Question\n\n{_quoted(turn.question)}\n\n{restated}{answer}\n\n_{_facts(turn)}_\n"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in printable(text).splitlines())


def _facts(turn: Turn) -> str:
    parts = [
        turn.status.replace("_", " "),
        _when(turn.asked),
        f"{turn.seconds:.1f} s",
        *([f"created {', '.join(turn.tools_created)}"] if turn.tools_created else []),
        *([f"used {', '.join(turn.tools_used)}"] if turn.tools_used else []),
        *([f"run {turn.run_id}"] if turn.run_id else []),
    ]
    return " · ".join(map(one_line, parts))


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))
