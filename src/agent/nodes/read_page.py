"""The part of read_file that reads the web: a screenful of a page, or the lines of it that have some words."""

from __future__ import annotations

from typing import Any

from agent.attached import with_files
from agent.context import Context
from agent.errors import StoppedError
from agent.events import Note
from agent.models.protocol import Role
from agent.pages import links_in, resolved
from agent.permission import origins_of, unless_wanted
from agent.provenance import of_address
from agent.state import AttachedFile, CitedSource, Decision, State
from agent.steps import decision_of, step, step_number
from agent.web.address import canonical
from agent.web.protocol import Page, WebProblem
from mcp_tools.text import one_line, printable

_NO_WEB = "Nothing reads the web here: answer without."


async def read_page(state: State, context: Context) -> dict[str, Any]:
    """Reads where the decision says; the text and how to read on are the step's finding."""
    decision = resolved(decision_of(state), state)
    at: State = {**state, "decision": decision.as_json()}
    if context.web is None:
        return _failed(at, context, _NO_WEB)
    ruled = of_address(decision.file, origins_of(at, context))
    if (refused := await unless_wanted(ruled, at, context)) is not None:
        return refused
    try:
        page = await context.web.read(decision.file)
        text = _part(page, decision, context.strategy(Role.COORDINATOR).limits.reading)
    except WebProblem as problem:
        kept = await with_files([problem.path] if problem.path else [], state, context)
        return {**kept, **_failed(at, context, f"{problem.message} {problem.remedy}".strip())}
    except StoppedError as stopped:
        return _failed(at, context, stopped.message)
    number = _number(page.url, state.get("sources", []))
    source = CitedSource(number=number, url=page.url, title=one_line(page.title, 200), quotes=[text])
    return {
        **await _file_of(page, state, context),
        "steps": [
            step(at, ok=True, finding=_finding(page, decision, text, number, _about_links(page, text, at, context)))
        ],
        "links": links_in(text, page, step_number(state)),
        "sources": [source],
    }


async def read_instead(state: State, context: Context, url: str, why: str) -> dict[str, Any]:
    """What a page says that could not be operated; where it cannot be read either, a step that failed.

    Args:
        state: With the decision that failed.
        context: What a run may reach.
        url: The page.
        why: What was tried, and why it came to nothing.
    """
    size = context.strategy(Role.COORDINATOR).limits.reading
    if context.web is None or "search" in state.get("without", []):
        return _failed(state, context, why)
    try:
        page = await context.web.read(url)
        text = _part(page, Decision("read_file", file=url), size)
    except (WebProblem, StoppedError) as problem:
        return _failed(state, context, f"{why}\nIt cannot be read either: {problem.message}")
    context.emit(Note(f"{one_line(why, 200)} Its page is read instead."))
    number = _number(page.url, state.get("sources", []))
    head = f"The page [{number}] was read instead; read_file {page.url} reads on: {one_line(page.title, 160)}"
    lines = (why, head, printable(text), _about_links(page, text, state, context))
    finding = "\n".join(line for line in lines if line)
    return {
        **await _file_of(page, state, context),
        "steps": [step(state, ok=True, finding=finding)],
        "links": links_in(text, page, step_number(state)),
        "sources": [CitedSource(number=number, url=page.url, title=one_line(page.title, 200), quotes=[text])],
    }


async def _file_of(page: Page, state: State, context: Context) -> dict[str, list[AttachedFile]]:
    """The attached files with the one that the page is, if it is one."""
    return await with_files([page.path] if page.path is not None else [], state, context)


def _part(page: Page, decision: Decision, size: int) -> str:
    from agent.web.reading.paged import PagedView

    view = PagedView(page, size)
    return view.find(decision.find, decision.page) if decision.find.strip() else view.at(decision.page)


def _about_links(page: Page, text: str, state: State, context: Context) -> str:
    """How a link is followed, and the addresses where they are few."""
    links = links_in(text, page, step_number(state))
    if not links:
        return ""
    followed = f"A link [text][n] is followed by read_file with `link {step_number(state)}.n`"
    addresses = ", ".join(f"{name} is {url}" for name, url in links.items())
    is_short = len(addresses) <= context.strategy(Role.COORDINATOR).limits.addresses
    return f"{followed}: {addresses}" if is_short else f"{followed}."


def _finding(page: Page, decision: Decision, text: str, number: int, about_links: str) -> str:
    where = f", looking for {decision.find!r}" if decision.find.strip() else ""
    dated = f", {page.published}" if page.published else ""
    lines = [
        f"read_file {page.url}{where} [{number}]: {one_line(page.title, 160)} ({page.kind}{dated})",
        printable(text),
        f"Of this page: {' '.join(page.notes)}" if page.notes else "",
        about_links,
    ]
    return "\n".join(line for line in lines if line)


def _number(url: str, sources: list[CitedSource]) -> int:
    """The number by which the run cites a page."""
    known = {canonical(source["url"]): source["number"] for source in sources}
    return known.get(canonical(url), max(known.values(), default=0) + 1)


def _failed(state: State, context: Context, text: str) -> dict[str, Any]:
    context.emit(Note(one_line(text, 300)))
    return {"steps": [step(state, ok=False, finding=text)]}
