"""The strategy for small models: short prompts, one small question at a time, one program, and rules beside them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.browser.tasks import Outcome
from agent.consent.provenance import Origins
from agent.context import Context
from agent.conversation import Conversation
from agent.models.protocol import Role
from agent.small.browser import DRIVER
from agent.small.browser.quoted import is_asked
from agent.small.creating import keep
from agent.small.programs.program import answer_by_program
from agent.small.questions import believed, choose
from agent.small.restating import restate_reference
from agent.state import State
from agent.steps import evidence_text
from agent.strategy import Choice, PromptLimits, Update
from mcp_tools.prompt import load_prompt
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.web.evidence import Evidence, Wanted

LIMITS = PromptLimits(
    reading=2_400,
    section=12_000,
    files=4_000,
    addresses=0,
    evidence=1_500,
    history=4_000,
    thoughts=0,
)
"""A small model reads slowly, loses itself in long texts, and gets long tests wrong."""
_TOKENS = 200
_UNKNOWN = frozenset({"unknown", "unknown."})


class Small:
    """Asks small questions, and keeps rules beside the model."""

    limits = LIMITS

    async def decide(self, state: State, context: Context) -> Choice:
        """A few small questions, with rules where they are sure; always one decision."""
        return Choice([await choose(state, context)])

    async def best_guess(self, state: State, context: Context) -> str:
        """One short answer from the evidence."""
        reason = "No more steps are possible." if state.get("limit") else ""
        evidence = evidence_text(state.get("steps", []))
        messages = load_prompt("agent.small", "answer").render(
            question=state["question"], evidence=evidence, reason=reason
        )
        completion = await context.complete(
            Role.COORDINATOR, messages, temperature=0, max_tokens=_TOKENS, on_delta=context.on_answer
        )
        text = completion.text.strip()
        return "" if text.lower() in _UNKNOWN else text

    async def research(self, wanted: Wanted, context: Context) -> Evidence:
        """Rules search and quote; the model copies the answer."""
        from agent.small.research import research_by_rule

        return await research_by_rule(wanted, context)

    def result_of(self, text: str, question: str, *, downloaded: bool = False) -> Json:
        """The answer that was copied, unless it may be in a file that came with it."""
        return None if downloaded and is_asked(question) else text or None

    async def operate(
        self, task: str, url: str, files: tuple[Path, ...], origins: Origins, context: Context
    ) -> Outcome:
        """Small questions over numbered elements."""
        assert context.browser is not None

        async def ask(*args: Any, **options: Any) -> Any:
            return await context.complete(Role.BROWSER, *args, **options)

        return await context.browser.do(task, url, files, ask, driver=DRIVER, origins=origins)

    async def program(self, state: State, context: Context) -> Update:
        """One program, mended once."""
        return await answer_by_program(state, context)

    async def create(self, state: State, context: Context) -> Update:
        """The same program: its function becomes a tool once the answer is there."""
        return await answer_by_program(state, context)

    async def keep(self, state: State, context: Context) -> Update:
        """The program's function, where somebody else vouches for it."""
        done = state["steps"][-1]
        return await keep(state["program"], str(done["value"]), state, context) if done["ok"] else {}

    async def restate(self, message: str, earlier: Conversation, source: Conversation | None, context: Context) -> str:
        """The model is asked only about a message that points back."""
        return await restate_reference(message, earlier, source, context)

    async def is_wanted(self, action: str, wanted: str, context: Context) -> bool:
        """A small model is not asked: the user decides."""
        return False

    async def confirmed(self, text: str, state: State, context: Context) -> str:
        """The answer, unless only an instruction in a text says it."""
        return await believed(text, state, context)
