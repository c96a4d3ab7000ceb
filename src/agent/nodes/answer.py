"""answer: the text of the answer, or the best that a spent budget allows."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agent.context import Context
from agent.errors import ModelError, ModelOutputError, StoppedError
from agent.events import Note
from agent.models.protocol import Role
from agent.state import State
from agent.steps import decision_of, evidence_text, last_value
from mcp_tools.prompt import load_prompt

_UNKNOWN = frozenset({"unknown", "unknown."})


async def answer(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Takes the answer from the decision, else from the newest result, else asks once for the best guess.

    Whoever wanted a tool gets no guess in its place.
    """
    text = decision_of(state).answer.strip()
    if not text:
        text = last_value(state.get("steps", [])) or ""
    if not text and state.get("wish") != "create":
        text = await _best_effort(state, runtime.context)
    if text:
        text = await runtime.context.strategy(Role.COORDINATOR).confirmed(text, state, runtime.context)
    return {"text": text}


async def _best_effort(state: State, context: Context) -> str:
    limit = state.get("limit")
    reason = "No more steps are possible." if limit else ""
    messages = load_prompt("agent", "answer").render(
        question=state["question"], evidence=evidence_text(state.get("steps", [])), reason=reason
    )
    context.budget.last_call = context.budget.limits.cost != 0
    try:
        completion = await context.complete(
            Role.COORDINATOR,
            messages,
            temperature=0,
            max_tokens=context.strategy(Role.COORDINATOR).limits.answer,
            on_delta=context.on_answer,
        )
    except (ModelError, ModelOutputError, StoppedError) as failure:
        context.emit(Note(f"no best guess: {failure.message}"))
        return ""
    text = completion.text.strip()
    return "" if text.lower() in _UNKNOWN else text
