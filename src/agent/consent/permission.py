"""Decides whether a model's action is carried out. The rules in `rulings` decide first, then a model or the user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent.consent.questions import CallProposal, UserReply
from agent.consent.rulings import Verdict
from agent.errors import ModelError, ModelOutputError
from agent.events import ActionRefused
from agent.models.protocol import Role
from agent.state import State
from agent.steps import decision_of, step
from mcp_tools.prompt import data_block, load_prompt
from mcp_tools.text import one_line
from mcp_tools.tool import object_schema

if TYPE_CHECKING:
    from agent.context import Context

_MAX_USER_CHARS = 20_000
_MAX_ACTION_CHARS = 1_500
_TOKENS = 120
_FORM = object_schema({"why": {"type": "string"}, "wanted": {"enum": ["yes", "no"]}})
_ADVICE = "Only the user can ask for it. Go on without it, with what the question asks for."


async def refused_step(verdict: Verdict, state: State, context: Context) -> dict[str, Any] | None:
    """Return a failed step if the action is refused; None if it is allowed."""
    decision = decision_of(state)
    why = await refusal_of_action(verdict, decision.action, decision.input, words_of_user(state), context)
    if not why:
        return None
    return {"steps": [step(state, ok=False, finding=f"This was not done: {why}")]}


async def refusal_of_action(verdict: Verdict, name: str, action: str, wanted: str, context: Context) -> str:
    """Return the reason for the model why an action is refused; empty if it is allowed. Refusals are also events.

    A model that sees only the user's text and the action decides about doubtful actions. If that model says no, or the
    coordinator is a small model, the user decides. If there is no user to ask, the action is refused.
    """
    if verdict.ruling == "fine":
        return ""
    reply, by = UserReply(False), "nobody"
    if verdict.ruling != "refused":
        is_doubtful = verdict.ruling == "doubtful"
        if is_doubtful and await context.strategy(Role.COORDINATOR).is_wanted(action, wanted, context):
            return ""
        tool = action.partition("(")[0] if name == "use_tool" and verdict.may_be_permanent else ""
        call = CallProposal(
            name, {"action": action}, verdict.why, is_doubtful=is_doubtful, tool=tool, paths=verdict.paths
        )
        reply, by = await context.consent.reply_to(call)
        if by == "standing" and verdict.if_allowed is not None:
            return await refusal_of_action(verdict.if_allowed, name, action, wanted, context)
        if reply.allowed:
            return ""
    context.set_apart(ActionRefused(one_line(action, 200), verdict.why))
    if reply.reason:  # the user's own message follows
        return "the user was asked and does not allow it"
    return f"{'the user was asked and does not allow it' if by == 'asked' else verdict.why}. {_ADVICE}"


def words_of_user(state: State) -> str:
    """Return the user's messages of this conversation."""
    return "\n".join(state.get("said") or [state["question"]])


async def is_asked_for(action: str, wanted: str, context: Context) -> bool:
    """Ask the coordinator's model whether the user's words ask for an action. The model sees no untrusted text."""
    shown = data_block("the action", action[:_MAX_ACTION_CHARS])
    messages = load_prompt("agent", "wanted").render(question=wanted[:_MAX_USER_CHARS], action=shown)
    try:
        completion = await context.complete(Role.COORDINATOR, messages, schema=_FORM, temperature=0, max_tokens=_TOKENS)
    except (ModelError, ModelOutputError):
        return False
    return bool(completion.parsed["wanted"] == "yes")
