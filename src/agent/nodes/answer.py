"""answer: the text of the answer, or the best that a spent budget allows."""

from __future__ import annotations

from functools import partial
from typing import Any

from langgraph.runtime import Runtime

from agent.context import Context
from agent.deciding.extracting import copied_from
from agent.errors import ModelError, ModelOutputError, StoppedError
from agent.events import Note
from agent.instructions import LOOKS, Texts, without_instructions
from agent.models.protocol import Role
from agent.state import State, Step
from agent.steps import decision_of, evidence_text, last_value, reading_of
from mcp_tools.prompt import load_prompt

_TOKENS = 200
_TOKENS_WITH_THOUGHT = 2_000
"""For models whose thoughts count as output."""
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
    if text and runtime.context.is_weak(Role.COORDINATOR):
        text = await _believed(text, state, runtime.context)
    return {"text": text}


async def _believed(text: str, state: State, context: Context) -> str:
    """A weak model's answer, unless it stands only where a text tells its reader to give it: then another, or none."""
    texts: Texts = [(done["input"], reading_of(done)) for done in state.get("steps", []) if _is_read(done)]
    for _ in range(LOOKS):
        left = await without_instructions(
            text, texts, state["question"], partial(context.complete, Role.COORDINATOR), context.set_apart
        )
        if left is None:
            return text
        texts, text = left, await copied_from(left, state["question"], context)
        if not text:
            break
    context.emit(Note("what only an instruction in a text says is no answer, and nothing else was found"))
    return ""


def _is_read(done: Step) -> bool:
    """Whether a step brought a text of others as it is: the browser has judged its own, and a value is no text."""
    is_text = done["action"] in {"read_file", "search"} or done["value"] is None
    return done["ok"] and is_text and done["action"] in {"read_file", "search", "browse", "use_tool"}


async def _best_effort(state: State, context: Context) -> str:
    limit = state.get("limit")
    reason = "No more steps are possible." if limit else ""
    messages = load_prompt("agent", "answer").render(
        question=state["question"], evidence=evidence_text(state.get("steps", [])), reason=reason
    )
    context.budget.last_call = context.budget.limits.cost != 0
    try:
        most = _TOKENS if context.is_weak(Role.COORDINATOR) else _TOKENS_WITH_THOUGHT
        completion = await context.complete(
            Role.COORDINATOR,
            messages,
            temperature=0,
            max_tokens=most,
            on_delta=context.on_answer,
        )
    except (ModelError, ModelOutputError, StoppedError) as failure:
        context.emit(Note(f"no best guess: {failure.message}"))
        return ""
    text = completion.text.strip()
    return "" if text.lower() in _UNKNOWN else text
