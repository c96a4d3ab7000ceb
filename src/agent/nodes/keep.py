"""The node that turns a small model's program into a tool once the answer is final; see also `create_tool`."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agent.context import Context
from agent.events import AnswerFound
from agent.models.protocol import Role
from agent.state import State


async def keep(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Report the final answer, then try to keep the program as a tool."""
    if state.get("status") == "answered" and "most_turns" not in state:
        runtime.context.emit(AnswerFound(state["text"]))
    return await runtime.context.strategy(Role.COORDINATOR).keep(state, runtime.context)
