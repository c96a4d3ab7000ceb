"""What tests of decisions have in common: states, steps, and models without a run around them."""

from __future__ import annotations

from typing import Any, cast

from agent.budget import Budget, RunLimits
from agent.context import Context
from agent.models.protocol import Role
from agent.models.scripted import ScriptedModel
from agent.state import Decision, State, Step

FIBONACCI: dict[str, Any] = {
    "name": "nth_fibonacci",
    "description": "Return the n-th Fibonacci number.",
    "inputSchema": {
        "type": "object",
        "properties": {"n": {"type": "integer"}},
        "required": ["n"],
        "additionalProperties": False,
    },
}
PRIME: dict[str, Any] = {
    "name": "is_prime",
    "description": "Tell whether an integer is prime.",
    "inputSchema": {"type": "object"},
}
USE = {"json": {"n": 57}}
"""The arguments that a small model fills in."""
SEARCHING = {"tool": "search", "arguments": {"query": "q"}}
"""The same as a capable model writes it: a call of a function."""


class Weak(ScriptedModel):
    """A scripted model under the name of the embedded one."""

    @property
    def name(self) -> str:
        return "embedded"


class OneModel:
    """The same model for every role."""

    def __init__(self, model: ScriptedModel) -> None:
        self.model = model

    def for_role(self, role: str) -> ScriptedModel:
        return self.model


def context_with(model: ScriptedModel) -> Context:
    nothing = cast(Any, None)  # a decision reaches neither library nor sandbox
    return Context(OneModel(model), nothing, nothing, nothing, Budget(RunLimits()), lambda event: None, "run", ())


async def choose(state: State, context: Context) -> Decision:
    """The next action, by the strategy of the coordinator's model."""
    return (await context.strategy(Role.COORDINATOR).decide(state, context)).decisions[0]


def state_of(
    question: str,
    *,
    tools: list[dict[str, Any]] | None = None,
    steps: list[Step] | None = None,
    files: list[str] | None = None,
) -> State:
    return {"question": question, "files": files or [], "tools": tools or [], "steps": steps or []}


def done(
    action: Any, input_: str = "", *, ok: bool = True, value: Any = None, finding: str = "", number: int = 1
) -> Step:
    input_ = input_ or action
    found = finding or f"{input_} = {value}"
    return Step(number=number, action=action, input=input_, ok=ok, finding=found, value=value)
