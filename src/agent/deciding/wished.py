"""The next action of a run that is for a tool: one of the library that fits, else a new one; no other way is open."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from agent.context import Context
from agent.deciding.one_call import ask_until_possible
from agent.errors import ModelOutputError
from agent.state import Action, Decision, State
from agent.steps import value_text

_POSSIBLE: frozenset[Action] = frozenset({"use_tool", "create_tool"})
_HINT = "\nA tool is wanted: use_tool if a listed tool computes exactly this, otherwise create_tool."


async def choose_tool(
    state: State, context: Context, ask: Callable[[State, Context], Awaitable[Decision | None]]
) -> Decision:
    """The next action; a new tool is tried once, and where the model gives no usable choice."""
    steps = state.get("steps", [])
    if steps and steps[-1]["ok"]:
        return Decision("answer", "The result is there.", answer=value_text(steps[-1]["value"]))
    if any(step["action"] == "create_tool" for step in steps):
        return Decision("answer", "No tool could be created.")
    use = await ask(state, context) if state["tools"] else None
    return use or Decision("create_tool", "A tool is wanted, and none of the library computes this.")


async def ask_for_tool(state: State, context: Context) -> Decision | None:
    """A call of a tool of the library, if the model says that one fits."""
    try:
        decision = await ask_until_possible(state, context, hint=_HINT, possible=_POSSIBLE)
    except ModelOutputError:
        return None
    return decision if decision.action == "use_tool" else None
