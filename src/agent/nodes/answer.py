"""answer: the text of the answer, or the best that a spent budget allows."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agent.answering.answer_format import answer_text
from agent.context import Context
from agent.errors import ModelError, ModelOutputError, StoppedError
from agent.events import Note
from agent.models.protocol import Role
from agent.state import State
from agent.steps import decision_of, last_value


async def answer(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Takes the answer from the decision, else from the newest result, else asks once for the best guess.

    Whoever wanted a tool gets no guess in its place.
    """
    text = decision_of(state).answer.strip()
    if not text:
        value = last_value(state.get("steps", []))
        text = "" if value is None else answer_text(value, state["question"])
    if not text and state.get("wish") != "create":
        text = await _best_guess(state, runtime.context)
    if text:
        text = await runtime.context.strategy(Role.COORDINATOR).confirmed(text, state, runtime.context)
    return {"text": text}


async def _best_guess(state: State, context: Context) -> str:
    if "most_turns" not in state:  # what it may go beyond the limits by is for the run's own answer
        context.budget.last_call = context.budget.limits.cost != 0
    try:
        return await context.strategy(Role.COORDINATOR).best_guess(state, context)
    except (ModelError, ModelOutputError, StoppedError) as failure:
        context.emit(Note(f"no best guess: {failure.message}"))
        return ""
