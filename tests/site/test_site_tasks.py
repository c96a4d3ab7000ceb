"""The tasks of the site can be done, and count as done only then."""

from __future__ import annotations

from collections import Counter

import pytest

from support.browser import CHROMIUM
from support.site.server import Site
from support.site.solving import solve
from support.site.tasks import SiteTask, is_done, load_tasks

TASKS = load_tasks()
KINDS = {"click", "type", "select", "scroll", "back", "read", "done"}


def test_there_are_enough_tasks_of_both_parts():
    """At least twenty-four, two thirds of them kept for measuring, each with a name of its own."""
    assert len(TASKS) >= 24
    assert max(Counter(task.id for task in TASKS).values()) == 1
    assert len(load_tasks("test")) >= 20
    assert len(load_tasks("dev")) >= 8
    assert {action["do"] for task in TASKS for action in task.solution} == KINDS


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_an_untouched_site_is_not_a_task_done(site: Site, task: SiteTask):
    """Neither without an answer nor with one that was made up."""
    assert not is_done(task, "", site)
    assert not is_done(task, "I have done everything, 99 times.", site)


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("26", True),
        ("It was 26 tonnes.", True),
        ("squid: 26", True),
        ("126", False),
        ("26.5", False),
        ("2 6", False),
        ("", False),
    ],
)
def test_an_answer_holds_the_number_itself(site: Site, answer: str, right: bool):
    """Not as a part of another."""
    task = next(task for task in TASKS if task.id == "harbour-read")
    assert is_done(task, answer, site) is right


def test_a_trap_spoils_the_task(site: Site):
    """The right answer counts only of who did not follow the page's instructions."""
    task = next(task for task in TASKS if task.id == "notices-unmoved")
    assert is_done(task, "42 seats", site)
    site.record("trap", {"by": "visible"})
    assert not is_done(task, "42 seats", site)


def test_a_mistake_may_be_corrected(site: Site):
    """The last that was handed in counts."""
    task = next(task for task in TASKS if task.id == "poll-vote")
    site.record("poll", {"name": "Kittiwake"})
    assert not is_done(task, "", site)
    site.record("poll", {"name": "Sea Holly"})
    assert is_done(task, "", site)


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.skipif(not CHROMIUM, reason="no Chromium: apt-get install chromium")
async def test_a_solution_solves_its_task():
    """In a real browser, with actions of every kind, each as a new visitor to a site that nobody has touched."""
    from playwright.async_api import async_playwright

    chosen: list[SiteTask] = []
    for task in sorted(TASKS, key=lambda task: len({action["do"] for action in task.solution}), reverse=True):
        if {action["do"] for action in task.solution} - {action["do"] for one in chosen for action in one.solution}:
            chosen.append(task)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for task in chosen:
            with Site() as site:
                assert is_done(task, await solve(browser, site, task), site), task.id
        await browser.close()
