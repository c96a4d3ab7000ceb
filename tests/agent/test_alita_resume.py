"""Runs that were killed, stopped or limited go on; what was recorded is never asked again; replays ask nothing."""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
from collections import Counter
from dataclasses import replace

import pytest

from agent.errors import ModelError, RunError
from agent.events import ModelCalled, RunStarted, StepStarted
from agent.store.journal import Journal
from agent.store.runs import journal_path, load_run, save_run
from agent.traces.trace import read_trace
from mcp_tools.library.library import Library
from support.fibonacci import ANSWER, QUESTION, STORY, decide, kind_of, reply
from support.forked import Forked

FIRST, SECOND, THIRD = "nothing was found for 'the winner'", "No file is attached", "Traceback"
"""What each step says."""
SEARCHES = [
    decide("answer", answer="done", when=THIRD),
    decide("run_code", code="open('winners.txt')", when=SECOND),
    decide("read_file", file="winners.txt", when=FIRST),
    decide("search", query="the winner"),
]
"""Three steps that find nothing, and the answer."""


def only_run(desk):
    (run_id,) = [path.name for path in desk.runs.iterdir()]
    return run_id


def records(desk, run_id):
    return list(Journal.replay(journal_path(desk.runs, run_id)).records())


def files_of(folder):
    """Every file of a folder with its content and its time."""
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def test_killed_while_a_model_thinks(desk, openai_server):
    """`kill -9` in the middle of a model call: the run goes on there, and no answered call is made again."""
    held, release = threading.Event(), threading.Event()
    counted = Counter()

    def held_back(body):
        counted[kind_of(body)] += 1
        if f"{kind_of(body)} {counted[kind_of(body)]}" == "examine 1":
            held.set()
            release.wait(30)
        return reply(body)

    openai_server.default = held_back
    desk.flags = {"model": "tiny-1", "base_url": openai_server.url}
    child = Forked(lambda: asyncio.run(desk.ask(QUESTION)))
    child.kill_when(held.is_set)
    release.set()
    run_id = only_run(desk)
    assert load_run(desk.runs, run_id).status == "interrupted"
    assert desk.library.flaws() == []

    before = [json.dumps(body, sort_keys=True) for body in openai_server.requests]
    openai_server.requests.clear()
    openai_server.default = reply
    answer = asyncio.run(desk.resume())
    assert (answer.text, answer.status, answer.run_id) == (ANSWER, "answered", run_id)
    assert answer.usage.calls == 3
    after = [json.dumps(body, sort_keys=True) for body in openai_server.requests]
    assert not set(before[:-1]) & set(after)
    assert [tool.name for tool in desk.library.list()] == ["nth_fibonacci"]
    assert asyncio.run(desk.replay(run_id)).text == ANSWER


def test_killed_while_a_tool_is_registered(desk):
    desk.plays(*STORY)
    child = Forked(lambda: asyncio.run(desk.ask(QUESTION)))
    child.kill_when(lambda: any('"register":' in path.read_text() for path in desk.runs.glob("*/journal.jsonl")))
    run_id = only_run(desk)
    known = {(record.key, record.nth) for record in records(desk, run_id)}
    assert Library(desk.tools_dir, desk.home / "data").flaws() == []
    answer = asyncio.run(desk.resume(run_id))
    assert (answer.text, answer.tools_created) == (ANSWER, ("nth_fibonacci",))
    made = [(record.key, record.nth) for record in records(desk, run_id)]
    assert known <= set(made)
    lines = journal_path(desk.runs, run_id).read_text().splitlines()
    assert len([line for line in lines if '"seq":' in line]) == len(made), "a recorded call was made again"
    assert [tool.name for tool in desk.library.list()] == ["nth_fibonacci"]


def begun(event):
    return isinstance(event, RunStarted)


def chosen(step):
    return lambda event: isinstance(event, StepStarted) and event.step == step


async def test_a_stopped_run_goes_on_behind_what_it_recorded(desk):
    stopped = await desk.plays(*SEARCHES).stop("Who won?", chosen(4))
    assert stopped.status == "interrupted"
    assert stopped.steps <= 4
    saved = load_run(desk.runs, stopped.run_id)
    assert (saved.status, saved.answer.steps) == ("interrupted", stopped.steps)
    answer = await desk.resume(stopped.run_id)
    assert (answer.text, answer.status, answer.steps) == ("done", "answered", 3)
    assert answer.usage.calls == 4, "what the first process spent is counted too"
    assert [event.step for event in desk.of(StepStarted)] == [1, 2, 3, 4]
    assert desk.of(RunStarted)[0].resumed
    replayed = await desk.replay(stopped.run_id)
    assert (replayed.text, replayed.steps, replayed.usage.calls) == ("done", 3, 4)


async def test_a_failed_run_is_tried_again(desk):
    unreachable = {"error": "unreachable", "message": "no connection", "when": SECOND}
    with pytest.raises(ModelError, match="no connection"):
        await desk.plays(unreachable, *SEARCHES).ask("Who won?")
    saved = load_run(desk.runs, only_run(desk))
    assert (saved.status, saved.answer.error, saved.answer.steps) == ("failed", "no connection", 2)
    desk.plays(*SEARCHES)
    assert (await desk.resume()).text == "done"
    assert [event.step for event in desk.of(StepStarted)] == [1, 2, 3, 4]


async def test_a_finished_run_is_not_resumed(desk):
    answer = await desk.plays(*SEARCHES).ask("Who won?")
    with pytest.raises(RunError, match="finished"):
        await desk.resume(answer.run_id)


async def test_a_run_is_worked_on_by_one_process(desk):
    answer = await desk.plays(*SEARCHES).ask("Who won?", max_steps=1)
    journal = Journal.resume(journal_path(desk.runs, answer.run_id))
    with pytest.raises(RunError, match="another process"):
        await desk.resume(answer.run_id)
    await journal.aclose()


async def test_a_replay_asks_nobody_and_touches_nothing(desk):
    """No model, no script, no library: the answer is the same."""
    first = await desk.plays(*STORY).ask(QUESTION)
    (desk.folder / "script.jsonl").unlink()
    shutil.rmtree(desk.tools_dir)
    before = files_of(desk.home)
    replayed = await desk.replay(first.run_id)
    assert (replayed.text, replayed.status, replayed.steps) == (first.text, first.status, first.steps)
    assert (replayed.usage, replayed.tools_created) == (first.usage, first.tools_created)
    assert not desk.tools_dir.exists()
    assert files_of(desk.home) == before


async def test_a_replay_of_a_fallback_asks_nobody_either(desk, openai_server):
    """The model that answered is known from the journal, not from who is awake now."""
    openai_server.default = reply
    fallback = ("tiny-1",)
    lines = [{"error": "auth", "message": "no key", "repeat": True}]
    first = await desk.plays(*lines).ask(QUESTION, fallback=fallback, base_url=openai_server.url)
    assert first.text == ANSWER
    answering = [event.model for event in desk.of(ModelCalled)]
    assert set(answering) == {"tiny-1"}
    asked = len(openai_server.requests)
    replayed = await desk.replay(first.run_id)
    assert (replayed.text, len(openai_server.requests)) == (ANSWER, asked)
    assert [event.model for event in desk.of(ModelCalled)] == answering


async def test_a_replay_that_goes_on_live_from_a_step(desk):
    first = await desk.plays(*SEARCHES).ask("Who won?")
    desk.plays(decide("answer", answer="another", when=SECOND))
    fork = await desk.replay(first.run_id, until=2)
    assert (fork.text, fork.steps) == ("another", 2)
    assert fork.run_id != first.run_id
    assert load_run(desk.runs, fork.run_id).parent == first.run_id
    assert load_run(desk.runs, first.run_id).answer.text == "done"
    assert (await desk.replay(fork.run_id)).text == "another"


async def test_a_damaged_journal_is_told(desk):
    answer = await desk.plays(*SEARCHES).ask("Who won?")
    path = journal_path(desk.runs, answer.run_id)
    path.write_text(path.read_text().replace('"kind":"model"', '"kind":', 1))
    with pytest.raises(RunError, match="is corrupt at line"):
        await desk.replay(answer.run_id)


async def test_a_stopped_run_goes_on_under_its_own_limits(desk):
    stopped = await desk.plays(*SEARCHES).stop("Who won?", begun, max_cost=5.0)
    seen = []

    async def resumed(alita):
        answer = await alita.resume(stopped.run_id, on_event=lambda _: seen.append(alita.running.settings.max_cost))
        seen.append(alita.settings.max_cost)
        return answer

    await desk.use(resumed)
    assert seen[0] == 5.0
    assert seen[-1] != 5.0, "the next question has its own"


async def test_a_run_does_not_go_on_with_another_file(desk, tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("1\n")
    stopped = await desk.plays(decide("answer", answer="1")).stop("Sum it.", begun, files=[data])
    data.write_text("2\n")
    with pytest.raises(RunError, match=r"data\.csv has changed since"):
        await desk.resume(stopped.run_id)
    data.write_text("1\n")
    assert (await desk.resume(stopped.run_id)).run_id == stopped.run_id


ALL_KINDS = [
    decide("answer", answer="done", when="forty-two"),
    decide("run_code", code="print('forty' + '-' + 'two')", when="ZeroDivisionError"),
    decide("run_code", code="print(1 / 0)", when=ANSWER),
    *STORY[1:],
]
"""A tool is made and called, a program fails and is mended, and the answer is given."""


def seen(desk, answer):
    """What a run told and left behind, but for times."""
    told = [(type(event).__name__, getattr(event, "step", None), getattr(event, "name", None)) for event in desk.events]
    trace = read_trace(desk.runs, answer.run_id)
    assert json.loads(json.dumps(trace.as_json()))["run"]["answer"]["seconds"] == round(answer.seconds, 3)
    steps = []
    for step in trace.steps:
        calls = sorted((call.kind, call.title, call.ok) for call in step.calls)  # some are made side by side
        steps.append((step.number, step.action, step.why, calls))
    return replace(answer, run_id="", seconds=0.0), told, steps


@pytest.mark.timeout(240)
async def test_a_run_killed_at_any_entry_of_its_journal_goes_on_as_if_it_had_not_been(desk, tmp_path):
    whole = await desk.plays(*ALL_KINDS).ask(QUESTION)
    expected = seen(desk, whole)
    assert [event.action for event in desk.of(StepStarted)] == ["create_tool", "run_code", "run_code", "answer"]
    folder, kept = desk.runs / whole.run_id, tmp_path / "kept"
    shutil.copytree(folder, kept)
    lines = (kept / "journal.jsonl").read_text().splitlines(keepends=True)
    registered = next(n for n, line in enumerate(lines) if '"register":' in line)
    # What stands before an entry are parts of it: a run that is killed there goes on from the entry before.
    entries = [n for n, line in enumerate(lines, 1) if '"blob":' not in line]
    for count in (0, *entries[:-1:6]):
        (folder / "journal.jsonl").write_text("".join(lines[:count]))
        run = load_run(desk.runs, whole.run_id)
        save_run(desk.runs, replace(run, status="running", answer=None))
        if count <= registered:
            shutil.rmtree(desk.tools_dir)
        desk.plays(*ALL_KINDS)
        went_on = await desk.resume()
        for part, before in zip(seen(desk, went_on), expected, strict=True):
            assert part == before, f"killed after {count} lines"
        marks = [line for line in (folder / "journal.jsonl").read_text().splitlines() if '"mark":' in line]
        assert len(marks) == 4


async def test_what_failed_on_the_way_is_not_tried_again_after_a_kill(desk):
    """Only failures that ended a run are: the others were part of it."""
    lines = [decide("answer", answer="no", when=FIRST), {"role": "coordinator", "error": "output"}]
    await desk.plays(*lines, SEARCHES[-1]).ask("Who won?")
    run = load_run(desk.runs, only_run(desk))
    path = journal_path(desk.runs, run.run_id)
    kept = path.read_text().splitlines(keepends=True)
    failed = next(n for n, line in enumerate(kept) if '"error":' in line)
    path.write_text("".join(kept[: failed + 1]))
    save_run(desk.runs, replace(run, status="running", answer=None))
    assert (await desk.plays(lines[0], SEARCHES[-1]).resume()).text == "no"
    assert path.read_text().count('"error":') == 1
