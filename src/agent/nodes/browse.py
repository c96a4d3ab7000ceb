"""browse: a site is operated in a browser; where that fails, its page is read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from langgraph.runtime import Runtime

from agent.attached import present, with_files
from agent.browser.protocol import Outcome
from agent.context import Context
from agent.errors import ModelError
from agent.events import BrowserStepped, Note
from agent.models.protocol import Role
from agent.nodes.read_page import read_instead
from agent.permission import origins_of, unless_wanted
from agent.pictures import describe_picture
from agent.provenance import FINE, Origins, of_address, of_task
from agent.state import AttachedFile, State, Step
from agent.steps import decision_of, step
from agent.web.protocol import WebProblem

_ADDRESS = re.compile(r"https?://(?:\[[0-9a-f:.]+\])?[^\s<>\"'“”‘’`)\]]+", re.IGNORECASE)
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
_MOST_READ = 1_500
"""Characters of a screen's text."""
_TRAILING = ".,;:!?"


async def browse(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Does in a browser what the decision says; the step's finding is the answer, or what was seen until it ended."""
    context, decision = runtime.context, decision_of(state)
    origins = origins_of(state, context)
    url = begins_at(decision.url, decision.task, state, origins)
    if context.browser is None or not url:
        return _failed(state, context, "browse needs the address of a page to begin with: search for it first.")
    task = decision.task or state["question"]
    if (refused := await unless_wanted(of_task(task, url, origins), state, context)) is not None:
        return refused
    may_open = context.browser.may_open
    try:
        outcome = await context.strategy(Role.BROWSER).operate(task, url, present(state, context), origins, context)
    except (WebProblem, ModelError) as problem:
        why = f"browse {url}: {problem.message} {problem.remedy}".strip()
        return await read_instead(state, context, url, why) if may_open(url) else _failed(state, context, why)
    if not context.browser.is_live:
        context.budget.spend(outcome.usage)
    for event in outcome.apart:
        context.set_apart(event)
    downloads = await with_files(outcome.files, state, context, source=outcome.url)
    finding = _finding(outcome, await _seen(outcome, state["question"], context))
    if not outcome.ok:
        seen = outcome.url if outcome.url.startswith(("http://", "https://")) else url
        now = cast(State, {**state, **downloads})
        read = await read_instead(now, context, seen, finding) if may_open(seen) else _failed(state, context, finding)
        return {**downloads, **read}
    if outcome.problem:
        context.emit(Note(f"browse {url}: {outcome.problem}"))
    coordinator = context.strategy(Role.COORDINATOR)
    value = coordinator.result_of(outcome.text, state["question"], downloaded=bool(downloads))
    return {**downloads, "steps": [step(state, ok=True, finding=finding, value=value)]}


async def _seen(outcome: Outcome, question: str, context: Context) -> str:
    """What is seen on the last picture, where the question is about what pictures show."""
    picture = Path(next((one.picture for one in reversed(outcome.steps) if one.picture), ""))
    if not picture.name or not _ABOUT_LOOKS.search(question):
        return ""
    if context.sees:
        shown = {"name": picture.name, "path": str(picture), "kind": "png", "size": 0}
        return await describe_picture(context, cast(AttachedFile, shown), question)
    if context.reader is None:
        return ""
    part = await context.reader.read(picture, picture.name, page=1, find="", limit=_MOST_READ)
    text = str(part.get("text", ""))
    return "" if context.guard is not None and context.guard.blocks(outcome.url, text) else text


def begins_at(url: str, task: str, state: State, origins: Origins) -> str:
    """Where the browser begins: as decided, else the first address in the task, the question or the newest finding.

    In what was found, only an address counts that may be opened.
    """
    decided = [url, task, state["question"]]
    for pattern in (_ADDRESS, _SITE):
        for place, text in enumerate([*decided, *(s["finding"] for s in _found(state.get("steps", [])))]):
            for match in pattern.finditer(text):
                address = match[0].rstrip(_TRAILING)
                address = address if "://" in address else _with_scheme(address)
                if place < len(decided) or of_address(address, origins) == FINE:
                    return address
    return ""


def _found(steps: Sequence[Step]) -> list[Step]:
    return [s for s in reversed(steps) if s["ok"] and s["action"] in {"search", "browse", "read_file"}]


def _with_scheme(address: str) -> str:
    is_local = re.match(r"localhost|127\.|10\.|192\.168\.", address)
    return f"{'http' if is_local else 'https'}://{address}"


def _finding(outcome: Outcome, seen: str) -> str:
    lines = [
        f"In the browser, at {outcome.url}: {outcome.text}" if outcome.text else "",
        f"On the screen: {seen}" if seen else "",
        f"Downloaded: {', '.join(map(str, outcome.files))}" if outcome.files else "",
        f"It did not come to its end: {outcome.problem}." if outcome.problem else "",
        f"Steps: {'; '.join(map(_told, outcome.steps))}" if outcome.problem else "",
    ]
    return "\n".join(line for line in lines if line)


def _told(step: BrowserStepped) -> str:
    return f"{step.action} ({step.message})" if step.message else step.action


def _failed(state: State, context: Context, text: str) -> dict[str, Any]:
    context.emit(Note(text))
    return {"steps": [step(state, ok=False, finding=text)]}
