"""The action that searches the web or one engine. The finding has quotations with their sources."""

from __future__ import annotations

import json

from agent.actions.action import TEXT, Action, FunctionCall, function_form, gave_something_new
from agent.consent.permission import refused_step
from agent.consent.rulings import Verdict, judge_query
from agent.consent.text_origins import Origins
from agent.context import Context, Update, failed
from agent.errors import ModelError, ModelOutputError, StoppedError
from agent.events import Note
from agent.material.origins import origins_of
from agent.models.protocol import Role
from agent.state import Decision, State, Step
from agent.steps import decision_of, step, step_number
from agent.web.page import SOURCES
from mcp_tools.text import one_line


class Search(Action):
    """Searches, reads the best pages and quotes them."""

    name = "search"
    function = function_form(
        "search",
        "Searches the web.",
        {"query": TEXT, "source": {"enum": list(SOURCES)}},
        ["query"],
    )

    def decision(self, call: FunctionCall) -> Decision:
        """See `Action`."""
        source = SOURCES[call.arguments.get("source", "web")]
        query = call.arguments["query"].strip()
        return Decision(self.name, call.why, query=query, source=source, call=call.call_id)

    def may_repeat(self, decision: Decision, last: Step, state: State) -> bool:
        """Return True as long as the web gives new results."""
        return gave_something_new(last, state)

    def ruling(self, query: str, origins: Origins) -> Verdict:
        """Return the ruling on sending a query."""
        return judge_query(query, origins)

    async def run(self, state: State, context: Context) -> Update:
        """See `Action`."""
        from agent.material.research_request import ResearchRequest

        strategy = context.strategy(Role.COORDINATOR)
        decision = decision_of(state)
        query = decision.query
        origins = origins_of(state, context)
        if (refused := await refused_step(self.ruling(query, origins), state, context)) is not None:
            return refused
        wanted = ResearchRequest(state["question"], query, decision.source, state.get("sources", []), origins)
        try:
            evidence = await strategy.research(wanted, context)
        except (ModelError, ModelOutputError, StoppedError) as failure:
            why = failure.message
            return failed(state, context, f"The search came to no end: {why}", f"no search: {why}")
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
