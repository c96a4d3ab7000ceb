"""Tasks of the tests' site, done in alita's browser with a model of one's choice."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from agent.browser.logins import Login
from agent.browser.operate import operate
from agent.browser.tasks import AskModel, BrowserOutcome, BrowserTask
from agent.errors import AlitaError
from agent.events import BrowserStepped, Note

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.site.server import Site
from support.site.tasks import SiteTask, is_done

LONGEST_ANSWER = 300
"""Characters; who hands over a whole page, or what was found when time was up, has not answered."""


class Run(NamedTuple):
    """How one task went."""

    done: bool
    answer: str
    steps: int
    seconds: float
    problem: str


def ignore(event: BrowserStepped | Note) -> None:
    """For who is not interested in steps."""


async def drive(ask: AskModel, task: BrowserTask) -> tuple[BrowserOutcome | None, str, float]:
    """What came of a task, what went wrong, and its seconds."""
    started = time.perf_counter()
    try:
        outcome = await operate(replace(task, allow_private=True), ask, ignore)
    except AlitaError as problem:
        return None, problem.message, time.perf_counter() - started
    return outcome, outcome.problem, time.perf_counter() - started


async def run_on_site(ask: AskModel, wanted: SiteTask, *, steps: int = 25, seconds: float = 300) -> Run:
    """One task, as a new visitor to a site that nobody has touched."""
    with Site() as site:
        logins = (Login(site.host, wanted.account["user"], wanted.account["password"]),) if wanted.logins else ()
        task = BrowserTask(wanted.task, site.url + wanted.url, logins=logins, steps=steps, seconds=seconds)
        outcome, problem, taken = await drive(ask, task)
        if outcome is None:
            return Run(False, "", 0, taken, problem)
        is_answer = outcome.ok and len(outcome.text) <= LONGEST_ANSWER
        done = is_done(wanted, outcome.text, site) and (is_answer or "answer" not in wanted.check)
        return Run(done, outcome.text, len(outcome.steps), taken, problem)
