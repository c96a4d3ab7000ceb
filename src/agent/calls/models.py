"""The models of a run. Their completions are recorded and replayed, and count against the budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from functools import cache
from typing import Any

from agent.calls.recorder import Recorder, opened
from agent.errors import ModelOutputError
from agent.events import Event, ModelCalled, Note
from agent.material.picture_messages import with_pictures
from agent.models.protocol import Completion, Model, Request, Usage
from agent.models.roles import Models
from agent.records import as_plain
from mcp_tools.tool import Json


class RecordedModel:
    """A model of a run. For a replay, `model` is None."""

    def __init__(self, model: Model | None, calls: Recorder, *, name: str = "", role: str = "") -> None:
        self._model = model
        self._calls = calls
        self._role = role
        self._wanted = name or (model.name if model else "")
        self._answering = self._wanted

    @property
    def name(self) -> str:
        """Name of the model that answered last, which may be a fallback. A replay gives the same name."""
        return self._answering

    async def complete(self, request: Request) -> Completion:
        """Return a completion. If it was recorded, `on_delta` gets its text in one piece."""
        started = time.monotonic()

        async def ask() -> Json:
            model = opened(self._model)
            completion = await model.complete(with_pictures(request))
            return {**as_plain(completion), "by": completion.by or model.name, "role": self._role}

        def cost(reply: Completion | ModelOutputError) -> Usage:
            self._answering = (reply.by if isinstance(reply, Completion) else "") or self._answering
            usage, budget = reply.usage or Usage(), self._calls.budget
            if budget.limits.cost is not None and usage.cost is None and budget.usage.cost is not None:
                self._calls.emit(Note(f"the price of {self.name} is unknown, so the cost limit cannot be enforced"))
            return usage

        def events(completion: Completion) -> Iterator[Event]:
            if request.on_delta is not None and not self._calls.journal.is_live:
                request.on_delta(completion.text)
            yield ModelCalled(self._role, self.name, completion.usage, time.monotonic() - started)

        return await self._calls.call(
            "model", self._key(request), ask, form=Completion, limit="model", cost=cost, events=events
        )

    def _key(self, request: Request) -> dict[str, Any]:
        """Return the fields that identify a recorded call: all except the listener and default values."""
        given = {field.name: getattr(request, field.name) for field in fields(request) if field.name != "on_delta"}
        key = {name: value for name, value in given.items() if value is not None and value != "auto"}
        return {"model": self._wanted, **key}

    async def aclose(self) -> None:
        """Close the model, not the journal."""
        if self._model is not None:
            await self._model.aclose()


class RunModels:
    """The models of one run by role. For a replay, `models` is None."""

    def __init__(self, models: Models | None, names: Callable[[str], Sequence[str]], calls: Recorder) -> None:
        def recorded(role: str) -> Model:
            model = models.for_role(role) if models is not None else None
            return RecordedModel(model, calls, name=names(role)[0], role=role)

        self.for_role = cache(recorded)
