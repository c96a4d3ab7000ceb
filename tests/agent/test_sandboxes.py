"""A call in the sandbox ends with the time of the run that asked for it."""

from __future__ import annotations

import time
from pathlib import Path

from agent.budget import Budget, RunLimits
from agent.recorders.journaled import JournaledSandbox
from agent.store.journal import Journal
from agent.store.redact import Redactor
from mcp_tools.sandbox.backends import open_sandbox
from mcp_tools.sandbox.protocol import Job

ENDLESS = "def f() -> int:\n    while True:\n        pass\n"
SHORT = "def f() -> int:\n    return 7\n"


def journal_in(folder: Path) -> Journal:
    return Journal.create(folder / "journal.jsonl", Redactor())


async def test_a_call_ends_with_the_time_of_its_run(tmp_path: Path) -> None:
    sandbox = JournaledSandbox(await open_sandbox(), journal_in(tmp_path), Budget(RunLimits(seconds=1)))
    started = time.monotonic()
    outcome = await sandbox.run(Job(ENDLESS, "f"))
    await sandbox.aclose()
    assert outcome.problem is not None
    assert outcome.problem.kind == "wall_time"
    assert time.monotonic() - started < 20


async def test_a_short_call_is_answered_even_when_the_time_is_over(tmp_path: Path) -> None:
    sandbox = JournaledSandbox(await open_sandbox(), journal_in(tmp_path), Budget(RunLimits(seconds=0)))
    outcome = await sandbox.run(Job(SHORT, "f"))
    await sandbox.aclose()
    assert outcome.value == 7


async def test_without_a_limit_the_call_keeps_its_own(tmp_path: Path) -> None:
    sandbox = JournaledSandbox(await open_sandbox(), journal_in(tmp_path), Budget(RunLimits()))
    outcome = await sandbox.run(Job(SHORT, "f"))
    await sandbox.aclose()
    assert outcome.ok
