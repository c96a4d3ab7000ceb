"""The next action of a run, whatever asks the model for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from agent.context import Context
from agent.deciding.refusals import refusal_of
from agent.deciding.rules import asked_before
from agent.deciding.wished import choose_tool
from agent.state import Decision, State


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
    same = asked_before(state)
    if same is not None and refusal_of(same, state) is None:
        return same
    if state.get("wish") == "create":
        return await choose_tool(state, context, ask_for_tool)
    return await ask(state, context)
