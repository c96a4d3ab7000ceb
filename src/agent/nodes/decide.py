"""The node that chooses the next action and routes to its node."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from langgraph.runtime import Runtime
from langgraph.types import Command

from agent.actions.tools import tools_now
from agent.answering.answer_format import answer_of
from agent.consent.rulings import FINE, judge_address, judge_query
from agent.context import Context
from agent.errors import ModelOutputError, StoppedError
from agent.events import Note, StepStarted
from agent.material.origins import origins_of
from agent.material.pages import means_page, resolved
from agent.models.protocol import Role
from agent.state import Decision, State

_LONGEST_ANSWER = 4_000
"""Maximum characters of a result that is used as the answer."""


async def decide(state: State, runtime: Runtime[Context]) -> Command[str]:
    """Choose the next action. At a limit, or without a usable decision, the run ends with its best guess.

    No model is asked if the last result is the answer, or if actions of the last reply remain.
    """
    context = runtime.context
    done, turns = len(state.get("steps", [])), state.get("turns", 0)
    pending = state.get("pending", [])
    if done:
        last = state["steps"][-1]
        context.journal.note_found(last["number"], last["input"], last["finding"], ok=last["ok"])
    context.journal.begin(done + 1)
    if (answer := _final_result(state)) is not None:
        decision = Decision("answer", "The result is the answer.", answer=answer)
        return _go(decision, turns + 1, state, {"pending": []}, context)
    if limit := _limit(state, context, turns - bool(pending)):
        return _give_up(context, f"the run reached its limit of {limit}", limit)
    if pending:
        return _go(pending[0], turns, state, {"pending": pending[1:]}, context)
    tools = await tools_now(state, context)
    try:
        choice = await context.strategy(Role.COORDINATOR).decide({**state, "tools": tools}, context)
    except ModelOutputError as problem:
        context.emit(Note(problem.message))
        return _give_up(context, "no usable decision", None)
    except StoppedError as stopped:
        return _give_up(context, stopped.message, _limit(state, context, turns))
    first, *rest = choice.decisions
    begin_ahead(rest if first.action != "ask" else [], state, context)
    is_free = any(reply.get("is_free") for reply in choice.replies)
    update: dict[str, Any] = {"tools": tools, "replies": choice.replies, "plans": choice.plans, "pending": rest}
    if choice.interjections:
        messages = [message["text"] for message in choice.interjections]
        update |= {"interjections": choice.interjections, "said": [*state.get("said", [state["question"]]), *messages]}
    return _go(first, turns + (not is_free), state, update, context)


def _limit(state: State, context: Context, turns: int) -> str | None:
    """Return the limit that was reached, if any.

    A specialist has its own step limit; the run's other limits are checked at each call.
    """
    if not state["purpose"].is_users:
        return "steps" if turns >= state["most_turns"] else None
    return context.budget.exceeded(turns, len(state.get("steps", [])))


def _go(decision: Decision, turn: int, state: State, update: dict[str, Any], context: Context) -> Command[str]:
    context.journal.mark(decision.action, decision.why)
    context.emit(StepStarted(max(turn, 1), context.most_steps(state), decision.action, decision.why))
    closing = decision.action == "answer"
    more = {"turns": turn, "closing": closing, "decision": decision}
    return Command(goto=decision.action, update={**update, **more})


def _final_result(state: State) -> str | None:
    """Return the last result if the model declared it to be the answer and it fits the declared form."""
    steps = state.get("steps", [])
    if not steps:
        return None
    try:
        text = answer_of(steps[-1], state["question"])
    except ValueError:  # the next prompt shows the error with the result
        return None
    return text if 0 < len(text) <= _LONGEST_ANSWER else None


def _give_up(context: Context, why: str, limit: str | None) -> Command[str]:
    context.journal.mark("answer", why)
    decision = Decision("answer", why)
    return Command(goto="answer", update={"decision": decision, "limit": limit, "pending": [], "closing": False})


def begin_ahead(decisions: Sequence[Decision], state: State, context: Context) -> None:
    """Start reading pages and searching in parallel. The actions then wait for these results in order.

    Decisions after a hand-over wait for it, so that a replay makes the calls in the same order.
    """
    if not decisions:
        return
    origins = origins_of(state, context)
    at_once = takewhile(lambda decision: decision.action != "ask", decisions)
    for step, decision in enumerate(at_once, len(state.get("steps", [])) + 2):
        with context.journal.ahead(step):
            if means_page(decision):
                url = origins.known_link_for(resolved(decision, state).file)
                if judge_address(url, origins) == FINE:
                    context.web.read_ahead(url)
            elif decision.action == "search" and judge_query(decision.query, origins) == FINE:
                from agent.web.queries import freshness_of, usable

                for query in usable([decision.query]):
                    context.web.search_ahead(query, freshness=freshness_of(decision.query), source=decision.source)
