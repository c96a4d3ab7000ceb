"""How the agent works with a model: one strategy for capable models, another for small ones.

A role's strategy is chosen once, by the model that fulfils it. Nodes call its methods and never ask what kind of model
they work with.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agent.errors import UsageError
from agent.models.protocol import EMBEDDED, Role, StrategyName
from agent.state import Decision, State
from mcp_tools.create.question_template import arguments_for
from mcp_tools.library.arguments import surely_fits

if TYPE_CHECKING:
    from agent.browser.tasks import BrowserOutcome
    from agent.configuration.settings import Settings
    from agent.consent.origins import Origins
    from agent.context import Context
    from agent.conversation import Conversation
    from agent.material.research import Wanted
    from agent.models.protocol import Message
    from agent.state import Decision, Interjection, NewPlan, Reply, State
    from agent.web.evidence import Evidence
    from mcp_tools.tool import Json


Update = dict[str, Any]
"""What a node adds to the state."""


@dataclass(frozen=True, slots=True)
class PromptLimits:
    """How much a prompt shows, and how much a model may write."""

    reading: int
    """Characters of one reading of a file or a page."""
    section: int
    """Characters of a page of a file; with more than `reading`, the rest of a page is only found by its words."""
    files: int
    """Characters of how the attached files begin, all together."""
    addresses: int
    """Characters of the addresses shown with a page; with none, its forms and files are not shown either."""
    evidence: int
    """Characters of what one search found."""
    history: int
    """Characters of a conversation's turns; beyond, the older turns are summarised."""
    thoughts: int
    """Tokens for thinking, added to every limit of output."""
    tools: int = 3
    """Tools of the library that fit a question and are offered."""
    small_library: int = 0
    """The most tools of a library that are all offered. Of a larger one, a line tells of those that nearly fit."""


@dataclass(frozen=True, slots=True)
class NextActions:
    """What is done next."""

    decisions: list[Decision]
    """At least one; they are carried out one after the other."""
    replies: list[Reply] = field(default_factory=list)
    """What a model that calls functions wrote meanwhile, also where nothing of it could be carried out."""
    plans: list[NewPlan] = field(default_factory=list)
    """A new plan that was made before."""
    interjections: list[Interjection] = field(default_factory=list)
    """What the user said meanwhile, and the model has seen."""


class Strategy(Protocol):
    """What depends on the kind of model."""

    limits: PromptLimits

    async def decide(self, state: State, context: Context) -> NextActions:
        """The coordinator's next actions.

        Raises:
            ModelOutputError: The model gave no decision that can be carried out.
        """
        ...

    async def brief(self, state: State, context: Context) -> Update:
        """What is planned before anything is done; nothing where no gap record fits, or it would cost too much."""
        return {}

    async def best_guess(self, state: State, context: Context) -> str:
        """The best answer to what is known so far, where no further action is possible; it may be empty.

        Raises:
            ModelError: The model could not be reached, or refused.
            ModelOutputError: The model gave nothing usable.
            StoppedError: A limit of the run is reached.
        """
        ...

    async def research(self, wanted: Wanted, context: Context) -> Evidence:
        """What the web says; the coordinator's part of a search.

        Raises:
            ModelOutputError: The model gave nothing usable.
        """
        ...

    def result_of(self, text: str, question: str, *, downloaded: bool = False) -> Json:
        """The result of a step that found something on the web: None unless the finding itself is the answer.

        Where files were downloaded with it, the answer may be in these.
        """
        return None

    async def operate(
        self, task: str, url: str, files: tuple[Path, ...], origins: Origins, context: Context
    ) -> BrowserOutcome:
        """Operates a site.

        Raises:
            WebProblem: There is no browser, it does not start, or the address may not be opened.
            ModelError: The model could not be reached, or refused.
        """
        ...

    async def program(self, state: State, context: Context) -> Update:
        """Writes a program for the question and runs it."""
        ...

    async def create(self, state: State, context: Context) -> Update:
        """Writes a tool for the question, proves it, keeps it and calls it."""
        ...

    async def keep(self, state: State, context: Context) -> Update:
        """Keeps as a tool what the run's program computes. The answer is there: nothing here changes it."""
        return {}

    async def restate(self, message: str, earlier: Conversation, context: Context) -> str | None:
        """Return a follow-up as a question that stands alone; None if the model is sent the earlier turns instead."""
        return None

    def transcript(self, state: State, context: Context) -> list[Message]:
        """Return the messages of this turn as the model saw them; none if it does not see a conversation."""
        return []

    async def is_wanted(self, action: str, wanted: str, context: Context) -> bool:
        """Whether the user's own words ask for an action that foreign text may have suggested; else they decide."""
        return False

    def doubt(self, text: str, why: str) -> list[Reply]:
        """What hands a doubtful answer back for another attempt; empty where it stands."""
        return []

    async def confirmed(self, text: str, state: State, context: Context) -> str:
        """The answer as it may be believed; empty where it may not."""
        return text


WRAPPING = "make a tool around a package"


def require_large(settings: Settings, what: str) -> None:
    """Refuse what a small model cannot do.

    Raises:
        UsageError: The model that would decide is small.
    """
    model = settings.models_for(Role.COORDINATOR)[0]
    if is_small(model, settings.strategy_of(model)):
        raise UsageError(f"{model} cannot {what}.", remedy="Choose a larger model: -m NAME")


def is_small(model: str, wanted: StrategyName) -> bool:
    """Whether a model works with the small strategy."""
    return wanted == "small" or (wanted == "auto" and model == EMBEDDED)


def strategy_for(model: str, wanted: StrategyName = "auto") -> Strategy:
    """The strategy for a model, by its name and by what the settings say."""
    if is_small(model, wanted):
        from agent.small.small import Small

        return Small()
    from agent.standard.standard import Standard

    return Standard()


def asked_before(state: State) -> Decision | None:
    """The call of a tool that was made for the same question with other values, or for this very one."""
    if state.get("files") or state.get("folder"):
        return None
    for tool in state["tools"]:
        arguments = arguments_for(state["question"], tool.get("asked"))
        if arguments is not None and surely_fits(arguments, tool["inputSchema"]):
            final = tool["asked"].get("final", "{}")
            return Decision("use_tool", "Asked before with other values.", tool["name"], arguments, final=final)
    return None
