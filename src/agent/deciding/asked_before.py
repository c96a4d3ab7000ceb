"""A question that was asked before with other values needs no model to be decided."""

from __future__ import annotations

from agent.state import Decision, State
from mcp_tools.create.question_template import arguments_for
from mcp_tools.fits import surely_fits


def asked_before(state: State) -> Decision | None:
    """The call of a tool that was made for the same question with other values, or for this very one."""
    if state.get("files"):
        return None
    for tool in state["tools"]:
        arguments = arguments_for(state["question"], tool.get("asked"))
        if arguments is not None and surely_fits(arguments, tool["inputSchema"]):
            return Decision("use_tool", "Asked before with other values.", tool["name"], arguments)
    return None
