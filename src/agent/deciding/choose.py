"""The next action of a run."""

from __future__ import annotations

from agent.context import Context
from agent.deciding.one_call import ask
from agent.deciding.refusals import refusal_of
from agent.deciding.rules import asked_before
from agent.deciding.small_questions import ask_in_parts
from agent.errors import ModelOutputError
from agent.models.protocol import Role
from agent.state import Decision, State

ATTEMPTS = 3
"""How often a decision that cannot be carried out is asked again, each time with the reason."""


async def choose(state: State, context: Context) -> Decision:
    """The next action.

    Raises:
        ModelOutputError: The model gave no decision that can be carried out, in several attempts.
    """
    same = asked_before(state)
    if same is not None and refusal_of(same, state) is None:
        return same
    if context.is_weak(Role.COORDINATOR):
        return await ask_in_parts(state, context)
    refusal: str | None = None
    for _ in range(ATTEMPTS):
        try:
            decision = await ask(state, context, f"\nYour last decision was refused: {refusal}" if refusal else "")
        except ModelOutputError as problem:
            refusal = problem.message
            continue
        refusal = refusal_of(decision, state)
        if refusal is None:
            return decision
    raise ModelOutputError(f"the model chose nothing that can be done, {ATTEMPTS} times: {refusal}")
