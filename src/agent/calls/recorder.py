"""Makes all external calls of a run: records them, checks limits and consent, and reports cost and events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from agent.budget import Budget
from agent.errors import ModelOutputError
from agent.events import Event
from agent.models.protocol import Usage
from agent.records import from_plain
from agent.store.journal import Journal
from mcp_tools.tool import Json

T = TypeVar("T")
CallLimit = Literal["none", "time", "model"]
"""Limits on a call. `time`: it ends when the run's time is over. `model`: it also counts against tokens and money."""


@dataclass(frozen=True, slots=True)
class Recorder:
    """Makes the external calls of a run, or returns the recorded results."""

    journal: Journal
    budget: Budget = field(default_factory=Budget)
    emit: Callable[[Event], None] = lambda _: None

    async def call(
        self,
        kind: str,
        request: dict[str, Json],
        work: Callable[[], Awaitable[T]],
        *,
        form: Any = Any,
        limit: CallLimit = "none",
        consent: Callable[[], Awaitable[T | None]] | None = None,
        cost: Callable[[T | ModelOutputError], Usage] | None = None,
        events: Callable[[T], Iterable[Event]] | None = None,
        reports_itself: bool = False,
    ) -> T:
        """Return the result of a call, new or recorded.

        The order is always the same: a recorded result is returned from the journal; else the limits of the run are
        checked, consent is asked, and the call is made and recorded. Cost and events follow in both cases.

        Args:
            kind: The journal's name for such calls.
            request: Everything that the result depends on. With `kind`, it is the key in the journal.
            work: Makes the call.
            form: Type of the result. Without a type, the result is plain JSON.
            limit: Limits of the run that end the call.
            consent: Returns None if the call may be made, else a result that says why not.
            cost: Returns the cost of a result or of an unusable reply.
            events: Returns the events of a result.
            reports_itself: True if `work` reports its cost and events, so that only a replay reports them here.

        Raises:
            AlitaError: The call failed, now or when it was recorded.
            StoppedError: A limit is reached.
            RunError: A replay made a call that is not in the journal.
        """

        async def perform() -> T:
            async with self._limited(limit):
                refused = await consent() if consent is not None else None
                return await work() if refused is None else refused

        try:
            result: T = from_plain(form, await self.journal.call(kind, request, perform))
        except ModelOutputError as unusable:
            if cost is not None and not (reports_itself and self.journal.is_live):
                self.budget.spend(cost(unusable))
            raise
        if reports_itself and self.journal.is_live:
            return result
        if cost is not None:
            self.budget.spend(cost(result))
        for event in events(result) if events is not None else ():
            self.emit(event)
        return result

    def _limited(self, limit: CallLimit) -> AbstractAsyncContextManager[None]:
        if limit == "none":
            return nullcontext()
        return self.budget.within() if limit == "time" else self.budget.asking()


def opened(caller: T | None) -> T:
    """Return the caller. It is None only in a replay, which makes no call."""
    assert caller is not None, "a call that is not recorded needs something that makes it"
    return caller
