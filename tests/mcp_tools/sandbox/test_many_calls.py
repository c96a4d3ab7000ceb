"""Several calls in one process: they are independent, and a failure of one does not affect the others."""

from __future__ import annotations

import pytest

from mcp_tools.sandbox.call import outcomes
from mcp_tools.sandbox.protocol import Job, Limits, Outcome
from mcp_tools.sandbox.warm import WarmSandbox

pytestmark = pytest.mark.asyncio(loop_scope="module")

SOURCE = """import os, time
seen = []

def f(n: int) -> float:
    seen.append(n)
    if n == 1:
        raise ValueError("not one")
    if n == 2:
        while True:
            try:
                while True: pass
            except Exception:
                return 5.0
    if n == 3:
        os._exit(3)
    if n == 4:
        os.write(4, b"alita1" + (2).to_bytes(8, "big") + b"{}")
    if n == 5:
        return float("nan")
    return len(seen)
"""


async def told(sandbox: WarmSandbox, *numbers: int, source: str = SOURCE) -> list[Outcome | None]:
    calls = tuple({"n": number} for number in numbers)
    return outcomes(await sandbox.run(Job(source, "f", calls=calls, call_seconds=0.1)), len(calls))


async def test_each_call_begins_afresh_and_has_its_own_outcome(sandbox: WarmSandbox) -> None:
    found = await told(sandbox, 0, 1, 5, 7)
    said = [(one.value, one.problem.message if one.problem else "") for one in found if one is not None]
    assert said[0] == said[3] == (1.0, "")
    assert said[1] == (None, "ValueError: not one")
    assert "is not valid JSON" in said[2][1]


async def test_arguments_are_bound_like_those_of_one_call(sandbox: WarmSandbox) -> None:
    source = "from datetime import date\n\ndef f(n: date) -> str:\n    return n.isoformat() + type(n).__name__\n"
    calls = ({"n": "2025-01-10"}, {"n": "x"}, {"m": 1})
    found = outcomes(await sandbox.run(Job(source, "f", calls=calls, call_seconds=1)), 3)
    assert [one.value if one else None for one in found] == ["2025-01-10date", None, None]
    assert [one.problem.kind for one in found if one and one.problem] == ["arguments", "arguments"]


async def test_a_call_that_takes_too_long_is_the_last(sandbox: WarmSandbox) -> None:
    first, late, after = await told(sandbox, 0, 2, 0)
    assert first is not None
    assert first.ok
    assert late is not None
    assert late.problem is not None
    assert late.problem.kind == "cpu_time"
    assert after is None


@pytest.mark.parametrize("number", [3, 4], ids=["ends the process", "forges a report"])
async def test_a_process_that_breaks_the_channel_has_told_nothing(number: int, sandbox: WarmSandbox) -> None:
    assert await told(sandbox, 0, number) == [None, None]


async def test_the_limits_hold_for_all_together(sandbox: WarmSandbox) -> None:
    source = "import time\n\ndef f(n: int) -> int:\n    time.sleep(n)\n    return n\n"
    job = Job(source, "f", calls=({"n": 0}, {"n": 30}), call_seconds=9, limits=Limits(wall_seconds=0.5))
    outcome = await sandbox.run(job)
    assert outcome.problem is not None
    assert outcome.problem.kind == "wall_time"
    assert outcomes(outcome, 2) == [None, None]


async def test_what_has_not_the_form_of_a_report_counts_as_nothing(sandbox: WarmSandbox) -> None:
    told = [{"ok": True, "value": 1, "more": 2}, {"ok": False, "problem": {"kind": "x"}}, 7, {"ok": True, "value": 3}]
    found = outcomes(Outcome(True, sandbox.isolation, told), 5)
    assert [one.value if one else None for one in found] == [None, None, None, 3, None]
    assert outcomes(Outcome(True, sandbox.isolation, {"ok": True}), 2) == [None, None]
