"""What a node can use: models, library, sandbox, journal, budget, and the event listener."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.budget import Budget
from agent.conversation import text_of
from agent.errors import ModelOutputError
from agent.events import ActionRefused, AnswerWritten, Event, InstructionFound, ModelCalled, Note
from agent.material.pictures import Sight
from agent.models.protocol import Completion, Message, Model, Request, StrategyName, Usage
from agent.state import State
from agent.steps import preview
from agent.store.journal import Journal
from agent.strategy import Strategy, strategy_for
from mcp_tools.prompt import DataText
from mcp_tools.sandbox.protocol import Sandbox
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.actions.python_session import PythonSession
    from agent.consent.consent import Consent
    from agent.consent.external_tools import ExternalTools
    from agent.material.outputs import Outputs
    from agent.material.workspace import Workspace
    from agent.recorders.journaled import JournaledGaps, JournaledLibrary, RunModels
    from agent.recorders.journaled_files import JournaledFiles
    from agent.recorders.journaled_hosts import JournaledHosts
    from agent.recorders.journaled_web import JournaledBrowser, JournaledWeb
    from agent.web.leak_guard import LeakGuard
    from mcp_tools.create.interfaces import Examiner


CONVERSATION = 240_000
_LEAST = 4_000
SHORT = 400
"""Characters of a result that is shown as a preview."""


@dataclass
class Room:
    """The space that the conversation with a model may take, and what was shortened so that it fits."""

    characters: int = CONVERSATION
    """Limit of the results of this run together; beyond it the oldest are cut to a preview with their file's name."""
    one: int = 16_000
    """Limit of one result; what was read was sized when it was read."""
    folded: int = 0
    """Number of replies of this run that the summary replaces, with their results."""
    summary: str = ""
    earlier: list[list[Message]] = field(default_factory=list)
    """Messages of the earlier turns, a list for each, oldest first."""
    _is_short: bool = False
    """True once the results in `earlier` are cut to previews."""
    _has_summary: bool = False
    """True once the first of `earlier` is a summary of older turns."""

    def shrink(self) -> bool:
        """Halve both limits; False if that would leave too little to work with."""
        if self.characters // 2 < _LEAST:
            return False
        self.characters //= 2
        self.one = min(self.one, self.characters // 2)
        return True

    @property
    def earlier_size(self) -> int:
        """Characters of the earlier turns."""
        return sum(len(str(message.get("content") or "")) for turn in self.earlier for message in turn)

    def shorten_earlier(self) -> bool:
        """Cut the results of earlier turns to previews, which name the files that hold them; False if that was done."""
        if self._is_short or not self.earlier:
            return False
        self._is_short = True
        self.earlier = [[_shortened(message) for message in turn] for turn in self.earlier]
        return True

    @property
    def foldable(self) -> int:
        """Number of the oldest turns that a summary may replace; 0 if there are too few."""
        half = len(self.earlier) // 2
        if half != 1 or not self._has_summary:
            return half
        return 2 if len(self.earlier) > 2 else 0

    def fold_earlier(self, count: int, summary: DataText) -> None:
        """Replace the oldest turns by a summary."""
        told = {"role": "user", "content": f"The conversation before this, in short:\n{summary}"}
        self.earlier[:count] = [[told, {"role": "assistant", "content": "Understood."}]]
        self._has_summary = True


def _shortened(message: Message) -> Message:
    return {**message, "content": preview(text_of(message), SHORT)} if message["role"] == "tool" else message


MESSAGE = "message"
"""Journal kind of the messages that the user sent while the run worked."""
Solve = Callable[[State, "Context"], Awaitable[State]]


@dataclass(frozen=True, slots=True)
class Context:
    """The collaborators of one run; nothing of it is saved with the state."""

    models: RunModels
    library: JournaledLibrary
    sandbox: Sandbox
    journal: Journal
    budget: Budget
    emit: Callable[[Event], None]
    run_id: str
    external: ExternalTools
    consent: Consent
    python: PythonSession
    outputs: Outputs
    """Runs the programs that a capable model writes."""
    reader: JournaledFiles
    """Reads the files that came with the question, and those of the web."""
    workspace: Workspace
    solve: Solve
    """Answers a question that is handed over, on the same graph."""
    web: JournaledWeb
    browser: JournaledBrowser
    hosts: JournaledHosts
    """Carries the requests of tools and programs to the hosts that they declare."""
    files: tuple[Path, ...] = ()
    examiner: Examiner | None = None
    """Writes tests for the tools that a capable model proposes, and remembers them; made of the rest."""
    sight: Sight = field(default_factory=Sight)
    room: Room = field(default_factory=Room)
    said: list[str] = field(default_factory=list)
    """Messages that the user sent while the run works, which the model has not seen yet."""
    gaps: JournaledGaps | None = None
    """Finds the gap records that fit a question; None where the planner sees none."""
    replan_steps: int = 0
    seed: int | None = None
    guard: LeakGuard | None = None
    """Asked before anything of the web is shown; None lets everything pass."""
    secrets: tuple[str, ...] = ()
    """Keys in clear, which no action may carry away."""
    apart: list[str] = field(default_factory=list)
    streams: bool = False
    strategy_of: Callable[[str], StrategyName] = lambda _: "auto"

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
        """How the agent works with the model that fulfils a role."""
        model = self.models.for_role(role).name
        return strategy_for(model, self.strategy_of(model))

    async def new_messages(self, turn: int) -> list[str]:
        """Take the messages that the user sent since the last decision."""
        request: dict[str, Json] = {"turn": turn}
        if not self.said and not self.journal.holds(MESSAGE, request):
            return []

        async def take() -> Json:
            taken, self.said[:] = list(self.said), []
            return taken

        return list(await self.journal.call(MESSAGE, request, take))

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
        """Asks a role's model; the call is counted against the budget and told to the front end.

        Raises:
            StoppedError: A limit of the run is reached before the model answers.
            ModelError: The model could not be reached, or refused.
        """
        seed = self.seed if seed is None else seed + (self.seed or 0)
        request = Request(messages, schema, tools, "auto", max_tokens, temperature, seed, stop, on_delta)
        model = self.models.for_role(role)
        if request.max_tokens is not None and not self.budget.last_call:  # room to think counts as output, too
            request = replace(request, max_tokens=request.max_tokens + self.strategy(role).limits.thoughts)
        started = time.monotonic()
        try:
            completion = await model.complete(request)
        except ModelOutputError as unusable:
            self._spend(model, unusable.usage or Usage())
            raise
        usage = completion.usage
        self._spend(model, usage)
        self.emit(ModelCalled(role, completion.by or model.name, usage, time.monotonic() - started))
        return completion

    def _spend(self, model: Model, usage: Usage) -> None:
        limited = self.budget.limits.cost is not None
        if limited and usage.cost is None and self.budget.usage.cost is not None:
            self.emit(Note(f"the price of {model.name} is unknown, so the cost limit cannot be enforced"))
        self.budget.spend(usage)
