"""search: runs the search specialist; its quotations and their sources are the step's finding."""

from __future__ import annotations

import json
from typing import Any

from langgraph.runtime import Runtime

from agent.consent.permission import unless_wanted
from agent.consent.provenance import of_query
from agent.context import Context, failed
from agent.errors import ModelError, ModelOutputError, StoppedError
from agent.events import Note
from agent.material.origins import origins_of
from agent.models.protocol import Role
from agent.state import State
from agent.steps import decision_of, step, step_number
from mcp_tools.text import one_line


async def search(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Searches, reads and quotes."""
    from agent.material.research_request import ResearchRequest

    context = runtime.context
    strategy = context.strategy(Role.COORDINATOR)
    decision = decision_of(state)
    query = decision.query
    origins = origins_of(state, context)
    if (refused := await unless_wanted(of_query(query, origins), state, context)) is not None:
        return refused
    wanted = ResearchRequest(state["question"], query, decision.source, state.get("sources", []), origins)
    try:
        evidence = await strategy.research(wanted, context)
    except (ModelError, ModelOutputError, StoppedError) as failure:
        return failed(state, context, f"The search came to no end: {failure.message}", f"no search: {failure.message}")
    if not evidence.ok:
        context.emit(Note(f"nothing was found: {one_line('; '.join(evidence.failed) or 'no page fits', 300)}"))
    finding = evidence.text(strategy.limits.evidence)
    value = strategy.result_of(evidence.answer, state["question"])
    note = ""
    if evidence.ok and strategy.limits.addresses:
        sources = json.dumps(evidence.cited(), ensure_ascii=False, indent=1)
        path = context.workspace.keep_text(f"search_{step_number(state)}.json", sources)
        note = f"For programs, the sources with all their quotations: {path}."
    return {
        "steps": [step(state, ok=evidence.ok, finding=finding, value=value, note=note)],
        "sources": evidence.cited(),
    }
