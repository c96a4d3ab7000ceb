"""evaluate: the final form of the answer, and whether it is one."""

from __future__ import annotations

import re
from typing import Any

from langgraph.runtime import Runtime

from agent.context import Context
from agent.state import State
from mcp_tools.text import printable

_LEAD = re.compile(r"^\s*(?:the\s+)?(?:final\s+)?answer\s*(?:is)?\s*:\s*", re.IGNORECASE)


async def evaluate(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Brings the answer into its final form and sets the status of the run."""
    text = final_form(state.get("text", ""))
    if state.get("limit"):
        return {"text": text, "status": "limit"}
    return {"text": text, "status": "answered" if text else "no_answer"}


def final_form(text: str) -> str:
    """The answer without lead-in, code fence and control characters."""
    text = printable(text).strip()
    fenced = re.fullmatch(r"```\w*\n(.*?)\n?```", text, re.DOTALL)
    return _LEAD.sub("", fenced[1] if fenced else text).strip()
