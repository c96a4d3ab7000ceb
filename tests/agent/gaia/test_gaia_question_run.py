"""One question of a benchmark: what its events say, and how it ends when it hangs, breaks or is stopped."""

import asyncio
import contextlib

import pytest

from agent import events
from agent.answer import Answer
from agent.configuration.settings_sources import read_settings
from agent.gaia import question_run
from agent.gaia.configuration import Setup
from agent.gaia.question_run import AttemptJob, QuestionRun


class Alita:
    """Does what the question says."""

    def __init__(self):
        self.newest = None
        self.seconds = 0.0

    def beside(self, **settings):
        return Alita()

    async def ask(self, question, *, files, rules, on_event):
        on_event(events.RunStarted("a-run", question, "m"))
        self.newest = Answer("", "interrupted", run_id="a-run", steps=2)
        match question:
            case "break":
                raise ZeroDivisionError
            case "hang":
                self.seconds = 1000.0
                await asyncio.sleep(600)
            case "refuse":
                self.seconds = 1000.0
                for _ in range(2):  # the second time is the end of the test
                    with contextlib.suppress(asyncio.CancelledError):
                        await asyncio.sleep(600)
            case "wait":
                await asyncio.sleep(600)
            case "use tools":
                for event in (
                    events.StepStarted(1, 12, "run_code"),
                    events.ToolCalled("tides.py"),
                    events.ToolCalled("program", ok=False),
                    events.StepStarted(2, 12, "use_tool"),
                    events.ToolRegistered("new", "", "draft"),
                    events.ToolCalled("new"),
                    events.ToolCalled("tide_height"),
                    events.ToolCalled("lookup", ok=False, server="maps"),
                    events.LeakBlocked("https://copy.example", "a copy"),
                    events.ActionRefused("browse https://x.example", "only a page asks for it"),
                ):
                    on_event(event)
        return Answer("done", "answered", run_id="a-run", model="m")


def begun(question, listen=lambda event: None):
    return QuestionRun(Alita(), AttemptJob("q1", 1, question), Setup(read_settings(), hard_seconds=100.0), listen)


@pytest.mark.parametrize(
    ("question", "status", "said"),
    [
        ("say", "ok", "done"),
        ("hang", "timeout", "the question was not answered within 100 s"),
        ("refuse", "timeout", "the question was not answered within 100 s"),
        ("break", "error", "a bug: ZeroDivisionError"),
    ],
)
async def test_a_question_that_hangs_or_breaks_ends_alone(question, status, said, monkeypatch):
    monkeypatch.setattr(question_run, "_CHECK_SECONDS", 0.05)
    monkeypatch.setattr(question_run, "_CANCEL_SECONDS", 0.1)
    other = begun("say")
    attempt = (await begun(question).result()).attempt
    assert (attempt.status, attempt.answer or attempt.error, attempt.run_id) == (status, said, "a-run")
    assert (await other.result()).attempt.status == "ok"


async def test_a_question_that_is_stopped_says_how_far_it_came():
    run = begun("wait")
    asyncio.get_running_loop().call_later(0.05, run.cancel)
    attempt = (await run.result()).attempt
    assert (attempt.status, attempt.run_id, attempt.steps, attempt.error) == ("interrupted", "a-run", 2, "")


async def test_programs_and_attached_scripts_are_no_tools_of_the_library():
    attempt = (await begun("use tools").result()).attempt
    assert attempt.routes == ("run_code", "use_tool")
    assert (attempt.tools_created, attempt.tools_reused, attempt.tools_failed) == (
        ("new",),
        ("tide_height",),
        ("lookup",),
    )
    assert (attempt.servers_failed, attempt.leaks) == (("maps",), ("https://copy.example",))
    assert attempt.set_apart == ("browse https://x.example: only a page asks for it",)
