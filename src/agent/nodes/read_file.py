"""read_file: a page of an attached file, or the lines of it that have some words; a picture is also looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langgraph.runtime import Runtime

from agent.actions.read_page import read_page
from agent.context import Context, failed
from agent.events import FileRead
from agent.material.attached import file_of_run, no_such_file
from agent.material.pages import means_page
from agent.material.pictures import FILMS, PICTURES, places_in, seen_pictures, watched
from agent.models.protocol import Role
from agent.state import AttachedFile, State
from agent.steps import decision_of, step
from mcp_tools.text import printable

_READ_BY_OCR = PICTURES | FILMS | {"pdf"}
"""Kinds whose readers read the text of pictures themselves."""


async def read_file(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Reads where the decision says; the text, what is not in it and how to read on are the step's finding."""
    context, decision = runtime.context, decision_of(state)
    if means_page(decision):
        return await read_page(state, context)
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
    said = ""
    if decision.page == 1 and not decision.find:
        said = await watched(Path(file["path"]), file["kind"], context, state["question"])
    places = [] if decision.find or said else places_in(file, part, decision.page)
    is_read = file["kind"] in _READ_BY_OCR
    pictures, told = await seen_pictures(places, context, state["question"], is_read=is_read)
    return {"steps": [step(state, ok=True, finding=_finding(file, part, said or told), pictures=pictures)]}


def _finding(file: AttachedFile, part: dict[str, Any], told: str) -> str:
    lines = [
        f"read_file {file['name']} ({part['where']}): {printable(file['summary'])}",
        part["text"],
        told,
        f"Not shown: {' '.join(part['lost'])}" if part["lost"] else "",
        f"Notes: {' '.join(part['notes'])}" if part.get("notes") else "",
        f"To read on: {part['more']}" if part["more"] else "",
    ]
    return "\n".join(line for line in lines if line.strip())
