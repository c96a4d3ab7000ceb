"""ask: hands a question over to a specialist, whose answer is the step's finding."""

from __future__ import annotations

from typing import Any

from langgraph.runtime import Runtime

from agent.actions.hand_over import HandOvers
from agent.context import Context
from agent.state import State
from agent.steps import decision_of, step


async def ask(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Has a specialist answer the question of the decision."""
    decision, asked = decision_of(state), HandOvers(state)
    ok, text = await asked.ask(decision.query, decision.agent, runtime.context)
    return {"steps": [step(state, ok=ok, finding=text) | asked.marks], **asked.update}
