"""The strategy for small models: a choice constrained by a grammar, a program and one repair."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agent.browser.tasks import BrowserOutcome
from agent.consent.text_origins import Origins
from agent.context import Context, NextActions, PromptLimits, Strategy, Update
from agent.conversation import Conversation
from agent.errors import ModelError
from agent.models.protocol import Role
from agent.small.choice import choose
from agent.small.evidence import believed, research_with_copy
from agent.small.keeping import keep
from agent.small.program import answer_by_program, run_script
from agent.small.restate import restate
from agent.state import State
from agent.steps import decision_of, evidence_text
from mcp_tools.prompt import load_prompt
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.material.research_request import ResearchRequest
    from agent.web.evidence import Evidence

_MAX_ANSWER_TOKENS = 200
_UNKNOWN = frozenset({"unknown", "unknown."})


class Small(Strategy):
    """Asks one short question at a time."""

    limits = PromptLimits(
        reading=2_400, section=12_000, files=4_000, addresses=0, evidence=1_500, history=4_000, thoughts=0
    )
    """The limits are low, because a small model reads slowly and gets lost in long texts."""

    async def decide(self, state: State, context: Context) -> NextActions:
        """Return one action.

        Raises:
            ModelError: The question needs a browser task, and the browser's model is small.
        """
        decision = await choose(state, context)
        if decision.action == "browse" and isinstance(context.strategy(Role.BROWSER), Small):
            raise _no_browsing(context)
        return NextActions([decision])

    async def best_guess(self, state: State, context: Context) -> str:
        """Return a short answer from the evidence, or a reply to small talk, which needs no evidence."""
        question, steps, limit = state["question"], state.get("steps", []), state.get("limit")
        if not steps and not limit and not state.get("attached"):
            messages = load_prompt("agent.small", "talk").render(question=question)
        else:
            reason = "No more steps are possible." if limit else ""
            messages = load_prompt("agent.small", "answer").render(
                question=question, evidence=evidence_text(steps), reason=reason
            )
        completion = await context.complete(
            Role.COORDINATOR, messages, temperature=0, max_tokens=_MAX_ANSWER_TOKENS, on_delta=context.on_answer
        )
        text = completion.text.strip()
        return "" if text.lower() in _UNKNOWN else text

    async def research(self, wanted: ResearchRequest, context: Context) -> Evidence:
        """Search and quote by rules, and let the model copy the answer."""
        return await research_with_copy(wanted, context)

    def result_of(self, text: str, question: str, *, downloaded: bool = False) -> Json:
        """Return the copied answer; None if the answer may be in a downloaded file."""
        return None if downloaded else text or None

    async def operate(
        self, task: str, url: str, files: tuple[Path, ...], origins: Origins, context: Context
    ) -> BrowserOutcome:
        """Raise an error, because a small model gets lost on a website."""
        raise _no_browsing(context)

    async def program(self, state: State, context: Context) -> Update:
        """Run the chosen attached program, or else a program by the model."""
        if decision_of(state).file:
            return await run_script(state, context)
        return await answer_by_program(state, context)

    async def create(self, state: State, context: Context) -> Update:
        """Answer with a program. Its function becomes a tool afterwards."""
        return await answer_by_program(state, context)

    async def keep(self, state: State, context: Context) -> Update:
        """Turn the program's function into a tool."""
        done = state["steps"][-1]
        return await keep(state["program"], str(done["value"]), state, context) if done["ok"] else {}

    async def restate(self, message: str, earlier: Conversation, context: Context) -> str:
        """Return a follow-up as an independent question."""
        return await restate(message, earlier, context)

    async def confirmed(self, text: str, state: State, context: Context) -> str:
        """Return the answer; if only an instruction in a text gives it, another answer or an empty text."""
        return await believed(text, state, context)


def _no_browsing(context: Context) -> ModelError:
    name = context.models.for_role(Role.BROWSER).name
    return ModelError(
        f"Operating a web site needs a more capable model than {name}; nothing was done there.",
        remedy="Set a key with `alita keys set`, or name a model with -m.",
    )
