"""Each limit of a run is reached exactly when it is used up."""

from __future__ import annotations

import asyncio
import time

import pytest

from agent.budget import Budget, RunLimits
from agent.errors import StoppedError
from agent.models.protocol import Usage

CASES = {
    "nothing used": (RunLimits(), Usage(), 0, None),
    "steps left": (RunLimits(steps=3), Usage(), 2, None),
    "steps used": (RunLimits(steps=3), Usage(), 3, "steps"),
    "no step allowed": (RunLimits(steps=0), Usage(), 0, "steps"),
    "tokens left": (RunLimits(tokens=100), Usage(60, 39), 0, None),
    "tokens of both kinds": (RunLimits(tokens=100), Usage(60, 40), 0, "tokens"),
    "money left": (RunLimits(cost=0.5), Usage(cost=0.49), 0, None),
    "money used": (RunLimits(cost=0.5), Usage(cost=0.5), 0, "cost"),
    "no money, and a free model": (RunLimits(cost=0), Usage(9, 9, cost=0.0), 0, None),
    "no money, and a paid model": (RunLimits(cost=0), Usage(9, 9, cost=0.01), 0, "cost"),
    "unknown price": (RunLimits(cost=0.5), Usage(10**6, 10**6, cost=None), 0, None),
    "no time": (RunLimits(seconds=0), Usage(), 0, "seconds"),
    "time left": (RunLimits(seconds=60), Usage(), 0, None),
}


@pytest.mark.parametrize(("limits", "usage", "steps", "limit"), CASES.values(), ids=CASES.keys())
def test_limits(limits: RunLimits, usage: Usage, steps: int, limit: str | None) -> None:
    budget = Budget(limits)
    budget.spend(usage)
    assert budget.exceeded(steps) == limit


def test_usage_adds_up() -> None:
    budget = Budget(RunLimits(tokens=10))
    for _ in range(3):
        budget.spend(Usage(2, 1, calls=1))
    assert budget.exceeded(0) is None
    budget.spend(Usage(0, 1, calls=1))
    assert budget.exceeded(0) == "tokens"
    assert budget.usage.calls == 4


def test_time_runs_out_and_is_never_negative() -> None:
    budget = Budget(RunLimits(seconds=5), started=time.monotonic() - 6)
    assert budget.seconds_left == 0.0
    assert budget.exceeded(0) == "seconds"
    assert Budget(RunLimits()).seconds_left is None


def test_a_replay_ends_where_the_run_ended() -> None:
    budget = Budget(RunLimits(steps=1), ended=("cost", 4))
    assert budget.exceeded(1, 3) is None
    assert budget.exceeded(1, 4) == "cost"


async def test_waiting_stops_the_clock_and_moves_the_deadline() -> None:
    budget = Budget(RunLimits(seconds=1.0))
    async with budget.within():
        with budget.waiting():
            await asyncio.sleep(1.2)
        assert budget.seconds < 0.5
        await asyncio.sleep(0.2)
    assert 1.2 <= budget.waited < 3

    with pytest.raises(StoppedError):
        async with budget.within():
            await asyncio.sleep(5)
    assert budget.seconds < 1.5


async def test_what_stands_still_is_neither_work_nor_waiting() -> None:
    budget = Budget(RunLimits())
    with budget.standing_still():
        await asyncio.sleep(0.6)
        assert budget.seconds < 0.5  # whoever looks meanwhile must not take it for a question that hangs
    assert budget.seconds < 0.5
    assert budget.waited == 0.0


async def test_pauses_that_overlap_count_once() -> None:
    budget = Budget(RunLimits(seconds=1.0))

    async def pause(begins: float, ends: float, *, waits: bool) -> None:
        await asyncio.sleep(begins)
        with budget.waiting() if waits else budget.standing_still():
            await asyncio.sleep(ends - begins)

    async with budget.within():
        await asyncio.gather(
            pause(0, 0.8, waits=True), pause(0.4, 1.0, waits=True), pause(0.6, 1.3, waits=False), asyncio.sleep(1.6)
        )
    assert 1.0 <= budget.waited < 1.4
    assert 0.2 <= budget.seconds < 1.0
