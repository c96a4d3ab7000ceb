"""Several models for one role: when one fails, the next is asked, and remembered."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from agent.errors import ModelAuthError, ModelBusyError, ModelError, ModelUnknownError, ModelUnreachableError
from agent.models.protocol import Completion, Model, Request
from agent.models.retry import Notify

T = TypeVar("T")

_FOR_GOOD = (ModelAuthError, ModelUnknownError)
_FOR_A_WHILE = (ModelBusyError, ModelUnreachableError)
_A_WHILE = 60.0


class FallbackModel:
    """Asks the first model that works.

    A model whose key or name is refused is not asked again; one that is busy or unreachable rests for a minute.
    A refused request (too long, filtered) moves only this call to the next model.

    Args:
        models: In order of preference.
        notify: Told why another model is asked.
        clock: Gives the time in seconds.
    """

    def __init__(
        self,
        models: Sequence[Model],
        *,
        notify: Notify | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not models:
            raise ValueError("a fallback list needs at least one model")
        self._models = list(models)
        self._rests_until = [0.0] * len(models)
        self._notify = notify
        self._clock = clock

    @property
    def name(self) -> str:
        """The name of the model that is asked first now."""
        return self._models[self._order()[0]].name

    async def complete(self, request: Request) -> Completion:
        """Completes messages; see `agent.models.protocol.Model`."""
        return await self._first(lambda model: model.complete(request))

    async def aclose(self) -> None:
        """Closes every model."""
        for model in self._models:
            await model.aclose()

    def _order(self) -> list[int]:
        """The models that do not rest; all of them, the soonest first, if every one does."""
        now = self._clock()
        awake = [i for i, until in enumerate(self._rests_until) if until <= now]
        return awake or sorted(range(len(self._models)), key=self._rests_until.__getitem__)

    async def _first(self, ask: Callable[[Model], Awaitable[T]]) -> T:
        """What the first model gives that does not fail; the first failure is raised if all do."""
        order = self._order()
        failures: list[ModelError] = []
        for place, i in enumerate(order):
            try:
                return await ask(self._models[i])
            except ModelError as failure:
                failures.append(failure)
                self._rest(i, failure)
                if self._notify and place + 1 < len(order):
                    following = self._models[order[place + 1]].name
                    self._notify(f"{failure.message}; asking {following} instead")
        first = failures[0]
        others = "; ".join(failure.message for failure in failures[1:])
        if not others:
            raise first
        raise type(first)(f"{first.message}; and then {others}", remedy=first.remedy) from None

    def _rest(self, i: int, failure: ModelError) -> None:
        if isinstance(failure, _FOR_GOOD):
            self._rests_until[i] = float("inf")
        elif isinstance(failure, _FOR_A_WHILE):
            self._rests_until[i] = self._clock() + _A_WHILE
