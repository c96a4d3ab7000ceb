"""The log of what runs did."""

from __future__ import annotations

import json
import os
import stat
import time

from support.fibonacci import QUESTION, STORY


def lines(desk):
    (path,) = (desk.home / "data" / "logs").glob("*.log")
    return path, [json.loads(line) for line in path.read_text().splitlines()]


async def test_every_event_of_a_run_is_a_line_with_its_id_but_neither_question_nor_answer(desk):
    answer = await desk.plays(*STORY).ask(QUESTION)
    path, entries = lines(desk)
    assert {entry["run"] for entry in entries} == {answer.run_id}
    assert [entry["event"] for entry in entries] == [event.kind for event in desk.events]
    ended = entries[-1]
    assert (ended["event"], ended["status"], ended["usage"]["calls"]) == ("run_finished", "answered", 3)
    registered = next(entry for entry in entries if entry["event"] == "tool_registered")
    assert registered["name"] == "nth_fibonacci"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert QUESTION not in path.read_text()
    assert answer.text not in path.read_text()


async def test_old_logs_go_when_a_day_begins(desk):
    logs = desk.home / "data" / "logs"
    logs.mkdir(parents=True)
    (old := logs / "2026-01-01.log").write_text("{}\n")
    (new := logs / "2026-01-02.log").write_text("{}\n")
    (other := logs / "notes.txt").write_text("mine")
    os.utime(old, (time.time() - 15 * 24 * 3600,) * 2)
    await desk.plays(*STORY).ask(QUESTION)
    assert (old.exists(), new.exists(), other.exists()) == (False, True, True)


async def test_a_log_that_cannot_be_written_is_told_once_and_ends_no_run(desk):
    (desk.home / "data").mkdir(parents=True, exist_ok=True)
    (desk.home / "data" / "logs").write_text("in the way")
    answer = await desk.plays(*STORY).ask(QUESTION)
    assert answer.status == "answered"
    assert desk.notes.count("cannot be written") == 1
