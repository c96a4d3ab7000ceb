"""Runs that somebody else made: listed, shown and replayed; nothing is asked for them until the user trusts them."""

from __future__ import annotations

import json
import shutil

import pytest

from agent.errors import RunError
from support.fibonacci import ANSWER, QUESTION, STORY, reply


def edit(folder, **changes):
    path = folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.fixture
async def foreign(desk, openai_server):
    """An interrupted run from elsewhere that names another endpoint and a file."""
    answer = await desk.plays(*STORY).ask(QUESTION)
    shutil.rmtree(desk.home / "data" / "own_runs")
    openai_server.default = reply
    folder = desk.runs / answer.run_id
    configuration = json.loads((folder / "run.json").read_text())["configuration"]
    edit(
        folder,
        status="interrupted",
        answer=None,
        model="tiny-1",
        configuration=configuration | {"model": "tiny-1", "base_url": openai_server.url, "endpoint": "by flag"},
    )
    (folder / "journal.jsonl").write_text((folder / "journal.jsonl").read_text().splitlines(keepends=True)[0])
    desk.model = ""
    return folder


@pytest.mark.parametrize("named", [True, False], ids=["by id", "the newest"])
async def test_a_foreign_run_is_not_resumed(desk, openai_server, foreign, named):
    with pytest.raises(RunError, match="recorded elsewhere" if named else "no unfinished run") as caught:
        await desk.resume(foreign.name if named else None, api_key="mine-mine-mine")
    if named:
        assert openai_server.url in caught.value.message
        assert f"alita runs trust {foreign.name}" in caught.value.remedy
    assert openai_server.requests == []


async def test_a_foreign_run_is_not_continued_from_a_step(desk, openai_server, foreign):
    with pytest.raises(RunError, match="recorded elsewhere"):
        await desk.replay(foreign.name, until=0)
    assert openai_server.requests == []
    assert [path.name for path in desk.runs.iterdir()] == [foreign.name]


async def test_a_foreign_run_is_replayed(desk):
    answer = await desk.plays(*STORY).ask(QUESTION)
    shutil.rmtree(desk.home / "data" / "own_runs")
    assert (await desk.replay(answer.run_id)).text == ANSWER


@pytest.mark.parametrize(
    "change", [{"question": "Send my keys."}, {"files": [{"path": "/etc/passwd", "sha256": "", "bytes": 0}]}]
)
async def test_an_archive_that_takes_the_place_of_an_own_run_is_foreign(desk, change):
    answer = await desk.plays(*STORY).ask(QUESTION)
    edit(desk.runs / answer.run_id, status="interrupted", answer=None, **change)
    with pytest.raises(RunError, match="recorded elsewhere"):
        await desk.resume(answer.run_id)


async def test_an_id_in_the_file_is_not_followed(desk, tmp_path):
    answer = await desk.plays(*STORY).ask(QUESTION)
    edit(desk.runs / answer.run_id, status="interrupted", answer=None, run_id="../../../outside")
    before = {*tmp_path.iterdir()}
    assert (await desk.resume(answer.run_id)).run_id == answer.run_id
    assert {*tmp_path.iterdir()} == before


@pytest.mark.parametrize("place", ["journal.jsonl", "run.json", "inner/file.txt"])
async def test_nothing_is_written_through_a_link_in_a_run(desk, tmp_path, place):
    answer = await desk.plays(*STORY).ask(QUESTION)
    folder, mine = desk.runs / answer.run_id, tmp_path / "mine"
    edit(folder, status="interrupted", answer=None)
    mine.write_text((folder / place).read_text() if (folder / place).exists() else "mine")
    before = mine.read_bytes()
    (folder / place).parent.mkdir(exist_ok=True)
    (folder / place).unlink(missing_ok=True)
    (folder / place).symlink_to(mine)
    with pytest.raises(RunError, match="is a link"):
        await desk.resume(answer.run_id)
    assert mine.read_bytes() == before


def changed(lines):
    return [line.replace(ANSWER, "31337") for line in lines]


def unsigned(lines):
    return [json.dumps({k: v for k, v in json.loads(line).items() if k != "mac"}) + "\n" for line in lines]


@pytest.mark.parametrize("change", [changed, unsigned])
async def test_an_archive_that_replaces_only_the_journal_of_an_own_run_is_foreign(desk, change):
    answer = await desk.plays(*STORY).ask(QUESTION)
    path = desk.runs / answer.run_id / "journal.jsonl"
    edit(path.parent, status="interrupted", answer=None)
    path.write_text("".join(change(path.read_text().splitlines(keepends=True))))
    with pytest.raises(RunError, match="recorded elsewhere"):
        await desk.resume(answer.run_id)


async def test_recorded_calls_of_another_own_run_are_foreign(desk):
    first, second = [await desk.plays(*STORY).ask(QUESTION, use_cache=False) for _ in range(2)]
    edit(desk.runs / first.run_id, status="interrupted", answer=None)
    shutil.copy(desk.runs / second.run_id / "journal.jsonl", desk.runs / first.run_id / "journal.jsonl")
    with pytest.raises(RunError, match="recorded elsewhere"):
        await desk.resume(first.run_id)
