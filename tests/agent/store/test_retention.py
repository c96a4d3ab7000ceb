"""Which runs are kept: by number and by age, and what is never removed."""

from __future__ import annotations

import errno
import os
import tarfile
import time
from dataclasses import replace
from pathlib import Path

import pytest

from agent.answer import Answer
from agent.configuration.settings import Settings, seconds_of, start_of
from agent.configuration.settings_sources import read_settings
from agent.conversation import Turn
from agent.errors import RunError, StorageError
from agent.store.answer_cache import AnswerCache
from agent.store.databases import open_store
from agent.store.journal import Journal
from agent.store.redact import Redactor
from agent.store.retention import describe_removal, export, prune, prune_daily
from agent.store.runs import create_run, ids_in, journal_path, new_id, save_run
from agent.store.sessions import new_session, save_session

DAY = 86_400.0


def ended_run(runs: Path, *, days: float, status: str = "answered", parent: str | None = None) -> str:
    """A run that began and ended this many days ago."""
    began = time.time() - days * DAY
    run = create_run(runs, "q", model="m", parent=parent)
    run_id = new_id(began)
    (runs / run.run_id).rename(runs / run_id)
    run = replace(run, run_id=run_id, status=status, started=began, answer=Answer("1", "answered", run_id=run_id))
    save_run(runs, run)
    os.utime(runs / run_id / "run.json", (began, began))
    return run_id


@pytest.fixture
def kept() -> Settings:
    return read_settings({})


@pytest.fixture
def runs(kept: Settings) -> Path:
    return kept.runs_dir


def test_the_newest_stay_or_those_of_the_last_days(runs, kept):
    old, middle, new = (ended_run(runs, days=days) for days in (100, 50, 1))
    assert prune(kept, keep=1, dry_run=True).removed == (old, middle)
    assert prune(kept, older=40 * DAY, keep=2, dry_run=True).removed == (old,)
    found = prune(kept, older=40 * DAY)
    assert (found.removed, found.kept, found.is_whole) == ((old, middle), {}, True)
    assert found.size > 0
    assert describe_removal(found).startswith("Removed 2 runs from ")
    assert [path.name for path in runs.iterdir()] == [new]
    assert prune(kept, keep=5) == replace(found, removed=(), size=0)


async def test_runs_that_are_needed_stay(runs, kept):
    interrupted = ended_run(runs, days=100, status="running")
    referred, damaged, parent = (ended_run(runs, days=99) for _ in range(3))
    fork, under_way = ended_run(runs, days=1, parent=parent), ended_run(runs, days=98)
    just_ended, unreadable, free = ended_run(runs, days=97), ended_run(runs, days=96), ended_run(runs, days=95)
    session = new_session("m")
    session.conversation.add(Turn("q", "1", referred, "answered"))
    save_session(kept, session, Redactor())
    kept.sessions_dir.mkdir()
    (kept.sessions_dir / f"{new_id()}.json").write_text(f'{{"turns": [{{"run_id": "{damaged}"')
    os.utime(runs / just_ended / "run.json")
    (runs / unreadable / "run.json").write_text("{")
    os.utime(runs / unreadable / "run.json", (1, 1))
    journal = Journal.create(journal_path(runs, under_way))
    found = prune(kept, older=30 * DAY)
    assert found.removed == (free,)
    assert found.kept.keys() == {interrupted, referred, damaged, parent, under_way, just_ended, unreadable}
    assert session.id in found.kept[referred]
    assert fork in found.kept[parent]
    assert found.kept[under_way] == "it is running"
    await journal.aclose()
    assert prune(kept, older=30 * DAY).removed == (under_way,)


def test_what_cannot_be_read_is_named_and_not_the_archive(runs, tmp_path, monkeypatch):
    run_id, target = ended_run(runs, days=1), tmp_path / "run.tar.gz"
    locked = runs / run_id / "run.json"
    opened = tarfile.bltn_open

    def refuse(path, *more):
        if Path(path) == locked:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, *more)

    monkeypatch.setattr(tarfile, "bltn_open", refuse)  # tests may run as root, who reads everything
    with pytest.raises(RunError, match=rf"The run {run_id} cannot be read: {locked}: Permission denied"):
        export(runs, run_id, target)
    assert not target.exists()
    with pytest.raises(StorageError, match="cannot be written"):
        export(runs, run_id, tmp_path / "none" / "run.tar.gz")


def test_what_a_killed_removal_left_is_swept_and_two_at_once_remove_each_run_once(runs, kept):
    from concurrent.futures import ThreadPoolExecutor

    left = runs / f".removed-{new_id()}"
    left.mkdir(parents=True)
    (left / "journal.jsonl").write_text("{}")
    made = [ended_run(runs, days=100 + n) for n in range(20)]
    with ThreadPoolExecutor(2) as both:
        found = list(both.map(lambda _: prune(kept, keep=0), range(2)))
    assert set(found[0].removed) | set(found[1].removed) == set(made)
    assert list(runs.iterdir()) == []


def test_once_a_day_old_runs_and_old_answers_go(tmp_path):
    settings = Settings(runs_dir=tmp_path / "runs", data_dir=tmp_path, cache_dir=tmp_path / "cache")
    runs = settings.runs_dir
    old, new = ended_run(runs, days=91), ended_run(runs, days=89)
    cache = AnswerCache(settings)
    for question in ("old", "new"):
        cache.put(question, (), {}, Answer("1", "answered"), {})
    with open_store(settings) as store:
        store.rows("UPDATE answers SET at = :at WHERE question = 'old'", {"at": time.time() - 2 * DAY})
    assert prune_daily(settings).startswith("Removed 1 run from ")
    assert prune_daily(settings) == ""
    assert ids_in(runs) == [new]
    assert [one.question for one in cache.all()] == ["new"]
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
    assert start_of(text, 10 * DAY) == 10 * DAY - seconds
