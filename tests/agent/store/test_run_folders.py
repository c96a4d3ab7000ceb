"""The folders of runs: made, saved, found, and what damage does to them."""

import json
from dataclasses import replace

import pytest

from agent.answer import Answer
from agent.errors import RunError
from agent.store.journal import Journal
from agent.store.runs import (
    create_run,
    find_run,
    find_unfinished,
    journal_path,
    list_runs,
    load_run,
    save_run,
)


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


def test_a_run_survives_the_disk(runs, tmp_path):
    attached = tmp_path / "données.csv"
    attached.write_text("a,b\n")
    run = create_run(runs, "Wie viel? \ud800", model="m", files=[attached], configuration={"max_steps": "3"})
    answer = Answer("42", "answered", run_id=run.run_id)
    save_run(runs, replace(run, status="answered", answer=answer))
    loaded = load_run(runs, run.run_id)
    assert (loaded.question, loaded.answer, loaded.status) == (run.question, answer, "answered")
    assert loaded.files[0].bytes == 4
    assert loaded.files == run.files
    assert [p.name for p in (runs / run.run_id).iterdir()] == ["run.json"]


async def test_a_run_without_a_living_process_is_interrupted(runs):
    run = create_run(runs, "q", model="m")
    journal = Journal.create(journal_path(runs, run.run_id))
    assert load_run(runs, run.run_id).status == "running"
    with pytest.raises(RunError, match="There is no unfinished run"):
        find_unfinished(runs, own=lambda _: True)
    await journal.aclose()
    assert load_run(runs, run.run_id).status == "interrupted"
    assert find_unfinished(runs, own=lambda _: True) == run.run_id
    save_run(runs, replace(run, status="answered"))
    with pytest.raises(RunError, match="has already finished"):
        find_unfinished(runs, run.run_id, own=lambda _: True)


def named(runs, *ids):
    for run_id in ids:
        (runs / run_id).mkdir(parents=True)
        data = {"run_id": run_id, "question": "q", "model": "m", "started": 0.0, "files": [], "answer": None}
        (runs / run_id / "run.json").write_text(json.dumps(data))


def test_a_run_is_found_by_its_beginning_or_its_end(runs):
    named(runs, "261121-104055-k3f9", "261121-104056-aaaa", "261122-000000-zzzz")
    assert find_run(runs) == "261122-000000-zzzz"
    (runs / "261123-000000-dead").mkdir()
    assert find_run(runs) == "261122-000000-zzzz", "a run killed before its first word is no run"
    assert find_run(runs, "261122") == "261122-000000-zzzz"
    assert find_run(runs, "k3f9") == "261121-104055-k3f9"
    assert [r.run_id[-4:] for r in list_runs(runs, limit=2)] == ["zzzz", "aaaa"]
    with pytest.raises(RunError, match="matches 2 runs"):
        find_run(runs, "261121")
    with pytest.raises(RunError) as caught:
        find_run(runs, "261121-104055-k3f8")
    assert "261121-104055-k3f9" in caught.value.remedy
    for nothing in ("", "../x", "nothing"):
        with pytest.raises(RunError, match="no run"):
            find_run(runs, nothing)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"run_id": 1}', b"\xff"])
def test_a_damaged_run_is_named_and_hides_no_other(runs, content):
    named(runs, "261121-104055-k3f9", "261121-104056-aaaa")
    (runs / "261121-104056-aaaa" / "run.json").write_bytes(content)
    with pytest.raises(RunError, match="damaged"):
        load_run(runs, "261121-104056-aaaa")
    assert [r.run_id for r in list_runs(runs)] == ["261121-104055-k3f9"]
