"""The collaborators of a run, and the protocol of strategies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agent.budget import Budget
from agent.calls.recorder import Recorder
from agent.conversation import Room
from agent.events import ActionRefused, AnswerWritten, Event, InstructionFound, Note
from agent.material.picture_messages import Sight
from agent.models.protocol import Completion, Message, Request, Role
from agent.state import Decision, Interjection, NewPlan, Reply, State
from agent.steps import step, step_number
from agent.store.journal import Journal
from mcp_tools.sandbox.protocol import Sandbox
from mcp_tools.text import one_line
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.browser.tasks import BrowserOutcome
    from agent.calls.external_tools import ExternalTools
    from agent.calls.files import RecordedFiles
    from agent.calls.host_requests import RecordedHosts
    from agent.calls.library import RecordedGaps, RecordedLibrary
    from agent.calls.models import RunModels
    from agent.calls.python_session import PythonSession
    from agent.calls.web_access import RecordedBrowser, RecordedWeb
    from agent.consent.consent import Consent
    from agent.consent.text_origins import Origins
    from agent.conversation import Conversation
    from agent.material.outputs import Outputs
    from agent.material.research_request import ResearchRequest
    from agent.material.workspace import Workspace
    from agent.web.evidence import Evidence
    from agent.web.leak_guard import LeakGuard
    from mcp_tools.create.interfaces import Examiner


Update = dict[str, Any]
"""A node's addition to the state."""


@dataclass(frozen=True, slots=True)
class PromptLimits:
    """Limits of prompts and replies."""

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
    """The most tools of a library that are all offered. For a larger one, a line names tools that nearly fit."""


@dataclass(frozen=True, slots=True)
class NextActions:
    """The next actions."""

    decisions: list[Decision]
    """At least one; they are carried out one after the other."""
    replies: list[Reply] = field(default_factory=list)
    """Replies of a model that calls functions, even if no call could be carried out."""
    plans: list[NewPlan] = field(default_factory=list)
    """A new plan that was made before."""
    interjections: list[Interjection] = field(default_factory=list)
    """New messages of the user that the model has seen."""


class Strategy(Protocol):
    """The part of a run that depends on the kind of model."""

    limits: PromptLimits

    async def decide(self, state: State, context: Context) -> NextActions:
        """The coordinator's next actions.

        Raises:
            ModelOutputError: The model gave no decision that can be carried out.
        """
        ...

    async def brief(self, state: State, context: Context) -> Update:
        """Return a plan before the first action; nothing if no gap record fits, or it would cost too much."""
        return {}

    async def best_guess(self, state: State, context: Context) -> str:
        """The best answer to what is known so far, where no further action is possible; it may be empty.

        Raises:
            ModelError: The model could not be reached, or refused.
            ModelOutputError: The model gave nothing usable.
            StoppedError: A limit of the run is reached.
        """
        ...

    async def research(self, wanted: ResearchRequest, context: Context) -> Evidence:
        """Search the web; the coordinator's part of a search.

        Raises:
            ModelOutputError: The model gave nothing usable.
        """
        ...

    def result_of(self, text: str, question: str, *, downloaded: bool = False) -> Json:
        """The result of a step that found something on the web: None unless the finding itself is the answer.

        If files were downloaded, the answer may be in them.
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
        """Return True if the user's own words ask for an action that foreign text may have suggested."""
        return False

    def doubt(self, text: str, why: str) -> list[Reply]:
        """Return the replies that ask for another attempt at a doubtful answer; empty to accept it."""
        return []

    async def confirmed(self, text: str, state: State, context: Context) -> str:
        """The answer as it may be believed; empty where it may not."""
        return text


MESSAGE = "message"
"""Journal kind of the messages that the user sent while the run worked."""
Solve = Callable[[State, "Context"], Awaitable[State]]


@dataclass(frozen=True, slots=True)
class Context:
    """The collaborators of one run; they are not saved with the state."""

    models: RunModels
    library: RecordedLibrary
    sandbox: Sandbox
    calls: Recorder
    """Makes the outside calls; holds the journal and the budget."""
    run_id: str
    external: ExternalTools
    consent: Consent
    python: PythonSession
    outputs: Outputs
    """Runs the programs that a capable model writes."""
    reader: RecordedFiles
    """Reads attached files and files of the web."""
    workspace: Workspace
    solve: Solve
    """Answers a question that is handed over, on the same graph."""
    strategy_of: Callable[[str], Strategy]
    """Returns the strategy for a model of this name, chosen when the run began."""
    web: RecordedWeb
    browser: RecordedBrowser
    hosts: RecordedHosts
    """Carries the requests of tools and programs to the hosts that they declare."""
    files: tuple[Path, ...] = ()
    examiner: Examiner | None = None
    """Writes tests for the tools that a capable model proposes, and remembers them; made of the rest."""
    sight: Sight = field(default_factory=Sight)
    room: Room = field(default_factory=Room)
    said: list[str] = field(default_factory=list)
    """Messages that the user sent while the run works, which the model has not seen yet."""
    gaps: RecordedGaps | None = None
    """Finds the gap records that fit a question; None where the planner sees none."""
    replan_steps: int = 0
    seed: int | None = None
    guard: LeakGuard | None = None
    """Asked before anything of the web is shown; None lets everything pass."""
    secrets: tuple[str, ...] = ()
    """Keys in clear, which no action may carry away."""
    apart: list[str] = field(default_factory=list)
    streams: bool = False

    @property
    def journal(self) -> Journal:
        """The journal of the run."""
        return self.calls.journal

    @property
    def budget(self) -> Budget:
        """The limits of the run, and its use so far."""
        return self.calls.budget

    def emit(self, event: Event) -> None:
        """Report an event to the front end."""
        self.calls.emit(event)

    @property
    def on_answer(self) -> Callable[[str], None] | None:
        """Takes each further piece of an answer's text; None where nobody wants to see it grow."""
        return (lambda text: self.emit(AnswerWritten(text))) if self.streams else None

    def set_apart(self, event: InstructionFound | ActionRefused) -> None:
        """Tells of something that was not believed, or not done; the answer will say so, too."""
        if str(event) not in self.apart:
            self.apart.append(str(event))
            self.emit(event)

    def strategy(self, role: str) -> Strategy:
        """Return the strategy for the model of a role."""
        return self.strategy_of(self.models.for_role(role).name)

    def most_steps(self, state: State) -> int:
        """Return the limit of steps: the run's, or what it leaves to a question that it hands over."""
        return state.get("most_turns", self.budget.limits.steps)

    async def new_messages(self, turn: int) -> list[str]:
        """Take the messages that the user sent since the last decision."""
        request: dict[str, Json] = {"turn": turn}
        if not self.said and not self.journal.holds(MESSAGE, request):
            return []

        async def take() -> list[str]:
            taken, self.said[:] = list(self.said), []
            return taken

        return await self.calls.call(MESSAGE, request, take)

    async def complete(
        self,
        role: str,
        messages: Sequence[Message],
        *,
        schema: dict[str, Any] | None = None,
        tools: Sequence[dict[str, Any]] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        stop: Sequence[str] | None = None,
        on_delta: Callable[[str], None] | None = None,
    ) -> Completion:
        """Ask a role's model.

        Raises:
            StoppedError: A limit of the run is reached before the model answers.
            ModelError: The model could not be reached, or refused.
        """
        seed = self.seed if seed is None else seed + (self.seed or 0)
        request = Request(messages, schema, tools, "auto", max_tokens, temperature, seed, stop, on_delta)
        model = self.models.for_role(role)
        if request.max_tokens is not None and not self.budget.last_call:  # room to think counts as output, too
            request = replace(request, max_tokens=request.max_tokens + self.strategy(role).limits.thoughts)
        return await model.complete(request)


_MIN_FILE_CHARS = 1_000
"""A shorter result is kept in no file."""


def failed(state: State, context: Context, finding: str, note: str = "") -> Update:
    """Return the update for a failed step; the user sees the note, or the finding in short."""
    context.emit(Note(one_line(note or finding, 300)))
    return {"steps": [step(state, ok=False, finding=finding)]}


def kept_whole(state: State, context: Context, text: str) -> str:
    """A note with the file of the workspace in which a longer result is kept; empty for one that is short."""
    if len(text) <= _MIN_FILE_CHARS or not context.strategy(Role.COORDINATOR).limits.addresses:
        return ""
    ending = "json" if text[0] in "[{" else "txt"
    return f"Whole: {context.workspace.keep_text(f'step_{step_number(state)}.{ending}', text)}"
