"""Several models for one role: when one fails, the next is asked, and remembered."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from agent.errors import ModelAuthError, ModelBusyError, ModelError, ModelUnknownError, ModelUnreachableError
from agent.models.protocol import Completion, Message, Model, Sampler, ToolChoice
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

    async def complete(
        self,
        messages: Sequence[Message],
        *,
        schema: dict[str, Any] | None = None,
        tools: Sequence[dict[str, Any]] | None = None,
        tool_choice: ToolChoice = "auto",
        max_tokens: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
        stop: Sequence[str] | None = None,
        on_delta: Callable[[str], None] | None = None,
    ) -> Completion:
        """Completes messages; see `agent.models.protocol.Model`."""
        return await self._first(
            lambda model: model.complete(
                messages,
                schema=schema,
                tools=tools,
                tool_choice=tool_choice,
                max_tokens=max_tokens,
                temperature=temperature,
                seed=seed,
                stop=stop,
                on_delta=on_delta,
            )
        )

    async def complete_many(
        self,
        messages: Sequence[Message],
        n: int,
        *,
        temperature: float | None = None,
        seed: int | None = None,
        max_tokens: int | None = None,
        stop: Sequence[str] | None = None,
    ) -> list[Completion]:
        """Gives `n` samples; see `agent.models.protocol.Sampler`."""

        async def sample(model: Model) -> list[Completion]:
            options: dict[str, Any] = {"temperature": temperature, "max_tokens": max_tokens, "stop": stop}
            if isinstance(model, Sampler):
                return await model.complete_many(messages, n, seed=seed, **options)
            seeds = [None if seed is None else seed + i for i in range(n)]
            return [await model.complete(messages, seed=each, **options) for each in seeds]

        return await self._first(sample)

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
