"""The query of a weak model when a search before did not give the answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agent.context import Context
from agent.errors import ModelOutputError
from agent.models.protocol import Role
from agent.web.specialist.evidence import Wanted
from mcp_tools.prompt import NO_DATA, load_prompt

_LONGEST = 100
_TOKENS = 40
_FORM: dict[str, Any] = {"type": "string", "maxLength": _LONGEST}


async def next_query(wanted: Wanted, context: Context) -> Wanted:
    """What is wanted, with a query of its own where steps were done before and none came with the decision.

    As it was where the model wrote none.
    """
    if wanted.query or wanted.so_far == NO_DATA or not context.is_weak(Role.COORDINATOR):
        return wanted
    messages = load_prompt("agent", "search_next").render(question=wanted.question, evidence=wanted.so_far)
    try:
        completion = await context.complete(Role.COORDINATOR, messages, schema=_FORM, temperature=0, max_tokens=_TOKENS)
    except ModelOutputError:
        return wanted
    return replace(wanted, query=" ".join(str(completion.parsed).split()))
