"""The interface of an action, and helpers for actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agent.context import Context, Update
from agent.state import ActionName, Decision, Ending, Reply, State, Step
from mcp_tools.tool import object_schema

FINAL = "final_answer"
"""Name of the argument that makes a result the answer."""
WHY = "why"
"""Name of the argument with the reason for a call, which is shown to the user (see `standard.md`) but not passed to the
action."""
TEXT: dict[str, Any] = {"type": "string"}
TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A model's call to the function of an action."""

    arguments: dict[str, Any]
    """Arguments that are valid for the function's schema."""
    why: str
    call_id: str
    replies: Sequence[Reply] = ()
    """Earlier replies, which may hold the code of a tool."""

    @property
    def ending(self) -> Ending:
        """The ending requested with `final_answer`."""
        return Ending(str(self.arguments.get(FINAL, "")))


class Action:
    """Something that a run can do next. Each action is a node of the graph."""

    name: ClassVar[ActionName]
    """The name in steps, journals and settings."""
    function: ClassVar[dict[str, Any] | None] = None
    """The function for the model in Chat Completions format; None if the model cannot call the action."""

    def decision(self, call: FunctionCall) -> Decision:
        """Return the decision that a call to the function means."""
        raise NotImplementedError

    def refusal(self, decision: Decision, state: State) -> str:
        """Return the reason why a decision cannot be carried out; empty if it can."""
        return ""

    def may_repeat(self, decision: Decision, last: Step, state: State) -> bool:
        """Return True if the action may run again with the same input, although `last` gave a result."""
        return False

    async def run(self, state: State, context: Context) -> Update:
        """Carry out the decision of the state, and return the step with its result."""
        raise NotImplementedError


def function_form(name: str, description: str, properties: dict[str, Any], required: Sequence[str]) -> dict[str, Any]:
    """Return a function in Chat Completions format. Every function has the argument `why`."""
    parameters = object_schema({WHY: TEXT, **properties}, required)
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def something_found_since(last: Step, decision: Decision, state: State) -> bool:
    """Return True if another action found something after `last`."""
    return any(
        step["ok"] and step["number"] > last["number"] and step["action"] != decision.action
        for step in state.get("steps", [])
    )


def gave_something_new(last: Step, state: State) -> bool:
    """Return True if the finding of `last` differs from all others."""
    steps = state.get("steps", [])
    return last["ok"] and not any(step["finding"] == last["finding"] for step in steps if step is not last)
