"""The next action of a run, whatever asks the model for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from agent.context import Context
from agent.deciding.refusals import refusal_of
from agent.deciding.wished import choose_tool
from agent.state import Decision, State
from mcp_tools.create.form import arguments_for
from mcp_tools.fits import surely_fits


async def next_action(
    state: State,
    context: Context,
    ask: Callable[[State, Context], Awaitable[Decision]],
    ask_for_tool: Callable[[State, Context], Awaitable[Decision | None]],
) -> Decision:
    """The next action: the same call as before for the same question, else what the model says.

    Args:
        state: Of the run.
        context: Of the run.
        ask: Asks the model.
        ask_for_tool: Asks the model for a call of a tool of the library; None where none fits.

    Raises:
        ModelOutputError: The model gave no decision that can be carried out, in several attempts.
    """
    same = _asked_before(state)
    if same is not None and refusal_of(same, state) is None:
        return same
    if state.get("wish") == "create":
        return await choose_tool(state, context, ask_for_tool)
    return await ask(state, context)


def _asked_before(state: State) -> Decision | None:
    """The call of a tool that was made for the same question with other values, or for this very one."""
    if state.get("files"):
        return None
    for tool in state["tools"]:
        arguments = arguments_for(state["question"], tool.get("asked"))
        if arguments is not None and surely_fits(arguments, tool["inputSchema"]):
            return Decision("use_tool", "The same was asked before, with other values.", tool["name"], arguments)
    return None
