"""A model that does not answer once a limit of the run is reached."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from agent.budget import Budget
from agent.errors import StoppedError
from agent.models.protocol import Completion, Message, Model, Sampler
from agent.models.retry import PAUSE

T = TypeVar("T")


class BudgetedModel:
    """Refuses a call past the run's tokens or money, but for the last one, and ends one that outlasts its time."""

    def __init__(self, model: Model, budget: Budget) -> None:
        self._model = model
        self._budget = budget

    @property
    def name(self) -> str:
        """The model's own."""
        return self._model.name

    async def complete(self, messages: Sequence[Message], **options: Any) -> Completion:
        """Completes, within the budget."""
        return await self._within(lambda: self._model.complete(messages, **options))

    async def complete_many(self, messages: Sequence[Message], n: int, **options: Any) -> list[Completion]:
        """Gives several samples, within the budget."""
        model = self._model
        if isinstance(model, Sampler):
            return await self._within(lambda: model.complete_many(messages, n, **options))
        return [await self.complete(messages, **options) for _ in range(n)]

    async def aclose(self) -> None:
        """Closes the model."""
        await self._model.aclose()

    async def _within(self, call: Callable[[], Awaitable[T]]) -> T:
        if not self._budget.last_call and (limit := self._budget.exceeded(0)):
            raise StoppedError(f"the limit of {limit} is reached")
        before = PAUSE.set(self._budget.waiting)
        try:
            return await self._budget.within(call())
        finally:
            PAUSE.reset(before)
