"""The next action of a small model's run: by rule where that is sure, else by small questions."""

from __future__ import annotations

from agent.context import Context
from agent.deciding.asked_before import asked_before
from agent.deciding.refusals import refusal_of
from agent.small.questions import ask_in_parts, ask_which_fits
from agent.state import Decision, State
from agent.steps import value_text


async def choose(state: State, context: Context) -> Decision:
    """The next action: the same call as before for the same question, else what the model says.

    Raises:
        ModelOutputError: The model did not answer in the form that was asked for.
    """
    same = asked_before(state)
    if same is not None and refusal_of(same, state) is None:
        return same
    return await (_choose_tool if state.get("wish") == "create" else ask_in_parts)(state, context)


async def _choose_tool(state: State, context: Context) -> Decision:
    """The next action of a run that is for a tool: one of the library that fits, else a new one, tried once."""
    steps = state.get("steps", [])
    if steps and steps[-1]["ok"]:
        return Decision("answer", "The result is there.", answer=value_text(steps[-1]["value"]))
    if any(step["action"] == "create_tool" for step in steps):
        return Decision("answer", "No tool could be created.")
    use = await ask_which_fits(state, context) if state["tools"] else None
    return use or Decision("create_tool", "A tool is wanted, and none of the library computes this.")
