"""The part of read_file that reads the web: a screenful of a page, or the lines of it that have some words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agent.consent.permission import unless_wanted
from agent.consent.provenance import of_address
from agent.context import failed
from agent.errors import StoppedError
from agent.events import Note
from agent.material.attached import with_files
from agent.material.origins import origins_of
from agent.material.pages import resolved, shown_page, was_read
from agent.material.pictures import PICTURES, Place, page_watched, seen_pictures
from agent.models.protocol import Role
from agent.state import CitedSource, Decision, State
from agent.steps import decision_of, step
from agent.web.address import canonical
from agent.web.page import WebProblem
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.context import Context


async def read_page(state: State, context: Context) -> dict[str, Any]:
    """Reads where the decision says; the text and how to read on are the step's finding."""
    decision = resolved(decision_of(state), state)
    origins = origins_of(state, context)
    decision = replace(decision, file=origins.meant(decision.file))
    at: State = {**state, "decision": decision.as_json()}
    ruled = of_address(decision.file, origins)
    if (refused := await unless_wanted(ruled, at, context)) is not None:
        return refused
    try:
        return await _read(decision, at, context)
    except WebProblem as problem:
        kept = await with_files([problem.path] if problem.path else [], state, context)
        return {**kept, **failed(at, context, f"{problem.message} {problem.remedy}".strip())}
    except StoppedError as stopped:
        return failed(at, context, stopped.message)


async def read_instead(state: State, context: Context, url: str, why: str) -> dict[str, Any]:
    """What a page says that could not be operated, after `why`; where it cannot be read either, a step that failed."""
    if "search" in state.get("without", []):
        return failed(state, context, why)
    try:
        read = await _read(Decision("read_file", file=url), state, context, f"{why}\nThe page was read instead:\n")
    except (WebProblem, StoppedError) as problem:
        return failed(state, context, f"{why}\nIt cannot be read either: {problem.message}")
    context.emit(Note(f"{one_line(why, 200)} Its page is read instead."))
    return read


async def _read(decision: Decision, state: State, context: Context, before: str = "") -> dict[str, Any]:
    """What a page says where the decision wants it, with its links, its source, and the file that it may be."""
    page = await page_watched(decision.file, context, state["question"])
    number = source_number(page.url, state.get("sources", []))
    limits = context.strategy(Role.COORDINATOR).limits
    brought = await with_files([page.path] if page.path is not None else [], state, context)
    seen = shown_page(
        page,
        decision,
        number,
        state.get("links", {}),
        reading=limits.reading,
        addresses=limits.addresses,
        workspace=context.workspace,
        is_new=not was_read(decision.file, state.get("steps", [])),
        is_previewed=bool(brought),
    )
    quotes = [seen.text] if seen.text else []
    places = [Place(page.path.name, page.path)] if page.path is not None and page.kind in PICTURES else []
    pictures, told = await seen_pictures(places, context, state["question"], is_read=True)
    finding = "\n".join(filter(None, [f"{before}{seen.finding}", told]))
    return {
        **brought,
        "steps": [step(state, ok=True, finding=finding, note=seen.note, pictures=pictures)],
        "links": seen.links,
        "sources": [CitedSource(number=number, url=page.url, title=one_line(page.title, 200), quotes=quotes)],
    }


def source_number(url: str, sources: list[CitedSource]) -> int:
    """The number by which the run cites a page."""
    known = {canonical(source["url"]): source["number"] for source in sources}
    return known.get(canonical(url), max(known.values(), default=0) + 1)
