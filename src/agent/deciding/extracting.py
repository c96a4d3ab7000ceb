"""A weak model's answer from what was read in a file: copied from it, and checked to stand there."""

from __future__ import annotations

import re
from typing import Any

from agent.context import Context
from agent.models.protocol import Role
from agent.state import Decision, State, Step
from mcp_tools.prompt import data_block, load_prompt
from mcp_tools.text import printable

_TOKENS = 60
_FORM: dict[str, Any] = {"type": "string", "maxLength": 200}
_UNKNOWN = re.compile(r"(?:unknown|none|not (?:stated|given|known|found)|n/?a)?[.\s]*", re.IGNORECASE)
_YES_OR_NO = re.compile(r"(?:is|are|was|were|does|do|did|has|have|had|can|will|must|may)\b", re.IGNORECASE)
_LONGEST = 4_000
"""Characters of one finding: the reading, and what is said around it."""


async def from_reading(state: State, context: Context) -> Decision | None:
    """The answer, if the newest reading states it; those before did not."""
    step = state["steps"][-1]
    if step["action"] != "read_file" or not step["ok"]:
        return None
    finding = printable(step["finding"])[:_LONGEST]
    messages = load_prompt("agent", "extract").render(
        question=state["question"], evidence=data_block(step["input"], finding)
    )
    completion = await context.complete(Role.COORDINATOR, messages, schema=_FORM, temperature=0, max_tokens=_TOKENS)
    answer = str(completion.parsed).strip()
    if not stands_there(answer, step, state["question"]):
        return None
    return Decision("answer", "It stands in the file.", answer=answer)


def stands_there(answer: str, step: Step, question: str) -> bool:
    """Whether an answer was copied from what was read, and not from the question."""
    if _UNKNOWN.fullmatch(answer):
        return False
    if answer.strip(". ").casefold() in {"yes", "no"}:
        return bool(_YES_OR_NO.match(question))
    wanted = _plain(answer)
    is_news = wanted not in _plain(question) or " or " in question
    return bool(wanted) and wanted in _plain(step["finding"]) and is_news


def _plain(text: str) -> str:
    """The text's letters, digits and points between them, so that layout and marks do not matter."""
    return " ".join(re.findall(r"\w+(?:[.,:]\w+)*", text.casefold()))
