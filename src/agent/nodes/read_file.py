"""read_file: a page of an attached file, or the lines of it that have some words; a picture is also looked at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langgraph.runtime import Runtime

from agent.attached import PICTURES, file_named, no_such_file
from agent.context import Context
from agent.events import FileRead, Note
from agent.models.protocol import Role
from agent.nodes.read_page import read_page
from agent.pages import means_page
from agent.pictures import can_be_sent, describe_picture
from agent.state import AttachedFile, State
from agent.steps import decision_of, step
from mcp_tools.text import printable


async def read_file(state: State, runtime: Runtime[Context]) -> dict[str, Any]:
    """Reads where the decision says; the text, what is not in it and how to read on are the step's finding."""
    context, decision = runtime.context, decision_of(state)
    if means_page(decision):
        return await read_page(state, context)
    file = file_named(decision.file, state)
    if file is None or context.reader is None:
        return _failed(state, context, no_such_file(decision.file, state.get("attached", [])))
    if file["problem"]:
        return _failed(state, context, f"{file['name']} cannot be read: {file['problem']}")
    limits = context.strategy(Role.COORDINATOR).limits
    part = await context.reader.read(
        Path(file["path"]),
        file["name"],
        page=decision.page,
        find=decision.find,
        limit=limits.reading,
        section=limits.section,
    )
    if problem := part.get("problem"):
        context.emit(FileRead(file["name"], file["kind"], decision.find, ok=False, message=problem))
        return {"steps": [step(state, ok=False, finding=f"read_file {file['name']}: {problem}")]}
    context.emit(FileRead(file["name"], file["kind"], part["where"], tuple(part["lost"])))
    is_shown = context.reads_pictures and "since" not in file and can_be_sent(file)
    seen = await describe_picture(context, file, state["question"]) if file["kind"] in PICTURES and not is_shown else ""
    return {"steps": [step(state, ok=True, finding=_finding(file, part, seen))]}


def _finding(file: AttachedFile, part: dict[str, Any], seen: str) -> str:
    lines = [
        f"read_file {file['name']} ({part['where']}): {printable(file['summary'])}",
        part["text"],
        f"What a model sees in it: {seen}" if seen else "",
        f"Not shown: {' '.join(part['lost'])}" if part["lost"] else "",
        f"To read on: {part['more']}" if part["more"] else "",
    ]
    return "\n".join(line for line in lines if line.strip())


def _failed(state: State, context: Context, text: str) -> dict[str, Any]:
    context.emit(Note(text))
    return {"steps": [step(state, ok=False, finding=text)]}
