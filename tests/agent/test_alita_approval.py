"""A proved tool is kept only when that is approved, and nobody is asked twice."""

import asyncio

import pytest

from agent.budget import Budget, RunLimits
from agent.calls.recorder import Recorder
from agent.configuration.settings import settings_as_in
from agent.configuration.settings_sources import read_settings
from agent.consent.consent import Consent
from agent.consent.questions import ToolToApprove
from agent.events import Note, ToolRefused, ToolRegistered
from agent.store.journal import Journal
from agent.store.runs import Run
from mcp_tools.tool import Tool
from support.fibonacci import ANSWER, CREATION, QUESTION, STORY, decide


class Someone:
    """Decides the same about every tool, and remembers what it was shown."""

    def __init__(self, decision: bool, *, seconds: float = 0.0) -> None:
        self.decision = decision
        self.seconds = seconds
        self.shown: list[ToolToApprove] = []
        self.asked = asyncio.Event()

    async def __call__(self, proposal: ToolToApprove) -> bool:
        self.shown.append(proposal)
        self.asked.set()
        await asyncio.sleep(self.seconds)
        return self.decision


SCRATCH = decide("answer", answer=ANSWER, when=f"Its result here: {ANSWER}")


async def test_an_approved_tool_is_kept_and_was_shown_with_its_checks(desk):
    someone = Someone(True)
    answer = await desk.plays(*STORY).ask(QUESTION, approve=someone)
    assert (answer.text, answer.tools_created) == (ANSWER, ("nth_fibonacci",))
    [shown] = someone.shown
    assert (shown.name, shown.signature) == ("nth_fibonacci", "nth_fibonacci(n: int) -> int")
    assert shown.purpose == "Compute a Fibonacci number."
    assert shown.source == desk.library.get("nth_fibonacci").source
    assert any("tests pass" in line for line in shown.checks)
    assert all("\n" not in line for line in shown.checks)


async def test_a_refused_tool_is_not_kept_and_the_answer_stands(desk):
    someone = Someone(False)
    answer = await desk.plays(SCRATCH, *STORY).ask(QUESTION, approve=someone)
    assert (answer.text, answer.status, answer.tools_created) == (ANSWER, "answered", ())
    assert desk.library.list() == []
    assert [(e.name, e.reason) for e in desk.of(ToolRefused)] == [("nth_fibonacci", "it was not approved")]
    assert not desk.of(ToolRegistered)
    assert not [event for event in desk.of(Note) if "not kept" in event.text], "told twice"


async def test_what_was_approved_stays_approved_in_a_replay(desk):
    first = await desk.plays(*STORY).ask(QUESTION, approve=Someone(True))
    again = await desk.replay(first.run_id)
    assert (again.text, again.tools_created) == (ANSWER, ("nth_fibonacci",))
    assert not desk.of(ToolRefused)


async def test_a_resumed_run_asks_only_about_what_was_not_decided(desk):
    """The decision stands in the journal; the model fails after it, and the run is taken up again."""
    lines = [decide("create_tool", when=QUESTION), *CREATION]
    someone = Someone(False)
    with pytest.raises(Exception, match="script"):
        await desk.plays(*lines).ask(QUESTION, approve=someone)
    other = Someone(True)
    answer = await desk.plays(SCRATCH).resume(approve=other)
    assert (answer.text, answer.tools_created) == (ANSWER, ())
    assert (len(someone.shown), other.shown) == (1, [])


async def test_who_stops_while_being_asked_is_asked_again(desk):
    slow = Someone(False, seconds=60)
    asking = asyncio.create_task(desk.plays(*STORY).ask(QUESTION, approve=slow))
    await slow.asked.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    someone = Someone(True)
    answer = await desk.plays(*STORY).resume(approve=someone)
    assert (answer.tools_created, len(someone.shown)) == (("nth_fibonacci",), 1)


@pytest.mark.parametrize(("mode", "reason"), [("never", "set to never"), ("ask", "nobody could be asked")])
async def test_without_anyone_to_ask_the_setting_decides(desk, mode, reason):
    answer = await desk.plays(SCRATCH, *STORY).ask(QUESTION, approval=mode)
    assert (answer.text, answer.tools_created) == (ANSWER, ())
    [refused] = desk.of(ToolRefused)
    assert reason in refused.reason


def test_a_session_decides_about_a_run_that_was_begun_outside_of_it():
    run = Run("r", "?", "m", 0.0, configuration={"approval": "auto"})
    assert settings_as_in(run, read_settings({"approval": "ask"}), goes_on=True).approval == "ask"


async def test_the_clock_of_a_limit_stands_still_while_someone_thinks(tmp_path):
    budget = Budget(RunLimits(seconds=60))
    journal = Journal.create(tmp_path / "run" / "journal.jsonl")
    consent = Consent(Someone(True, seconds=1.0), Recorder(journal, budget), approval="ask")
    before = budget.seconds
    assert await consent.refusal_of_tool(Tool("a", "", {}, {}, "def a() -> int: return 1")) == ""
    assert budget.seconds - before < 0.9
    await journal.aclose()
