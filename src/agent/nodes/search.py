"""search: the search specialist finds out; its quotations, with their sources, are the step's finding."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agent.context import Context
from agent.errors import ModelOutputError, StoppedError
from agent.events import Note
from agent.models.protocol import Role
from agent.permission import origins_of, unless_wanted
from agent.provenance import of_query
from agent.state import State
from agent.steps import READING, decision_of, evidence_text, step
from mcp_tools.text import one_line

_WEAK_EVIDENCE = 1_500
"""Characters for a weak model, which reads slowly and loses itself in more."""
_NO_WEB = "Nothing searches the web here: answer without."


async def search(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Searches, reads and quotes; a weak model's run ends with the answer that was copied from the quotations."""
    from agent.web.specialist.evidence import Wanted
    from agent.web.specialist.next_query import next_query
    from agent.web.specialist.research import research

    context = runtime.context
    if context.web is None:
        context.emit(Note(_NO_WEB))
        return {"steps": [step(state, ok=False, finding=_NO_WEB)]}
    weak = context.is_weak(Role.COORDINATOR)
    steps = state.get("steps", [])
    query = decision_of(state).query
    origins = origins_of(state, context)
    if (refused := await unless_wanted(of_query(query, origins), state, context)) is not None:
        return refused
    wanted = Wanted(state["question"], query, evidence_text(steps), state.get("sources", []), origins)
    try:
        evidence = await research(await next_query(wanted, context), context, context.web)
    except (ModelOutputError, StoppedError) as failure:
        context.emit(Note(f"no search: {failure.message}"))
        return {"steps": [step(state, ok=False, finding=f"The search came to no end: {failure.message}")]}
    if not evidence.ok:
        context.emit(Note(f"nothing was found: {one_line('; '.join(evidence.failed) or 'no page fits', 300)}"))
    finding = evidence.text(_WEAK_EVIDENCE if weak else READING)
    value = evidence.answer if weak and evidence.answer else None
    return {"steps": [step(state, ok=evidence.ok, finding=finding, value=value)], "sources": evidence.cited()}
