"""What the runs of a period came to."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

from agent.answer import Answer
from agent.models.protocol import Usage
from agent.store.runs import create_run, new_id, save_run
from agent.traces.statistics import Statistics, statistics_of


async def ended(runs: Path, status: str, cost: float | None, seconds: float, *, days: int = 0) -> None:
    run = create_run(runs, "q", model="m")
    usage = Usage(100, 10, 50, calls=2, cost=cost)
    answer = Answer("1", status, usage=usage, seconds=seconds, tools_used=("nth_prime",), tools_created=("a", "b"))
    save_run(runs, replace(run, status=status, answer=answer))
    if days:
        older = time.strftime("%y%m%d-%H%M%S", time.gmtime(time.time() - days * 86_400)) + run.run_id[13:]
        (runs / run.run_id).rename(runs / older)


def told(found: Statistics) -> dict[str, str]:
    return dict(found.rows)


async def test_a_period(tmp_path):
    runs = tmp_path / "runs"
    await ended(runs, "answered", 0.5, 1.0)
    await ended(runs, "answered", None, 3.0)
    await ended(runs, "failed", 0.25, 9.0)
    await ended(runs, "answered", 100.0, 100.0, days=10)
    (runs / new_id()).mkdir()
    create_run(runs, "killed before its answer", model="m")
    yesterday = time.time() - 86_400
    found = statistics_of(runs, since=yesterday)
    assert found.questions == 4
    assert found.statuses == {"answered": 2, "failed": 1, "interrupted": 1}
    assert (found.usage.calls, found.usage.cost, found.cost, found.priced) == (6, None, 0.75, 2)
    assert (found.tools_used, found.tools_created, found.median_seconds) == ({"nth_prime": 3}, 6, 3.0)
    rows = told(found)
    assert rows["questions"] == "4: 2 answered, 1 failed, 1 interrupted"
    assert rows["cost"] == "$0.7500, $0.3750 per question (price not known of 2 of 4)"
    assert statistics_of(runs).questions == 5


async def test_what_is_not_known_is_not_zero(tmp_path):
    runs = tmp_path / "runs"
    nothing = statistics_of(runs)
    assert (nothing.cost, nothing.median_seconds) == (None, None)
    assert told(nothing)["questions"] == "0"
    await ended(runs, "answered", None, 1.0)
    assert told(statistics_of(runs))["cost"] == "not known"
