"""keep: a tool from a small model's program, once the answer is there; create_tool keeps those of capable models."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agent.context import Context
from agent.events import AnswerFound
from agent.models.protocol import Role
from agent.state import State


async def keep(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Whatever happens here, the answer stays as it is, and is told first."""
    if state.get("status") == "answered" and "most_turns" not in state:
        runtime.context.emit(AnswerFound(state["text"]))
    return await runtime.context.strategy(Role.COORDINATOR).keep(state, runtime.context)
