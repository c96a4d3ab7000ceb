"""The next action of a run."""

from __future__ import annotations

from agent.context import Context
from agent.deciding.one_call import ask_until_possible
from agent.deciding.refusals import refusal_of
from agent.deciding.rules import asked_before
from agent.deciding.small_questions import ask_in_parts
from agent.deciding.wished import choose_tool
from agent.models.protocol import Role
from agent.state import Decision, State


async def choose(state: State, context: Context) -> Decision:
    """The next action.

    Raises:
        ModelOutputError: The model gave no decision that can be carried out, in several attempts.
    """
    same = asked_before(state)
    if same is not None and refusal_of(same, state) is None:
        return same
    if state.get("wish") == "create":
        return await choose_tool(state, context)
    if context.is_weak(Role.COORDINATOR):
        return await ask_in_parts(state, context)
    return await ask_until_possible(state, context)
