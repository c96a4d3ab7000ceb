"""The node that brings the answer into its final form, with sources and the status of the run."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

from langgraph.runtime import Runtime

from agent.answer import unwrapped, with_citations
from agent.answering.answer_format import in_schema
from agent.answering.quality import Quality, judge
from agent.context import Context
from agent.errors import ModelError, ModelOutputError, StoppedError
from agent.events import Note
from agent.models.protocol import Role
from agent.state import COMPUTING_ACTIONS, State
from agent.web.quoting import sentences_of
from mcp_tools.text import printable

_LEAD = re.compile(r"^\s*(?:the\s+)?(?:final\s+)?answer\s*(?:is)?\s*:\s*", re.IGNORECASE)


async def evaluate(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Bring the answer into its final form, judge it, and set the status of the run.

    A doubtful answer goes back once for another attempt, if the limits allow it. After that, it is accepted.
    """
    steps = state.get("steps", [])
    computed = bool(steps) and steps[-1]["ok"] and steps[-1]["action"] in COMPUTING_ACTIONS
    sources = state.get("sources", [])
    if (schema := state.get("schema")) and state.get("text"):
        return await _in_schema(state, schema, runtime.context)
    answer = final_form(state.get("text", ""), state["question"])
    bare = bool(sources) and ("rules" in state or _is_form_asked(state["question"]))
    text, cited = with_citations(
        answer, sources, computed=computed, bare_wanted=bare, question=state["question"], split=sentences_of
    )
    status = "limit" if state.get("limit") else "answered" if text else "no_answer"
    quality = judge(text, state, cited)
    update: dict[str, Any] = {"cited": [asdict(source) for source in cited], "quality": asdict(quality)}
    if quality.is_doubtful and (again := _handed_back(text, quality, state, runtime.context)):
        return update | again
    return {**update, "text": text, "status": status, "again": False}


def _handed_back(text: str, quality: Quality, state: State, context: Context) -> dict[str, Any]:
    """Return the update that asks for another attempt; empty if this is not possible or has already been done."""
    turns, done = state.get("turns", 0), len(state.get("steps", []))
    if "again" in state or not state["purpose"].is_judged or state.get("limit") or not done:
        return {}
    if context.budget.exceeded(turns, done):
        return {}
    remark = context.strategy(Role.COORDINATOR).doubt(text, quality.why)
    if remark:
        context.emit(Note(f"making another attempt, because {quality.why}"))
    return {"replies": remark, "again": True} if remark else {}


async def _in_schema(state: State, schema: dict[str, Any], context: Context) -> dict[str, Any]:
    """Return the answer as JSON that fits the user's schema. An answer that cannot be made to fit is dropped."""
    context.budget.last_call = context.budget.limits.cost != 0
    try:
        text = await in_schema(state.get("text", ""), state["question"], schema, context)
    except (ModelError, ModelOutputError, StoppedError) as failure:
        context.emit(Note(failure.message))
        text = ""
    status = "no_answer" if not text else "limit" if state.get("limit") else "answered"
    # The JSON may differ from the wording in the sources, so the original text is checked.
    given, sources, question = state.get("text", ""), state.get("sources", []), state["question"]
    cited = with_citations(given, sources, computed=True, question=question, split=sentences_of)[1] if text else ()
    return {"text": text, "status": status, "cited": [asdict(source) for source in cited]}


def _is_form_asked(question: str) -> bool:
    """Return True if the question asks for a number, date, time, named values or a separated list."""
    from agent.answering.answer_format import asked_of

    asked = asked_of(question)
    return bool(asked.pattern or asked.form or asked.separator)


def final_form(text: str, question: str) -> str:
    """Return the answer without any lead-in, code fence, JSON wrapping or control characters."""
    text = printable(text).strip()
    fenced = re.fullmatch(r"```\w*\n(.*?)\n?```", text, re.DOTALL)
    inside = fenced[1].strip() if fenced else text
    return unwrapped(_LEAD.sub("", inside).strip() or inside or text, question)
