"""The strategy for small models: short prompts, one small question at a time, one program, and rules beside them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from agent.browser.tasks import BrowserOutcome
from agent.consent.origins import Origins
from agent.context import Context
from agent.conversation import Conversation
from agent.errors import ModelError
from agent.models.protocol import Role
from agent.small.keeping import keep
from agent.small.program import answer_by_program
from agent.small.questions import believed, choose
from agent.small.restate import restate
from agent.small.scripts import run_script
from agent.state import State
from agent.steps import evidence_text
from agent.strategy import NextActions, PromptLimits, Strategy, Update
from mcp_tools.particulars import QUOTED
from mcp_tools.prompt import load_prompt
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.material.research import Wanted
    from agent.web.evidence import Evidence


_OPENING = re.compile(
    r"^(?:and|but|or|so|then|also|now|okay|ok|no|yes|instead|same|again|else|why|how (?:so|come)|what if"
    r"|(?:what|how) about|(?:what|which|who) else|like what|such as|not)\b",
    re.IGNORECASE,
)
_FRAGMENT = re.compile(
    r"^(?:for|in|with|without|to|from|of|as|on|at|by|per|until|since|the|only|just)\b", re.IGNORECASE
)
_REFERENCE = re.compile(
    r"""\b(?:
        the\s(?:same|previous|former|latter|answer|result|last\s(?:one|answer|result|question)|(?:first|second)\sone)
      | the\sother\s(?:one|way)
      | (?:that|this|your|these|those)\s(?:ones?|number|result|answer|value|word|list|date|text|tool|time)
      | other\sway\s(?:a)?round
      | as\s(?:above|before)
      | (?:do|try|run|say|repeat|explain|compute|show)\s(?:it|that|this)
      | (?:once|one)\smore
      | instead
      | again
    )\b""",
    re.IGNORECASE | re.VERBOSE,
)
_PERSON = re.compile(r"\b(?:it|its|it's|he|him|his|she|her|hers|they|them|their|theirs|there)\b", re.IGNORECASE)
_DEMONSTRATIVE = re.compile(
    r"""(?:^|\b(?:is|are|was|were|does|do|did|of|by|to|from|with|than|about|after|before|and|or|what's
              |double|half|multiply|divide|convert|reverse|square|write|sort)\s)
        (?:that|this|these|those)
        (?:\s*[?.!]?$|\s(?:to|in|into|by|as|is|are|was|with|backwards|and|from|before|after|more|less|than|for|times|plus|minus|divided)\b|\s[a-z]+\?$)""",
    re.IGNORECASE | re.VERBOSE,
)
_EXPLETIVE = re.compile(
    r"\b(?:how (?:long|many \w+) (?:does|did|will|would) it take|is it (?:true|possible)"
    r"|there (?:is|are)|(?:is|are|were|was) there)\b",
    re.IGNORECASE,
)
"""Words that refer to nothing."""
_NEXT_CLAUSE = re.compile(r"[,;:.]\s|\sand\s(?=(?:what|which|who|whom|whose|when|where|how|why)\b)", re.IGNORECASE)
"""What follows may refer to what stands before it."""
_LONGEST_FRAGMENT = 6
_LONG = 400
"""Characters from which on a message brings what it speaks of."""


def refers_back(message: str) -> bool:
    """Whether a message needs the conversation before it can be understood."""
    text = " ".join(QUOTED.sub("“”", message).split())
    if len(message) > _LONG:
        return False
    count = len(text.split())
    is_fragment = (count <= _LONGEST_FRAGMENT and _FRAGMENT.match(text)) or (count <= 2 and text.endswith("?"))
    if is_fragment or _OPENING.match(text) or _REFERENCE.search(text):
        return True
    clause = _NEXT_CLAUSE.split(text, maxsplit=1)[0]
    return bool(_PERSON.search(_EXPLETIVE.sub("", clause)) or _DEMONSTRATIVE.search(clause))


def _no_browsing(context: Context) -> ModelError:
    name = context.models.for_role(Role.BROWSER).name
    return ModelError(
        f"Operating a web site needs a more capable model than {name}; nothing was done there.",
        remedy="Set a key with `alita keys set`, or name a model with -m.",
    )


_TOKENS = 200
_UNKNOWN = frozenset({"unknown", "unknown."})


class Small(Strategy):
    """Asks small questions, and keeps rules beside the model."""

    limits = PromptLimits(
        reading=2_400, section=12_000, files=4_000, addresses=0, evidence=1_500, history=4_000, thoughts=0
    )
    """A small model reads slowly, loses itself in long texts, and gets long tests wrong."""

    async def decide(self, state: State, context: Context) -> NextActions:
        """A few small questions, with rules where they are sure; always one decision.

        Raises:
            ModelError: A site must be operated, and the browser's model is a small one.
        """
        decision = await choose(state, context)
        if decision.action == "browse" and isinstance(context.strategy(Role.BROWSER), Small):
            raise _no_browsing(context)
        return NextActions([decision])

    async def best_guess(self, state: State, context: Context) -> str:
        """One short answer from the evidence; a reply to talk, which needs none."""
        question, steps, limit = state["question"], state.get("steps", []), state.get("limit")
        if not steps and not limit and not state.get("attached"):
            messages = load_prompt("agent.small", "talk").render(question=question)
        else:
            reason = "No more steps are possible." if limit else ""
            messages = load_prompt("agent.small", "answer").render(
                question=question, evidence=evidence_text(steps), reason=reason
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
        return None if downloaded else text or None

    async def operate(
        self, task: str, url: str, files: tuple[Path, ...], origins: Origins, context: Context
    ) -> BrowserOutcome:
        """Refused: a small model loses its way on a site."""
        raise _no_browsing(context)

    async def program(self, state: State, context: Context) -> Update:
        """The attached program that is asked about, else one program, mended once."""
        return await run_script(state, context) or await answer_by_program(state, context)

    async def create(self, state: State, context: Context) -> Update:
        """The same program: its function becomes a tool once the answer is there."""
        return await answer_by_program(state, context)

    async def keep(self, state: State, context: Context) -> Update:
        """The program's function, where somebody else vouches for it."""
        done = state["steps"][-1]
        return await keep(state["program"], str(done["value"]), state, context) if done["ok"] else {}

    async def restate(self, message: str, earlier: Conversation, source: Conversation | None, context: Context) -> str:
        """The model is asked only about a message that points back."""
        if not refers_back(message):
            return message
        return await restate(message, earlier, source, context)

    async def confirmed(self, text: str, state: State, context: Context) -> str:
        """The answer, unless only an instruction in a text says it."""
        return await believed(text, state, context)
