"""Whether what a model decided may be done: what `provenance` rules, asked of a run as it stands."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from agent.consent.external_tools import CallProposal
from agent.consent.provenance import Verdict
from agent.errors import ModelOutputError
from agent.events import ActionRefused
from agent.models.protocol import Role
from agent.state import State
from agent.steps import decision_of, step
from mcp_tools.prompt import data_block, load_prompt
from mcp_tools.text import one_line
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.context import Context

_CONSENT = "consent"
"""What the journal calls a user's word on a doubtful action."""
_WORDS_OF_USER = 20_000
_LONGEST_ACTION = 1_500
_TOKENS = 120
_FORM: dict[str, Any] = {
    "type": "object",
    "properties": {"why": {"type": "string"}, "wanted": {"enum": ["yes", "no"]}},
    "required": ["why", "wanted"],
    "additionalProperties": False,
}
_ADVICE = "Only the user can ask for it. Go on without it, with what the question asks for."


async def unless_wanted(verdict: Verdict, state: State, context: Context) -> dict[str, Any] | None:
    """The failed step of an action that nobody but foreign text wants; None where it may be done."""
    decision = decision_of(state)
    if await may_be_done(verdict, decision.action, decision.input, words_of_user(state), context):
        return None
    return {"steps": [step(state, ok=False, finding=f"This was not done: {verdict.why}. {_ADVICE}")]}


async def may_be_done(verdict: Verdict, name: str, action: str, wanted: str, context: Context) -> bool:
    """Whether an action may be done; where not, that is told.

    What is doubtful is decided by a model that sees what the user wrote and the action, and no foreign text. Where it
    does not find the action wanted, and for a small model, which is not asked, the user decides, if somebody is there.
    """
    if verdict.ruling == "fine":
        return True
    if verdict.ruling == "doubtful":
        call = CallProposal(name, {"action": action}, verdict.why, is_doubtful=True)
        strategy = context.strategy(Role.COORDINATOR)
        if await strategy.is_wanted(action, wanted, context) or await _is_allowed(call, context):
            return True
    context.set_apart(ActionRefused(one_line(action, 200), verdict.why))
    return False


def words_of_user(state: State) -> str:
    """What the user wrote."""
    return "\n".join(state.get("said") or [state["question"]])


async def _is_allowed(call: CallProposal, context: Context) -> bool:
    """Whether the user, where somebody can be asked, allows an action; the journal holds what was said."""
    consent = context.consent
    if consent is None or not (consent.can_ask or context.journal.knows(_CONSENT)):
        return False

    async def perform() -> Json:
        return {"allowed": await consent.allows(call)}

    return bool((await context.journal.call(_CONSENT, asdict(call), perform))["allowed"])


async def is_asked_for(action: str, wanted: str, context: Context) -> bool:
    """Whether the coordinator's model finds that the user's words ask for an action; it sees no foreign text."""
    shown = data_block("the action", action[:_LONGEST_ACTION])
    messages = load_prompt("agent", "wanted").render(question=wanted[:_WORDS_OF_USER], action=shown)
    try:
        completion = await context.complete(Role.COORDINATOR, messages, schema=_FORM, temperature=0, max_tokens=_TOKENS)
    except ModelOutputError:
        return False
    return bool(completion.parsed["wanted"] == "yes")
