"""The action that reads a part of a file or web page, or the lines with some words. It also shows pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.actions.action import TEXT, Action, FunctionCall, function_form
from agent.consent.permission import refused_step
from agent.consent.rulings import Verdict, judge_address
from agent.consent.text_origins import Origins
from agent.context import Context, Update, failed
from agent.errors import StoppedError
from agent.events import FileRead, Note
from agent.material.attached import file_of_run, no_such_file, with_files
from agent.material.origins import origins_of
from agent.material.pages import is_page_read, means_page, no_such_link, resolved, shown_page, was_read
from agent.material.pictures import FILMS, PICTURES, Place, page_watched, places_in, seen_pictures, watched
from agent.models.protocol import Role
from agent.state import AttachedFile, CitedSource, Decision, State, Step
from agent.steps import decision_of, step
from agent.web.address import canonical
from agent.web.page import WebProblem
from mcp_tools.text import one_line, printable

_READ_BY_OCR = PICTURES | FILMS | {"pdf"}
"""Kinds of files whose readers apply OCR themselves."""


class Read(Action):
    """Reads a part of a source. The finding has the text, a note about omitted content, and how to read on."""

    name = "read_file"
    function = function_form(
        "read",
        "Reads a file, or a page by address or `link 7`; `find`: only near these words.",
        {
            "source": TEXT,
            "page": {"type": "integer", "minimum": 1},
            "find": TEXT,
        },
        ["source"],
    )

    def decision(self, call: FunctionCall) -> Decision:
        """See `Action`."""
        source, page = call.arguments["source"], call.arguments.get("page", 1)
        find = call.arguments.get("find", "")
        return Decision(self.name, call.why, file=source, page=page, find=find, call=call.call_id)

    def refusal(self, decision: Decision, state: State) -> str:
        """See `Action`."""
        if means_page(decision) and "search" in state.get("without", []):
            return "pages of the web are not read in this run."
        return no_such_link(decision, state) or ""

    def may_repeat(self, decision: Decision, last: Step, state: State) -> bool:
        """Return True as long as an attached file is unread."""
        return has_unread_file(state) and not means_page(decision)

    def ruling(self, url: str, origins: Origins) -> Verdict:
        """Return the ruling on opening a page."""
        return judge_address(url, origins)

    async def run(self, state: State, context: Context) -> Update:
        """See `Action`."""
        decision = decision_of(state)
        if means_page(decision):
            return await self._read_page(state, context)
        ocr = bool(decision.find) or not context.sight.is_shown
        file = await file_of_run(decision.file, state, context, ocr=ocr)
        if file is None:
            return failed(state, context, no_such_file(decision.file, state))
        if file["problem"]:
            return failed(state, context, f"{file['name']} cannot be read: {file['problem']}")
        limits = context.strategy(Role.COORDINATOR).limits
        part = await context.reader.read(
            Path(file["path"]),
            file["name"],
            page=decision.page,
            find=decision.find,
            limit=limits.reading,
            section=limits.section,
            ocr=ocr,
        )
        if problem := part.get("problem"):
            context.emit(FileRead(file["name"], file["kind"], decision.find, ok=False, message=problem))
            return {"steps": [step(state, ok=False, finding=f"read_file {file['name']}: {problem}")]}
        context.emit(FileRead(file["name"], file["kind"], part["where"], tuple(part["lost"])))
        seen = ""
        if decision.page == 1 and not decision.find:
            seen = await watched(Path(file["path"]), file["kind"], context, state["question"])
        places = [] if decision.find or seen else places_in(file, part, decision.page)
        is_read = file["kind"] in _READ_BY_OCR
        pictures, description = await seen_pictures(places, context, state["question"], is_read=is_read)
        return {"steps": [step(state, ok=True, finding=_finding(file, part, seen or description), pictures=pictures)]}

    async def _read_page(self, state: State, context: Context) -> Update:
        decision = resolved(decision_of(state), state)
        origins = origins_of(state, context)
        decision = replace(decision, file=origins.known_link_for(decision.file))
        at: State = {**state, "decision": decision}
        ruled = self.ruling(decision.file, origins)
        if (refused := await refused_step(ruled, at, context)) is not None:
            return refused
        try:
            return await _read(decision, at, context)
        except WebProblem as problem:
            kept = await with_files([problem.path] if problem.path else [], state, context)
            return {**kept, **failed(at, context, f"{problem.message} {problem.remedy}".strip())}
        except StoppedError as stopped:
            return failed(at, context, stopped.message)


def _finding(file: AttachedFile, part: dict[str, Any], description: str) -> str:
    lines = [
        f"read_file {file['name']} ({part['where']}): {printable(file['summary'])}",
        part["text"],
        description,
        f"Not shown: {' '.join(part['lost'])}" if part["lost"] else "",
        f"Notes: {' '.join(part['notes'])}" if part.get("notes") else "",
        f"To read on: {part['more']}" if part["more"] else "",
    ]
    return "\n".join(line for line in lines if line.strip())


async def read_instead(state: State, context: Context, url: str, why: str) -> Update:
    """Read a page whose browser task failed, with `why` as the first line. Return a failed step if this fails, too."""
    if "search" in state.get("without", []):
        return failed(state, context, why)
    try:
        read = await _read(Decision("read_file", file=url), state, context, f"{why}\nThe page was read instead:\n")
    except (WebProblem, StoppedError) as problem:
        return failed(state, context, f"{why}\nIt cannot be read either: {problem.message}")
    context.emit(Note(f"{one_line(why, 200)} Its page is read instead."))
    return read


async def _read(decision: Decision, state: State, context: Context, before: str = "") -> Update:
    """Return the requested part of a page with its links and source; and, if the page is a file, the attached file."""
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
    pictures, description = await seen_pictures(places, context, state["question"], is_read=True)
    finding = "\n".join(filter(None, [f"{before}{seen.finding}", description]))
    return {
        **brought,
        "steps": [step(state, ok=True, finding=finding, note=seen.note, pictures=pictures)],
        "links": seen.links,
        "sources": [CitedSource(number=number, url=page.url, title=one_line(page.title, 200), quotes=quotes)],
    }


def source_number(url: str, sources: list[CitedSource]) -> int:
    """Return the number by which the run cites a page."""
    known = {canonical(source["url"]): source["number"] for source in sources}
    return known.get(canonical(url), max(known.values(), default=0) + 1)


def has_unread_file(state: State) -> bool:
    """Return True if an attached file is unread and no reading has failed."""
    reads = [one["ok"] for one in state.get("steps", []) if one["action"] == "read_file" and not is_page_read(one)]
    return len(reads) < len(state.get("files", [])) and all(reads)
