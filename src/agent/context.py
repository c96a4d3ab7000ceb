"""The context of a run, and the protocol of strategies."""

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
    """Characters for the beginnings of all attached files together."""
    addresses: int
    """Characters of the addresses shown with a page; with 0, its forms and files are not shown either."""
    evidence: int
    """Characters of the evidence of one search."""
    history: int
    """Characters of a conversation's turns. Beyond this, older turns are summarised."""
    thoughts: int
    """Tokens for thinking, added to every limit of output."""
    tools: int = 3
    """Number of fitting tools of the library that are offered."""
    small_library: int = 0
    """Up to this size of the library, all tools are offered. Otherwise, a line names tools that nearly fit."""


@dataclass(frozen=True, slots=True)
class NextActions:
    """The actions that the model chose for the next steps."""

    decisions: list[Decision]
    """At least one; carried out in order."""
    replies: list[Reply] = field(default_factory=list)
    """Replies of a model that calls functions, even if no call could be carried out."""
    plans: list[NewPlan] = field(default_factory=list)
    """New plans that were made before these decisions."""
    interjections: list[Interjection] = field(default_factory=list)
    """New messages of the user that the model has seen."""


class Strategy(Protocol):
    """The part of a run that depends on the kind of model."""

    limits: PromptLimits

    async def decide(self, state: State, context: Context) -> NextActions:
        """Return the coordinator's next actions.

        Raises:
            ModelOutputError: The model gave no decision that can be carried out.
        """
        ...

    async def brief(self, state: State, context: Context) -> Update:
        """Return a plan before the first action; nothing if no gap record fits, or it would cost too much."""
        return {}

    async def best_guess(self, state: State, context: Context) -> str:
        """Return the best answer from the results so far, when no further action is possible; it may be empty.

        Raises:
            ModelError: The model could not be reached, or refused.
            ModelOutputError: The model gave nothing usable.
            StoppedError: A limit of the run is reached.
        """
        ...

    async def research(self, wanted: ResearchRequest, context: Context) -> Evidence:
        """Search the web and return evidence.

        Raises:
            ModelOutputError: The model gave nothing usable.
        """
        ...

    def result_of(self, text: str, question: str, *, downloaded: bool = False) -> Json:
        """Return the result of a step that found something on the web; None unless the finding itself is the answer.

        If files were downloaded, the answer may be in them.
        """
        return None

    async def operate(
        self, task: str, url: str, files: tuple[Path, ...], origins: Origins, context: Context
    ) -> BrowserOutcome:
        """Operate a site.

        Raises:
            WebProblem: There is no browser, it does not start, or the address may not be opened.
            ModelError: The model could not be reached, or refused.
        """
        ...

    async def program(self, state: State, context: Context) -> Update:
        """Write a program for the question and run it."""
        ...

    async def create(self, state: State, context: Context) -> Update:
        """Write a tool for the question, prove it, keep it and call it."""
        ...

    async def keep(self, state: State, context: Context) -> Update:
        """Keep the run's program as a tool. The answer no longer changes."""
        return {}

    async def restate(self, message: str, earlier: Conversation, context: Context) -> str | None:
        """Return a follow-up as an independent question; None if the model gets the earlier turns instead."""
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
        """Return the answer if it can be believed, perhaps corrected; else an empty text."""
        return text


MESSAGE = "message"
"""Journal kind of the messages that the user sent while the run worked."""
Solve = Callable[[State, "Context"], Awaitable[State]]


@dataclass(frozen=True, slots=True)
class Context:
    """Everything that the nodes of one run use besides its state."""

    models: RunModels
    library: RecordedLibrary
    sandbox: Sandbox
    calls: Recorder
    """Makes the outside calls. Holds the journal and the budget."""
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
    """Runs the graph for a question that is handed over."""
    strategy_of: Callable[[str], Strategy]
    """Returns the strategy for the model with this name."""
    web: RecordedWeb
    browser: RecordedBrowser
    hosts: RecordedHosts
    """Carries the requests of tools and programs to the hosts that they declare."""
    files: tuple[Path, ...] = ()
    examiner: Examiner | None = None
    """Writes tests for the tools that a capable model proposes, and remembers them."""
    sight: Sight = field(default_factory=Sight)
    room: Room = field(default_factory=Room)
    said: list[str] = field(default_factory=list)
    """Messages that the user sent while the run works, which the model has not seen yet."""
    gaps: RecordedGaps | None = None
    """Finds the gap records that fit a question; None if the planner gets none."""
    replan_steps: int = 0
    seed: int | None = None
    guard: LeakGuard | None = None
    """Checks everything from the web before it is shown; None to skip the check."""
    secrets: tuple[str, ...] = ()
    """Keys in clear text, which no action may send anywhere."""
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
        """Receives each new piece of an answer's text; None if the answer is not streamed."""
        return (lambda text: self.emit(AnswerWritten(text))) if self.streams else None

    def set_apart(self, event: InstructionFound | ActionRefused) -> None:
        """Report a passage that was not believed or an action that was not done. The answer mentions it, too."""
        if str(event) not in self.apart:
            self.apart.append(str(event))
            self.emit(event)

    def strategy(self, role: str) -> Strategy:
        """Return the strategy for the model of a role."""
        return self.strategy_of(self.models.for_role(role).name)

    def most_steps(self, state: State) -> int:
        """Return the limit of steps of the run, or of the question that was handed over."""
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
        if request.max_tokens is not None and not self.budget.last_call:  # thinking counts as output, too
            request = replace(request, max_tokens=request.max_tokens + self.strategy(role).limits.thoughts)
        return await model.complete(request)


_MIN_FILE_CHARS = 1_000
"""A shorter result is not kept in a file."""


def failed(state: State, context: Context, finding: str, note: str = "") -> Update:
    """Return the update for a failed step; the user sees the note, or the finding in short."""
    context.emit(Note(one_line(note or finding, 300)))
    return {"steps": [step(state, ok=False, finding=finding)]}


def kept_whole(state: State, context: Context, text: str) -> str:
    """Keep a long result in a file of the workspace, and return a note with its path; empty for a short result."""
    if len(text) <= _MIN_FILE_CHARS or not context.strategy(Role.COORDINATOR).limits.addresses:
        return ""
    ending = "json" if text[0] in "[{" else "txt"
    return f"Whole: {context.workspace.keep_text(f'step_{step_number(state)}.{ending}', text)}"
