"""What a node may reach: models, library, sandbox, journal, budget, and whoever watches."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from agent.budget import Budget
from agent.errors import ModelOutputError
from agent.events import ActionRefused, AnswerWritten, Event, InstructionFound, ModelCalled, Note
from agent.external import Consent, ExternalTools, NoExternalTools
from agent.models.protocol import Completion, Message, Model, Sampler, Usage
from agent.store.journal import Journal
from agent.store.journaled import JournaledLibrary
from agent.strategy import Strategy, StrategyName, strategy_for
from mcp_tools.sandbox.protocol import Sandbox

if TYPE_CHECKING:
    from agent.approval import Approval
    from agent.python_session import PythonSession
    from agent.store.journaled_browser import JournaledBrowser
    from agent.store.journaled_files import JournaledFiles
    from agent.store.journaled_web import JournaledWeb
    from agent.web.leak_guard import LeakGuard
    from agent.workspace import Workspace
    from mcp_tools.create.examiner import Examiner


class RoleModels(Protocol):
    """The models by role."""

    def for_role(self, role: str) -> Model:
        """The model that fulfils a role."""
        ...


@dataclass(frozen=True, slots=True)
class Context:
    """The collaborators of one run; nothing of it is saved with the state."""

    models: RoleModels
    library: JournaledLibrary
    sandbox: Sandbox
    journal: Journal
    budget: Budget
    emit: Callable[[Event], None]
    run_id: str
    files: tuple[Path, ...] = ()
    external: ExternalTools = field(default_factory=NoExternalTools)
    consent: Consent | None = None
    """Asks the user about a doubtful action; None asks nobody."""
    approval: Approval | None = None
    """Decides which proved tools are kept; None keeps all."""
    python: PythonSession | None = None
    """Runs the programs that a capable model writes; None where no program runs."""
    examiner: Examiner | None = None
    """Writes tests for the tools that a capable model proposes, and remembers them."""
    reader: JournaledFiles | None = None
    """Reads the files that came with the question, and those of the web; None where nothing does."""
    workspace: Workspace | None = None
    """Keeps what was read and computed for programs; None where nothing is kept."""
    reads_pictures: bool = False
    """Whether the coordinator's model reads pictures itself."""
    sees: bool = False
    """Whether a model was named that reads pictures."""
    seed: int | None = None
    """Added to the seed of each model call."""
    guard: LeakGuard | None = None
    """Asked before anything of the web is shown; None lets everything pass."""
    web: JournaledWeb | None = None
    """Searches and reads the web; None where nothing does."""
    browser: JournaledBrowser | None = None
    """Operates sites."""
    secrets: tuple[str, ...] = ()
    """Keys in clear, which no action may carry away."""
    apart: list[str] = field(default_factory=list)
    """What was set apart so far."""
    streams: bool = False
    """Whether the front end wants to see an answer while it is written."""
    strategy_of: Callable[[str], StrategyName] = lambda _: "auto"
    """The strategy that the settings want for a model."""

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

    async def complete(self, role: str, messages: Sequence[Message], **options: Any) -> Completion:
        """Asks a role's model; the call is counted against the budget and told to the front end.

        Raises:
            StoppedError: A limit of the run is reached before the model answers.
            ModelError: The model could not be reached, or refused.
        """
        options = self._fitting(role, options)
        return (await self._counted(role, lambda model: self._one(model, messages, options)))[0]

    async def sample(self, role: str, messages: Sequence[Message], count: int, **options: Any) -> list[Completion]:
        """Asks for several independent completions of the same messages."""
        options = self._fitting(role, options)
        return await self._counted(role, lambda model: self._several(model, messages, count, options))

    async def _counted(self, role: str, ask: Callable[[Model], Awaitable[list[Completion]]]) -> list[Completion]:
        model = self.models.for_role(role)
        started = time.monotonic()
        try:
            completions = await ask(model)
        except ModelOutputError as unusable:
            self._spend(model, unusable.usage or Usage())
            raise
        usage = sum((completion.usage for completion in completions), Usage())
        self._spend(model, usage)
        self.emit(ModelCalled(role, model.name, usage, time.monotonic() - started))
        return completions

    def _spend(self, model: Model, usage: Usage) -> None:
        limited = self.budget.limits.cost is not None
        if limited and usage.cost is None and self.budget.usage.cost is not None:
            self.emit(Note(f"the price of {model.name} is unknown: the limit of cost cannot be held"))
        self.budget.spend(usage)

    async def _one(self, model: Model, messages: Sequence[Message], options: dict[str, Any]) -> list[Completion]:
        return [await model.complete(messages, **options)]

    async def _several(
        self, model: Model, messages: Sequence[Message], count: int, options: dict[str, Any]
    ) -> list[Completion]:
        if count > 1 and isinstance(model, Sampler):
            return await model.complete_many(messages, count, **options)
        return [await model.complete(messages, **options) for _ in range(count)]

    def _fitting(self, role: str, options: dict[str, Any]) -> dict[str, Any]:
        """The options as they are sent, with room to think, which counts as output.

        Only the last call, which goes beyond a limit of the run, has no such room.
        """
        if self.seed is not None:
            options = {**options, "seed": self.seed + (options.get("seed") or 0)}
        most = options.get("max_tokens")
        if most is None or self.budget.last_call:
            return options
        return {**options, "max_tokens": most + self.strategy(role).limits.thoughts}
