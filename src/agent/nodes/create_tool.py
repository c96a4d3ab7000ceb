"""create_tool: a new tool that answers the question; the strategy proves it, and keeps it where that succeeds."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agent.context import Context
from agent.models.protocol import Role
from agent.state import State


async def create_tool(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """The result is the finding, also where no tool was kept.

    A capable model brings the code in its decision. A small one, asked for a tool, writes a program here, of which the
    node `keep` makes the tool.
    """
    return await runtime.context.strategy(Role.COORDINATOR).create(state, runtime.context)
