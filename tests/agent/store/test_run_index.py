"""Runs in the store: taken from their folders, listed and found, in both databases."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from agent.answer import Answer
from agent.configuration.settings import Settings
from agent.store.databases import open_store
from agent.store.journal import Journal
from agent.store.run_index import Notes, RunIndex, index_run
from agent.store.runs import Run, journal_path, load_run, save_run
from support.command import Terminal
from support.kept_runs import found, kept, newest


def rows(settings: Settings, statement: str) -> list[tuple[object, ...]]:
    with open_store(settings) as database:
        return [tuple(row) for row in database.rows(statement)]


@pytest.mark.parametrize(
    ("words", "fits"),
    [
        pytest.param(["weather"], True, id="question"),
        pytest.param(["ZÜRICH"], True, id="case and accents"),
        pytest.param(["zurich"], True, id="without the accent"),
        pytest.param(["degrees"], True, id="answer"),
        pytest.param(["barometer"], True, id="what a step found"),
        pytest.param(["because"], True, id="why a step was made"),
        pytest.param(["baro", "weath"], True, id="beginnings, in different places"),
        pytest.param(["weather", "tomorrow"], False, id="not every word"),
        pytest.param(["ometer"], False, id="the middle of a word"),
        pytest.param(["it's"], True, id="apostrophe"),
        pytest.param(['"weather', "OR", "*"], False, id="operators are words"),
        pytest.param(["weather &", "|"], True, id="signs alone are nothing"),
        pytest.param(["3.5"], True, id="number"),
        pytest.param(["de"], False, id="two letters begin nothing"),
        pytest.param(["a\\", "':*"], True, id="quotes of a query"),
        pytest.param(["&"], False, id="no word"),
    ],
)
def test_runs_are_found_by_all_their_words(settings, words, fits):
    run = kept(settings, "The weather in Zürich", "It's 3.5 degrees", steps=("a barometer", "nothing else"))
    kept(settings, "something different", "unrelated")
    assert found(settings, *words) == ([run.run_id] if fits else [])


def test_a_run_is_in_the_store_when_it_ended_and_its_note_is_gone(settings):
    run = kept(settings, "one", "two")
    index_run(settings)
    assert found(settings, "two", catch_up=False) == [run.run_id]
    assert Notes(settings).all() == []


def test_what_a_kill_left_is_caught_up(settings):
    killed = kept(settings, "the killed one", steps=("half a result",))
    assert newest(settings) == [(killed.run_id, "interrupted")]
    assert found(settings, "half") == [killed.run_id]
    # the run is resumed and ends, but its process is killed before the store is updated
    Notes(settings).add(killed.run_id)
    save_run(settings.runs_dir, Run(killed.run_id, "the killed one", "m", killed.started, status="answered",
                                    answer=Answer("whole", "answered")))  # fmt: skip
    assert newest(settings) == [(killed.run_id, "answered")]
    assert found(settings, "whole", "killed", "half") == [killed.run_id]
    assert Notes(settings).all() == []


def test_a_running_run_stays_noted(settings):
    run = kept(settings, "still at it")
    journal = Journal.resume(journal_path(settings.runs_dir, run.run_id))
    assert newest(settings) == [(run.run_id, "running")]
    assert Notes(settings).all() == [run.run_id]
    journal._file.close()
    assert newest(settings) == [(run.run_id, "interrupted")]


def test_folders_put_there_or_removed_by_others_are_seen(settings, tmp_path):
    first, second = (kept(settings, f"question {n}", "done", steps=("s",), noted=False) for n in (1, 2))
    assert [run for run, _ in newest(settings)] == [second.run_id, first.run_id]
    shutil.move(settings.runs_dir / first.run_id, tmp_path)
    assert found(settings, "question") == [second.run_id]
    assert rows(settings, "SELECT count(*) FROM steps") == [(1,)]
    shutil.move(tmp_path / first.run_id, settings.runs_dir)
    assert found(settings, "question") == [second.run_id, first.run_id]


def test_a_damaged_run_is_told_each_time_and_taken_once_it_is_mended(settings):
    good, bad = kept(settings, "good", "a"), kept(settings, "bad", "b")
    path = settings.runs_dir / bad.run_id / "run.json"
    whole = path.read_text()
    path.write_text("{")
    for _ in range(2):
        with open_store(settings) as database:
            index = RunIndex(settings, database)
            (flaw,) = index.catch_up()
            assert f"{path} is corrupt" in flaw.message
            assert [run["run_id"] for run in index.newest(9)] == [good.run_id]
    path.write_text(whole)
    assert found(settings, "bad") == [bad.run_id]


def test_the_store_has_no_keys_and_takes_any_text(settings, monkeypatch):
    key = "sk-" + "a1B2" * 8
    run = kept(settings, f"my key is {key} \ud800 \0 end", f"{key} again", steps=(f"found {key} \0",))
    assert found(settings, "again") == [run.run_id]
    assert found(settings, key) == []
    dump = str(rows(settings, "SELECT * FROM runs") + rows(settings, "SELECT * FROM steps"))
    assert "[redacted]" in dump
    assert "a1B2a1B2" not in dump


def test_the_rows_of_a_run_are_those_of_its_folder(settings):
    run = kept(settings, "what?", "this", steps=("one", "two"))
    index_run(settings)
    with open_store(settings) as database:
        (record,) = RunIndex(settings, database).newest(1)
    assert record == json.loads(json.dumps(load_run(settings.runs_dir, run.run_id).as_json()))
    assert rows(settings, "SELECT run_id, status, question, answer, parent, follows FROM runs") == [
        (run.run_id, "answered", "what?", "this", None, None)
    ]
    assert rows(settings, "SELECT step, action, why, input, ok, found FROM steps ORDER BY step") == [
        (1, "search", "because", "search words", 1, "one"),
        (2, "search", "because", "search words", 1, "two"),
    ]


def test_runs_of_the_same_id_on_two_machines_are_two(settings, monkeypatch):
    run = kept(settings, "here", "a", noted=False)
    index_run(settings)
    newest(settings)
    monkeypatch.setattr("socket.gethostname", lambda: "elsewhere")
    assert newest(settings) == [(run.run_id, "answered")] * 2
    assert found(settings, "here") == [run.run_id] * 2
    monkeypatch.undo()
    assert Path(settings.runs_dir).exists()


def test_a_run_of_another_machine_is_shown_from_the_store(settings, tmp_path, monkeypatch):
    with monkeypatch.context() as other:
        other.setattr("socket.gethostname", lambda: "the-other")
        run = kept(settings, "what is there?", "a \x1b[31mlake", steps=("one", "two"))
        index_run(settings)
    shutil.move(settings.runs_dir / run.run_id, tmp_path)
    shell = Terminal(tmp_path)
    shell.home = Path(os.environ["ALITA_HOME"])
    url = settings.database_url and settings.database_url.get_secret_value()
    own = {"ALITA_DATABASE_URL": url} if url else {}
    shown = shell.call("runs", "show", run.run_id[-6:], **own)
    assert shown.code == 0, shown.err
    for part in (run.run_id, "what is there?", "search: one", "search: two", "lake"):
        assert part in shown.out
    assert "\x1b" not in shown.out
    assert f"Its trace is on the machine the-other, in {settings.runs_dir}/{run.run_id}" in shown.err
    told = json.loads(shell.call("runs", "show", run.run_id, "--json", **own).out)
    assert (told["place"], [step["found"] for step in told["steps"]]) == (
        f"the-other:{settings.runs_dir}",
        ["one", "two"],
    )
    assert "There is no run 'nowhere'" in shell.call("runs", "show", "nowhere", **own).err
