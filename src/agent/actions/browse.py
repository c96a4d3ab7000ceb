"""The action that does a task on a website in a browser. If that fails, the page is read instead."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from agent.actions.action import FINAL, TEXT, Action, FunctionCall, function_form, gave_something_new
from agent.actions.read import read_instead, source_number
from agent.browser.tasks import BrowserOutcome
from agent.consent.permission import refused_step
from agent.consent.rulings import FINE, judge_address, judge_task
from agent.consent.text_origins import Origins
from agent.context import Context, Update, failed, kept_whole
from agent.errors import ModelError
from agent.events import BrowserStepped, Note
from agent.material.attached import present, with_files
from agent.material.origins import origins_of
from agent.material.pictures import Place, seen_pictures
from agent.models.protocol import Role
from agent.state import LOOKING_ACTIONS, CitedSource, Decision, Picture, State, Step
from agent.steps import decision_of, step
from agent.web.address import addresses_in, host_of
from agent.web.page import WebProblem

_SITE = re.compile(
    r"(?<![\w@./-])(?:localhost(?::\d+)?|\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?|(?:[\w-]+\.)+(?:com|org|net|io|edu|gov|info|dev|app|eu"
    r"|uk|de|fr|ch|at|nl|it|es|se|no|jp|cn|in|br|ca|au|example))(?:/[^\s<>\"'“”‘’`)\]]*)?(?![\w-])",
    re.IGNORECASE,
)
_ABOUT_LOOKS = re.compile(
    r"\b(?:pictures?|images?|photos?|charts?|maps?|diagrams?|logos?|drawings?|graphs?|screenshots?|looks? like"
    r"|colou?rs?)\b",
    re.IGNORECASE,
)
_TRAILING = ".,;:!?"
_LOCAL = r"localhost|127\.|10\.|192\.168\."


class Browse(Action):
    """Does a task on a website. The finding is the answer, or the last page that was seen."""

    name = "browse"
    function = function_form(
        "browse",
        "Operates a site: clicks, forms, log-ins.",
        {"url": TEXT, "task": TEXT, FINAL: TEXT},
        ["url", "task"],
    )

    def decision(self, call: FunctionCall) -> Decision:
        """See `Action`."""
        url, task = call.arguments["url"].strip(), call.arguments["task"].strip()
        return Decision(self.name, call.why, url=url, task=task, ending=call.ending, call=call.call_id)

    def may_repeat(self, decision: Decision, last: Step, state: State) -> bool:
        """Return True as long as the web gives new results."""
        return gave_something_new(last, state)

    async def run(self, state: State, context: Context) -> Update:
        """See `Action`."""
        decision = decision_of(state)
        origins = origins_of(state, context)
        url = begins_at(decision.url, decision.task, state, origins)
        if not url:
            return failed(state, context, "browse needs the address of a page to begin with: search for it first.")
        task = decision.task or state["question"]
        ruled = judge_task(task, url, origins, has_logins=context.browser.has_logins)
        if (refused := await refused_step(ruled, state, context)) is not None:
            return refused
        may_open = context.browser.may_open
        try:
            outcome = await context.strategy(Role.BROWSER).operate(task, url, present(state, context), origins, context)
        except (WebProblem, ModelError) as problem:
            why = f"browse {url}: {problem.message} {problem.remedy}".strip()
            return await read_instead(state, context, url, why) if may_open(url) else failed(state, context, why)
        for event in outcome.apart:
            context.set_apart(event)
        downloads = await with_files(outcome.files, state, context, source=outcome.url)
        pictures, description = await _seen(outcome, state["question"], context)
        number = source_number(outcome.url, state.get("sources", []))
        finding = _finding(outcome, description, number)
        if not outcome.ok:
            seen = outcome.url if outcome.url.startswith(("http://", "https://")) else url
            now = cast(State, {**state, **downloads})
            if not may_open(seen):
                return {**downloads, **failed(state, context, finding)}
            return {**downloads, **await read_instead(now, context, seen, finding)}
        if outcome.problem:
            context.emit(Note(f"browse {url}: {outcome.problem}"))
        coordinator = context.strategy(Role.COORDINATOR)
        value = coordinator.result_of(outcome.text, state["question"], downloaded=bool(downloads))
        if decision.ending.ends_run:
            value = outcome.text
        done = step(
            state,
            ok=True,
            finding=finding,
            value=value,
            note=kept_whole(state, context, outcome.text),
            pictures=pictures,
        )
        seen_at = CitedSource(number=number, url=outcome.url, title=host_of(outcome.url), quotes=[outcome.text])
        return {**downloads, "steps": [done], "sources": [seen_at] if outcome.text else []}


async def _seen(outcome: BrowserOutcome, question: str, context: Context) -> tuple[list[Picture], str]:
    """Return the last screenshot. If the model sees no pictures and the question is about looks, describe it."""
    picture = next((one.picture for one in reversed(outcome.steps) if one.picture), "")
    if not picture or not (context.sight.is_shown or _ABOUT_LOOKS.search(question)):
        return [], ""
    place = Place(f"the screen at {outcome.url}", Path(picture))
    pictures, description = await seen_pictures([place], context, question, is_read=False)
    return pictures, "" if context.guard is not None and context.guard.blocks(outcome.url, description) else description


def begins_at(url: str, task: str, state: State, origins: Origins) -> str:
    """Return the browser's first address: from the decision, else from the task, the question or the newest finding.

    Addresses in findings are used only if they may be opened.
    """
    decided = [url, task, state["question"]]
    for addresses in (addresses_in, _sites_in):
        for place, text in enumerate([*decided, *(s["finding"] for s in _found(state.get("steps", [])))]):
            for address in map(origins.known_link_for, addresses(text)):
                if place < len(decided) or judge_address(address, origins) == FINE:
                    return address
    return ""


def _found(steps: Sequence[Step]) -> list[Step]:
    return [s for s in reversed(steps) if s["ok"] and s["action"] in LOOKING_ACTIONS]


def _sites_in(text: str) -> list[str]:
    """Return the addresses that are written without a scheme."""
    named = [match[0].rstrip(_TRAILING) for match in _SITE.finditer(text)]
    return [f"{'http' if re.match(_LOCAL, address) else 'https'}://{address}" for address in named]


def _finding(outcome: BrowserOutcome, seen: str, number: int) -> str:
    lines = [
        f"In the browser, at {outcome.url} [{number}]: {outcome.text}" if outcome.text else "",
        seen,
        f"Downloaded: {', '.join(map(str, outcome.files))}" if outcome.files else "",
        f"It did not come to its end: {outcome.problem}." if outcome.problem else "",
        f"Steps: {'; '.join(map(_step_text, outcome.steps))}" if outcome.problem else "",
    ]
    return "\n".join(line for line in lines if line)


def _step_text(step: BrowserStepped) -> str:
    return f"{step.action} ({step.message})" if step.message else step.action
