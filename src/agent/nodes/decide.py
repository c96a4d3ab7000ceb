"""decide: the router; the only node that chooses where to go."""

from __future__ import annotations

from typing import Literal

from langgraph.runtime import Runtime
from langgraph.types import Command

from agent.context import Context
from agent.errors import ModelOutputError, StoppedError
from agent.events import Note, StepStarted
from agent.models.protocol import Role
from agent.nodes.plan import tools_now
from agent.state import Decision, State

Route = Literal["search", "browse", "read_file", "use_tool", "create_tool", "run_code", "answer"]


async def decide(state: State, runtime: Runtime[Context]) -> Command[Route]:
    """Chooses the next action; a limit that is reached, or no usable decision, leads to the best-effort answer."""
    context = runtime.context
    done = len(state.get("steps", []))
    context.journal.step = done + 1
    if limit := context.budget.exceeded(done):
        return _give_up(context, f"the limit of {limit} is reached", limit)
    tools = await tools_now(state, context)
    try:
        decision, *_ = await context.strategy(Role.COORDINATOR).decide({**state, "tools": tools}, context)
    except ModelOutputError as problem:
        context.emit(Note(problem.message))
        return _give_up(context, "no usable decision", None)
    except StoppedError as stopped:
        return _give_up(context, stopped.message, context.budget.exceeded(done))
    context.journal.mark(decision.action, decision.why)
    context.emit(StepStarted(done + 1, context.budget.limits.steps, decision.action, decision.why))
    return Command(goto=decision.action, update={"decision": decision.as_json(), "tools": tools})


def _give_up(context: Context, why: str, limit: str | None) -> Command[Route]:
    context.journal.mark("answer", why)
    return Command(goto="answer", update={"decision": Decision("answer", why).as_json(), "limit": limit})
