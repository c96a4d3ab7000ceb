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
    """Maximum characters per reading of a file or page."""
    section: int
    """Characters per page of a file. If this exceeds `reading`, the rest of a page is only found by searching for
    words."""
    files: int
    """Total characters of the beginnings of all attached files."""
    addresses: int
    """Characters of the link addresses shown with a page. If 0, the page's forms and files are not shown either."""
    evidence: int
    """Maximum characters of evidence per search."""
    history: int
    """Maximum characters of a conversation's turns. Above this limit, older turns are summarised."""
    thoughts: int
    """Tokens for thinking, added to every output limit."""
    tools: int = 3
    """Maximum number of matching library tools to offer."""
    small_library: int = 0
    """A library with at most this many tools is offered whole. For a larger one, a line names tools that nearly fit."""


@dataclass(frozen=True, slots=True)
class NextActions:
    """The actions that the model chose for the next steps."""

    decisions: list[Decision]
    """One or more decisions, carried out in order."""
    replies: list[Reply] = field(default_factory=list)
    """The replies of a model that calls functions, including replies without a usable call."""
    plans: list[NewPlan] = field(default_factory=list)
    """Plans made before these decisions."""
    interjections: list[Interjection] = field(default_factory=list)
    """User messages that the model saw for the first time."""


class Strategy(Protocol):
    """The part of a run that depends on the kind of model."""

    limits: PromptLimits

    async def decide(self, state: State, context: Context) -> NextActions:
        """Return the coordinator's next actions.

        Raises:
            ModelOutputError: The model made no decision that can be carried out.
        """
        ...

    async def brief(self, state: State, context: Context) -> Update:
        """Return a plan before the first action; empty if no gap record fits, or the plan would cost too much."""
        return {}

    async def best_guess(self, state: State, context: Context) -> str:
        """Return the best answer from the results so far, once no further action is possible. It may be empty.

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

        The answer may also be in files that were `downloaded`.
        """
        return None

    async def operate(
        self, task: str, url: str, files: tuple[Path, ...], origins: Origins, context: Context
    ) -> BrowserOutcome:
        """Do a task on a website.

        Raises:
            WebProblem: The browser is missing or does not start, or the address may not be opened.
            ModelError: The model could not be reached, or refused.
        """
        ...

    async def program(self, state: State, context: Context) -> Update:
        """Write a program for the question and run it."""
        ...

    async def create(self, state: State, context: Context) -> Update:
        """Write a tool for the question, prove it, save it and call it."""
        ...

    async def keep(self, state: State, context: Context) -> Update:
        """Keep the run's program as a tool. This does not change the answer."""
        return {}

    async def restate(self, message: str, earlier: Conversation, context: Context) -> str | None:
        """Return a follow-up as an independent question; None if the model sees the earlier turns instead."""
        return None

    def transcript(self, state: State, context: Context) -> list[Message]:
        """Return the messages of this turn as the model saw them; empty if it does not see a conversation."""
        return []

    async def is_wanted(self, action: str, wanted: str, context: Context) -> bool:
        """Return True if the user's own words ask for an action that untrusted text may have suggested."""
        return False

    def doubt(self, text: str, why: str) -> list[Reply]:
        """Return the replies that ask for another attempt at a doubtful answer; empty to accept it."""
        return []

    async def confirmed(self, text: str, state: State, context: Context) -> str:
        """Return the answer if it is credible, possibly corrected; else an empty text."""
        return text


MESSAGE = "message"
"""Kind of journal records that hold messages the user sent during the run."""
Solve = Callable[[State, "Context"], Awaitable[State]]


@dataclass(frozen=True, slots=True)
class Context:
    """Everything that the nodes of a run need in addition to its state."""

    models: RunModels
    library: RecordedLibrary
    sandbox: Sandbox
    calls: Recorder
    """Makes and records the run's external calls. Holds the journal and the budget."""
    run_id: str
    external: ExternalTools
    consent: Consent
    python: PythonSession
    outputs: Outputs
    """Folder of the files that programs write for the user."""
    reader: RecordedFiles
    """Reads attached files and files from the web."""
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
    """Writes and remembers tests for the tools that a capable model proposes."""
    sight: Sight = field(default_factory=Sight)
    room: Room = field(default_factory=Room)
    said: list[str] = field(default_factory=list)
    """Messages that the user sent during the run and the model has not seen yet."""
    gaps: RecordedGaps | None = None
    """Finds the gap records that fit a question; None if the planner uses no records."""
    replan_steps: int = 0
    seed: int | None = None
    guard: LeakGuard | None = None
    """Checks all text from the web before it is shown; None to skip the check."""
    secrets: tuple[str, ...] = ()
    """Keys in clear text. No action may send them anywhere."""
    apart: list[str] = field(default_factory=list)
    streams: bool = False

    @property
    def journal(self) -> Journal:
        """The journal that records the run's external calls."""
        return self.calls.journal

    @property
    def budget(self) -> Budget:
        """The limits of the run, and its usage so far."""
        return self.calls.budget

    def emit(self, event: Event) -> None:
        """Report an event to the front end."""
        self.calls.emit(event)

    @property
    def on_answer(self) -> Callable[[str], None] | None:
        """Callback for each new piece of the answer's text; None if the answer is not streamed."""
        return (lambda text: self.emit(AnswerWritten(text))) if self.streams else None

    def set_apart(self, event: InstructionFound | ActionRefused) -> None:
        """Report a passage that was ignored or an action that was refused. The answer also lists it."""
        if str(event) not in self.apart:
            self.apart.append(str(event))
            self.emit(event)

    def strategy(self, role: str) -> Strategy:
        """Return the strategy for the model with a role."""
        return self.strategy_of(self.models.for_role(role).name)

    def most_steps(self, state: State) -> int:
        """Return the step limit of the run, or of a handed-over question."""
        return state.get("most_turns", self.budget.limits.steps)

    async def new_messages(self, turn: int) -> list[str]:
        """Return the messages that the user sent since the last decision, and record them."""
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
        """Send messages to the model of a role.

        Raises:
            StoppedError: A limit of the run is reached before the model answers.
            ModelError: The model could not be reached, or refused.
        """
        seed = self.seed if seed is None else seed + (self.seed or 0)
        request = Request(messages, schema, tools, "auto", max_tokens, temperature, seed, stop, on_delta)
        model = self.models.for_role(role)
        if request.max_tokens is not None and not self.budget.last_call:  # thinking also counts as output
            request = replace(request, max_tokens=request.max_tokens + self.strategy(role).limits.thoughts)
        return await model.complete(request)


_MIN_FILE_CHARS = 1_000
"""Minimum characters of a result that is saved to a file."""


def failed(state: State, context: Context, finding: str, note: str = "") -> Update:
    """Return the update for a failed step. The user sees the note, or a shortened finding."""
    context.emit(Note(one_line(note or finding, 300)))
    return {"steps": [step(state, ok=False, finding=finding)]}


def kept_whole(state: State, context: Context, text: str) -> str:
    """Save a long result to a file in the workspace and return a note with its path; empty for a short result."""
    if len(text) <= _MIN_FILE_CHARS or not context.strategy(Role.COORDINATOR).limits.addresses:
        return ""
    ending = "json" if text[0] in "[{" else "txt"
    return f"Whole: {context.workspace.keep_text(f'step_{step_number(state)}.{ending}', text)}"
