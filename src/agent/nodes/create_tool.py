"""create_tool: writes the tool that is missing, proves it, keeps it, and calls it."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agent.context import Context
from agent.models.protocol import Role
from agent.state import State


async def create_tool(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Creates a tool for the question; where none could be proven, a scratch program's result is the finding."""
    return await runtime.context.strategy(Role.COORDINATOR).create(state, runtime.context)
