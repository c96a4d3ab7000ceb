"""What the runs of a period came to."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from pathlib import Path

from agent.answer import Answer
from agent.errors import ModelRefusedError
from agent.models.protocol import Usage
from agent.store.answer_cache import hits_since, note_hit
from agent.store.journal import Journal
from agent.store.runs import create_run, journal_path, new_id, save_run
from agent.traces.statistics import rows_of, statistics_of


async def ended(runs: Path, status: str, cost: float | None, seconds: float, *, days: int = 0, calls: int = 0) -> None:
    run = create_run(runs, "q", model="m")
    journal = Journal.create(journal_path(runs, run.run_id))
    for number in range(calls):

        async def perform(nth: int = number) -> object:
            if nth == 0:
                raise ModelRefusedError("no")
            return {"problem": None, "text": "{}"} if nth < 3 else {"outcome": {"problem": {"kind": "error"}}}

        with contextlib.suppress(ModelRefusedError):
            await journal.call("model" if number < 3 else "session", {"n": number}, perform)
    await journal.aclose()
    usage = Usage(100, 10, 50, calls=2, cost=cost)
    answer = Answer("1", status, usage=usage, seconds=seconds, tools_used=("nth_prime",), tools_created=("a", "b"))
    save_run(runs, replace(run, status=status, answer=answer))
    if days:
        older = time.strftime("%y%m%d-%H%M%S", time.gmtime(time.time() - days * 86_400)) + run.run_id[13:]
        (runs / run.run_id).rename(runs / older)


async def test_a_period(tmp_path):
    runs = tmp_path / "runs"
    await ended(runs, "answered", 0.5, 1.0, calls=4)
    await ended(runs, "answered", None, 3.0)
    await ended(runs, "failed", 0.25, 9.0)
    await ended(runs, "answered", 100.0, 100.0, days=10)
    (runs / new_id()).mkdir()
    create_run(runs, "killed before its answer", model="m")
    yesterday = time.time() - 86_400
    scores = {"260101-000000-aaaa": False, time.strftime("%y%m%d-%H%M%S-bbbb", time.gmtime()): True}
    found = statistics_of(runs, since=yesterday, scores=scores, cache_hits=7)
    assert (found["questions"], found["unreadable"], found["cache_hits"]) == (4, 1, 7)
    assert found["statuses"] == {"answered": 2, "failed": 1, "interrupted": 1}
    assert (found["usage"]["calls"], found["cost"], found["priced"]) == (6, 0.75, 2)
    assert (found["tools_used"], found["tools_created"]) == ({"nth_prime": 3}, 6)
    assert (found["calls"], found["failed"]) == ({"model": 3, "session": 1}, {"model": 1, "session": 1})
    assert (found["median_seconds"], found["p95_seconds"]) == (3.0, 9.0)
    assert (found["accuracy"], found["right"]) == (1.0, 1)
    rows = dict(rows_of(found))
    assert rows["questions"] == "4: 2 answered, 1 failed, 1 interrupted"
    assert rows["cost"] == "$0.7500 for 2 questions; price of 2 unknown"
    assert rows["model calls failed"] == "1 of 3 (33.3%)"
    assert statistics_of(runs, since=None, scores={}, cache_hits=0)["questions"] == 5


async def test_what_is_not_known_is_not_zero(tmp_path):
    runs = tmp_path / "runs"
    nothing = statistics_of(runs, since=None, scores={}, cache_hits=0)
    assert {nothing[name] for name in ("cost", "median_seconds", "accuracy")} == {None}
    assert dict(rows_of(nothing))["questions"] == "0"
    await ended(runs, "answered", None, 1.0)
    rows = dict(rows_of(statistics_of(runs, since=None, scores={}, cache_hits=0)))
    assert rows["cost"] == "unknown"
    assert rows["accuracy"].startswith("unknown")


def test_hits_are_counted_by_their_time(tmp_path):
    path = tmp_path / "data" / "cache-hits"
    assert hits_since(path, 0) == 0
    note_hit(path)
    note_hit(path)
    with path.open("ab") as file:
        file.write(b"100\nodd\n")
    assert (hits_since(path, 0), hits_since(path, time.time() - 60), path.stat().st_mode & 0o777) == (3, 2, 0o600)
