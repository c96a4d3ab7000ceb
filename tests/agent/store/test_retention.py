"""Which runs are kept: by number and by age, and what is never removed."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from agent.answer import Answer
from agent.configuration.settings import Settings, seconds_of
from agent.conversation import Turn
from agent.store.answer_cache import AnswerCache
from agent.store.journal import Journal
from agent.store.redact import Redactor
from agent.store.retention import prune, prune_daily
from agent.store.runs import create_run, ids_in, journal_path, new_id, save_run
from agent.store.sessions import new_session, save_session

DAY = 86_400.0


def ended_run(runs: Path, *, days: float, status: str = "answered") -> str:
    """A run that began and ended so many days ago."""
    began = time.time() - days * DAY
    run = create_run(runs, "q", model="m")
    run_id = new_id(began)
    (runs / run.run_id).rename(runs / run_id)
    run = replace(run, run_id=run_id, status=status, started=began, answer=Answer("1", "answered", run_id=run_id))
    save_run(runs, run)
    os.utime(runs / run_id / "run.json", (began, began))
    return run_id


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


def test_the_newest_stay_or_those_of_the_last_days(runs, sessions):
    old, middle, new = (ended_run(runs, days=days) for days in (100, 50, 1))
    assert prune(runs, sessions, older=40 * DAY, keep=2) == [old]
    assert prune(runs, sessions, keep=1) == [middle]
    assert [path.name for path in runs.iterdir()] == [new]
    assert prune(runs, sessions, keep=5) == []


async def test_runs_that_are_needed_stay(runs, sessions):
    interrupted = ended_run(runs, days=100, status="running")
    referred, damaged = (ended_run(runs, days=99) for _ in range(2))
    under_way = ended_run(runs, days=98)
    just_ended, unreadable, free = ended_run(runs, days=97), ended_run(runs, days=96), ended_run(runs, days=95)
    session = new_session("m")
    session.conversation.add(Turn("q", "1", referred, "answered"))
    save_session(sessions, session, Redactor())
    (sessions / f"{new_id()}.json").write_text(f'{{"turns": [{{"run_id": "{damaged}"')
    os.utime(runs / just_ended / "run.json")
    (runs / unreadable / "run.json").write_text("{")
    os.utime(runs / unreadable / "run.json", (1, 1))
    journal = Journal.create(journal_path(runs, under_way))
    assert prune(runs, sessions, older=30 * DAY) == [free]
    assert {*ids_in(runs)} == {interrupted, referred, damaged, under_way, just_ended, unreadable}
    await journal.aclose()
    assert prune(runs, sessions, older=30 * DAY) == [under_way]


def test_what_a_killed_removal_left_is_swept_and_two_at_once_remove_each_run_once(runs, sessions):
    from concurrent.futures import ThreadPoolExecutor

    left = runs / f".removed-{new_id()}"
    left.mkdir(parents=True)
    (left / "journal.jsonl").write_text("{}")
    made = [ended_run(runs, days=100 + n) for n in range(20)]
    with ThreadPoolExecutor(2) as both:
        found = list(both.map(lambda _: prune(runs, sessions, keep=0), range(2)))
    assert {*found[0], *found[1]} == set(made)
    assert list(runs.iterdir()) == []


def test_once_a_day_old_runs_and_old_answers_go(tmp_path):
    settings = Settings(runs_dir=tmp_path / "runs", data_dir=tmp_path, cache_dir=tmp_path / "cache")
    runs = settings.runs_dir
    old, new = ended_run(runs, days=91), ended_run(runs, days=89)
    cache = AnswerCache(settings.cache_dir / "answers")
    cache.put("old", (), {}, Answer("1", "answered"), {})
    [first] = (settings.cache_dir / "answers").iterdir()
    os.utime(first, (time.time() - 2 * DAY,) * 2)
    cache.put("new", (), {}, Answer("1", "answered"), {})
    assert prune_daily(settings).startswith("Removed 1 old run")
    assert prune_daily(settings) == ""
    assert ids_in(runs) == [new]
    assert not first.exists()
    assert cache.get("new", (), {}, lambda _: {}) is not None
    again = ended_run(runs, days=200)
    assert prune_daily(settings) == ""
    os.utime(settings.cache_dir / "pruned", (1, 1))
    assert "keep_runs is 1" in prune_daily(settings.model_copy(update={"keep_runs": "1"}))
    assert (old in ids_in(runs), again in ids_in(runs)) == (False, False)
    os.utime(settings.cache_dir / "pruned", (1, 1))
    assert prune_daily(settings.model_copy(update={"keep_runs": "all"})) == ""


@pytest.mark.parametrize(("text", "seconds"), [("90d", 90 * DAY), ("12h", 43_200), (" 2W ", 14 * DAY), ("5m", 300)])
def test_periods(text, seconds):
    assert seconds_of(text) == seconds
    assert Settings(keep_runs=text).keep_runs == text.strip().lower()


@pytest.mark.parametrize("text", ["", "d", "-3d", "3 years", "1.5d", "none"])
def test_what_is_no_period(text):
    for read in (seconds_of, lambda each: Settings(keep_runs=each)):
        with pytest.raises(ValueError, match="is no"):
            read(text)
