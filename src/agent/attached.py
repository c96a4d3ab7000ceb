"""The files that came with a question: looked at once, shown as data in prompts, granted to programs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from agent.context import Context
from agent.events import FileRead
from agent.state import AttachedFile, State, Step
from agent.web.injection import findings
from mcp_tools.prompt import data_block
from mcp_tools.text import printable

TABLES = frozenset(["csv", "tsv", "xlsx", "xls", "xlsb", "ods", "sqlite", "jsonl", "pdb", "cif"])
TREES = frozenset(["json", "jsonld", "xml"])
PICTURES = frozenset(["png", "jpeg", "gif", "webp", "bmp", "tiff", "svg"])
ARCHIVES = frozenset(["zip", "tar", "gz", "bz2", "xz"])
_MEMBERS = 12
"""Files of archives that are looked at; the others stand in the archive's summary."""
_SHOWN = 4_000
"""Characters of beginnings in one prompt, all files together."""


async def look_at_files(context: Context) -> list[AttachedFile]:
    """Looks at each attached file, and at what is in archives."""
    found: list[AttachedFile] = []
    for path in context.files:
        seen = await _look(context, path, path.name)
        found.append(seen)
        if seen["kind"] in ARCHIVES:
            names = _member_names(seen["data"])
            for member, name in list(zip(seen["data"], names, strict=True))[:_MEMBERS]:
                found.append(await _look(context, Path(member), f"{path.name}/{name}"))
    return found


async def attach(context: Context, path: Path, name: str) -> AttachedFile:
    """A file of the web as one that came with the question: programs may open it."""
    seen = await _look(context, path, name)
    return {**seen, "data": list(dict.fromkeys([*seen["data"], str(path)]))}


async def with_files(
    paths: Sequence[Path], state: State, context: Context, *, source: str = ""
) -> dict[str, list[AttachedFile]]:
    """The attached files with those that the web brought: they can be read, and programs may open them.

    Args:
        paths: Where they are kept.
        state: With the files that are attached already.
        context: What a run may reach.
        source: The address that they came from: what the guard keeps from the agent is left out. Empty for what it
            has let pass.
    """
    before = state.get("attached", [])
    known = {file["path"] for file in before}
    new: list[AttachedFile] = []
    for path in paths if context.reader is not None else ():
        if str(path) in known:
            continue
        seen = await attach(context, path, path.name)
        if not source or context.guard is None or not await context.guard.blocks_page(source, seen["beginning"]):
            new.append(seen)
    return {"attached": [*before, *new]} if new else {}


async def _look(context: Context, path: Path, name: str) -> AttachedFile:
    assert context.reader is not None, "a run with files has a reader"
    seen = await context.reader.look(path, name)
    context.emit(
        FileRead(name, seen["kind"], "preview", tuple(seen["lost"]), ok=not seen["problem"], message=seen["problem"])
    )
    for found in findings(name, seen["beginning"]):
        context.emit(found)
    return seen


def _member_names(paths: Sequence[str]) -> list[str]:
    """The paths without the folder that they have in common."""
    if len(paths) < 2:
        return [Path(path).name for path in paths]
    common = len(Path(paths[0]).parts)
    for path in paths:
        parts, first = Path(path).parts[:-1], Path(paths[0]).parts
        common = min(common, next((n for n, part in enumerate(parts) if first[n : n + 1] != (part,)), len(parts)))
    return [str(Path(*Path(path).parts[common:])) for path in paths]


def granted(state: State, context: Context) -> tuple[Path, ...]:
    """What programs may read: the files, and the folders of what was made of them."""
    folders = [
        Path(os.path.commonpath([Path(path).parent for path in file["data"]]))
        for file in state.get("attached", [])
        if file["data"]
    ]
    return tuple(dict.fromkeys((*context.files, *folders)))


def readable(state: State) -> list[AttachedFile]:
    """The files that can be read, archives left out where what is in them was looked at too."""
    files = [file for file in state.get("attached", []) if not file["problem"]]
    return [file for file in files if not any(other["name"].startswith(f"{file['name']}/") for other in files)]


def file_named(name: str, state: State) -> AttachedFile | None:
    """The file that a decision means: by its name, its path or the end of it; without a name the next unread one."""
    files = state.get("attached", [])
    if not name:
        return next_unread(state) or (files[0] if files else None)
    for file in files:
        if name in (file["name"], file["path"]):
            return file
    return next((file for file in files if Path(file["name"]).name == Path(name).name), None)


def next_unread(state: State) -> AttachedFile | None:
    """The first file of which nothing was read yet."""
    return next(iter(unread_files(state)), None)


def unread_files(state: State) -> list[AttachedFile]:
    """The files of which nothing was read yet."""
    return [file for file in readable(state) if not was_read(file, state.get("steps", []))]


def was_read(file: AttachedFile, steps: Sequence[Step]) -> bool:
    """Whether a step has read in a file, or tried to."""
    head = f"read_file {file['name']}"
    return any(
        step["action"] == "read_file" and (step["input"] == head or step["input"].startswith(f"{head} "))
        for step in steps
    )


def files_text(files: Sequence[AttachedFile]) -> str:
    """All files as a prompt shows them: what they are, how they begin, and what is not shown, marked as data."""
    room = max(300, _SHOWN // max(len(files), 1))
    return "\n".join(data_block(file["name"], _described(file, room)) for file in files)


def _described(file: AttachedFile, room: int) -> str:
    if file["problem"]:
        return f"path: {file['path']}\nIt cannot be read: {printable(file['problem'])}"
    beginning = printable(file["beginning"])
    cut = f"\n[… {len(beginning) - room:,} characters of the preview left out …]" if len(beginning) > room else ""
    pages = f", {file['sections']:,} page{'s' * (file['sections'] != 1)} to read" if file["sections"] else ""
    lines = [
        f"path: {file['path']}",
        f"kind: {file['kind']}, {file['size']:,} bytes{pages}",
        printable(file["summary"]),
        f"It begins:\n{beginning[:room]}{cut}" if beginning else "",
        f"Not shown: {printable(' '.join(file['lost']))}" if file["lost"] else "",
        f"For programs also: {', '.join(file['data'][:5])}" if file["data"] else "",
    ]
    return "\n".join(line for line in lines if line)
