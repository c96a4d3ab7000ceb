"""A model that does not answer once a limit of the run is reached."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from agent.budget import Budget
from agent.errors import StoppedError
from agent.models.protocol import Completion, Model, Request
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

    async def complete(self, request: Request) -> Completion:
        """Completes, within the budget."""
        return await self._within(lambda: self._model.complete(request))

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
