"""What a reply asks for besides its first action: pages and searches that nobody needs to ask about begin at once."""

from __future__ import annotations

from collections.abc import Sequence

from agent.consent.permission import origins_of
from agent.consent.provenance import FINE, of_address, of_query
from agent.context import Context
from agent.material.pages import means_page, resolved
from agent.state import Decision, State


def begin_ahead(decisions: Sequence[Decision], state: State, context: Context) -> None:
    """Begins to read the pages and to search; the actions themselves then find it done, one after the other."""
    if context.web is None or not decisions:
        return
    origins = origins_of(state, context)
    for step, decision in enumerate(decisions, len(state.get("steps", [])) + 2):
        with context.journal.ahead(step):
            if means_page(decision):
                url = resolved(decision, state).file
                if of_address(url, origins) == FINE:
                    context.web.read_ahead(url)
            elif decision.action == "search" and of_query(decision.query, origins) == FINE:
                context.web.search_ahead(decision.query)
