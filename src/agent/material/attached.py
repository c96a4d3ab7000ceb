"""The files attached to a question: inspected once, shown as data in prompts, and readable by programs."""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.events import FileRead
from agent.files.contents import TABLES_FOLDER
from agent.files.kinds import KINDS, kinds_in
from agent.files.previews import ROOM, shares
from agent.material.pictures import PICTURES, places_in, seen_pictures
from agent.models.protocol import Role
from agent.state import AttachedFile, State, Step
from mcp_tools.errors import LibraryError, UnknownToolError
from mcp_tools.prompt import DataText, data_block, data_blocks
from mcp_tools.text import count_of, middle_left_out, printable
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.context import Context

ARCHIVES = kinds_in("archive")
TABLES_AND_DATA = kinds_in("table", "data")
DATA = TABLES_AND_DATA | ARCHIVES
"""Kinds of files that programs compute with."""
TEXTS = frozenset(kind.name for kind in KINDS.values() if kind.for_programs == "its text")
_TAKES_PATH = re.compile(r"(?:^|_)(?:path|file|filename)(?:_|$)", re.IGNORECASE)
_MEMBERS = 12
_MOST_MEMBERS = 40
"""Maximum number of an archive's members to inspect. Only short members count."""
_NOTE = 4_000  # maximum bytes of a text that describes the other files
ROOM_OF_ALL = 24_000
"""Maximum characters of all previews in a prompt."""


async def look_at_files(context: Context, known: Sequence[AttachedFile] = ()) -> list[AttachedFile]:
    """Inspect each attached file that is not known yet, and the files in archives."""
    found: list[AttachedFile] = []
    ocr = not context.sight.is_shown
    paths = {file["path"] for file in known}
    for path in context.files:
        if str(path) in paths:
            continue
        seen = await _look(context, path, path.name, ocr=ocr)
        found.append(seen)
        for name, member in _first_members(seen):
            found.append(await _look(context, Path(member), f"{path.name}/{name}", ocr=ocr))
    for number, file in enumerate(found if not ocr else []):
        if file["kind"] in PICTURES:  # so that the answering model sees it
            pictures, _ = await seen_pictures(places_in(file, {}, 1), context, "", is_read=True)
            found[number] = {**file, "pictures": pictures}
    return found


async def attach(context: Context, path: Path, name: str, *, ocr: bool = True) -> AttachedFile:
    """Return a file from the web or of this run as an attached file, which programs may open."""
    seen = await _look(context, path, name, ocr=ocr)
    return {**seen, "data": list(dict.fromkeys([*seen["data"], str(path)]))}


async def with_files(
    paths: Sequence[Path], state: State, context: Context, *, source: str = ""
) -> dict[str, list[AttachedFile]]:
    """Return the update that adds files from the web to the attached files, so that programs may open them.

    A file from the address `source` is left out if the guard blocks it.
    """
    before = state.get("attached", [])
    known = {file["path"] for file in before}
    new: list[AttachedFile] = []
    for path in paths:
        if str(path) not in known:
            seen: AttachedFile = {**await attach(context, path, path.name), "since": len(state.get("steps", [])) + 1}
            if not source or context.guard is None or not await context.guard.blocks_page(source, seen["beginning"]):
                new.append(seen)
    return {"attached": [*before, *new]} if new else {}


async def _look(context: Context, path: Path, name: str, *, ocr: bool = True) -> AttachedFile:
    section = context.strategy(Role.COORDINATOR).limits.section
    seen = await context.reader.look(path, name, section=section, ocr=ocr)
    context.emit(
        FileRead(name, seen["kind"], "preview", tuple(seen["lost"]), ok=not seen["problem"], message=seen["problem"])
    )
    return seen


def _members(file: AttachedFile) -> dict[str, str]:
    """Return the paths of an archive's files, by their names in the archive."""
    named: Any = file["facts"].get("files", []) if file["kind"] in ARCHIVES else []
    pairs = zip((str(one["name"]) for one in named), file["data"], strict=False)
    return {name: path for name, path in pairs if path.endswith(f"/{name}")}


def _first_members(archive: AttachedFile) -> list[tuple[str, str]]:
    """Return the archive's files to inspect: short texts such as a README, then one file of each series of names."""
    about: dict[str, Any] = {one["name"]: one for one in archive["facts"].get("files", [])}
    seen = Counter[tuple[str, str]]()

    def order(member: tuple[str, str]) -> tuple[bool, int]:
        name = member[0]
        seen[alike := (about[name]["kind"], _letters(name))] += 1
        return about[name]["kind"] not in ("txt", "md") or about[name]["bytes"] > _NOTE, seen[alike]

    members = list(_members(archive).items())
    fits = len(members) <= _MOST_MEMBERS and sum(about[name]["bytes"] for name, _ in members) <= ROOM_OF_ALL // 2
    return members if fits or len(members) <= _MEMBERS else sorted(members, key=order)[:_MEMBERS]


def _letters(name: str) -> str:
    """Return the file name without numbers, which is the same for all files of a series."""
    return re.sub(r"[\W\d_]+", "", name.rpartition("/")[2])


def granted(state: State, context: Context) -> tuple[Path, ...]:
    """Return the paths that programs may read: files, folders with extracted contents, and the workspace."""
    made = [[Path(path).parent for path in file["data"]] for file in state.get("attached", []) if file["data"]]
    folders = [Path(os.path.commonpath(parents)) for parents in made]
    if (folder := state.get("folder")) is not None:
        folders.append(Path(folder["path"]))
    if context.workspace.is_used:
        folders.append(context.workspace.folder)
    return tuple(dict.fromkeys((*present(state, context), *folders)))


def present(state: State, context: Context) -> tuple[Path, ...]:
    """Return the files of the question that are not missing."""
    missing = {file["path"] for file in state.get("attached", []) if is_missing(file)}
    return tuple(path for path in context.files if str(path) not in missing)


def is_missing(file: AttachedFile) -> bool:
    """Return True if the file is missing or cannot be opened."""
    return file["facts"].get("problem") == "missing"


def readable(state: State) -> list[AttachedFile]:
    """Return the files that can be read, without archives whose members were inspected."""
    files = [file for file in state.get("attached", []) if not file["problem"]]
    return [file for file in files if not any(other["name"].startswith(f"{file['name']}/") for other in files)]


def file_named(name: str, state: State) -> AttachedFile | None:
    """Return the file with a name or path; without a name, the next unread file."""
    files = state.get("attached", [])
    if not name:
        return next(iter([*unread_files(state), *files]), None)
    path = paths_by_name(files).get(name.removeprefix("./"), name)
    path = next((file["path"] for file in files if file.get("given") == path), path)
    return next((file for file in files if file["path"] == path), None)


async def file_of_run(name: str, state: State, context: Context, *, ocr: bool = True) -> AttachedFile | None:
    """Return the file with this name: attached, made by this run, in the user's folder, or a library tool's source.

    With `ocr`, text in pictures is also read.
    """
    file = file_named(name, state)
    if file is not None or not name:
        return file
    made = path_made(name, state, context) or await _source_of_tool(name, context)
    made = made or await file_in_folder(name, state, context)
    return None if made is None else await attach(context, made, made.name, ocr=ocr)


async def _source_of_tool(name: str, context: Context) -> Path | None:
    """Return a copy of the source of a library tool, named `NAME.py`; None if there is none."""
    if not name.endswith(".py") or not name.removesuffix(".py").isidentifier():
        return None
    try:
        tool = await context.library.get(name.removesuffix(".py"))
    except (UnknownToolError, LibraryError):
        return None
    return context.workspace.keep_text(name, tool.source)


async def file_in_folder(name: str, state: State, context: Context) -> Path | None:
    """Return a copy of a file in the user's folder, by its relative path. Links are not followed.

    Readers get a copy, because a program may replace the file with a link at any time.
    """
    if (folder := state.get("folder")) is None:
        return None
    path = Path(name)
    for place in (folder["path"], folder["root"]):
        path = path.relative_to(place) if path.is_relative_to(place) else path
    return None if path.is_absolute() else await context.reader.copy(Path(folder["path"]), path.as_posix())


def path_made(name: str, state: State, context: Context) -> Path | None:
    """Return a file that this run has made, by its name or path."""
    made = {Path(path).name: Path(path) for file in state.get("attached", []) for path in file["data"]}
    path = made.get(name, Path(name))
    if path in made.values():
        return path
    return context.workspace.file(name)


def paths_by_name(files: Sequence[AttachedFile]) -> dict[str, str]:
    """Return the paths of files by each unambiguous name.

    A file in an archive has the name `pack.zip/data/in.txt`, and also `data/in.txt` and `in.txt`, unless that is
    another file's full name. Names shared by several files are left out.
    """
    whole, ends = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for file in files:
        inside = {f"{file['name']}/{name}": path for name, path in _members(file).items()}
        for name, path in {file["name"]: file["path"], **inside}.items():
            parts = name.split("/")
            whole[name].add(path)
            for start in range(1, len(parts)):
                ends["/".join(parts[start:])].add(path)
    return {name: min(paths) for name, paths in {**ends, **whole}.items() if len(paths) == 1}


def with_paths(arguments: dict[str, Json], state: State) -> dict[str, Json]:
    """Return the arguments with names of attached files replaced by paths, in parameters called path or file."""
    paths = paths_by_name(state.get("attached", []))
    return {
        name: paths.get(value, value) if isinstance(value, str) and _TAKES_PATH.search(name) else value
        for name, value in arguments.items()
    }


def no_such_file(name: str, state: State) -> str:
    """Return the message for a name that matches no file or several files."""
    files = state.get("attached", [])
    if (folder := state.get("folder")) is not None:
        return f"There is no file {name!r} in {folder['path']}, or it is a link or too large; programs list the folder."
    if not files:
        return "No file is attached."
    known = paths_by_name(files)
    listed = ", ".join(file["name"] if file["name"] in known else file["path"] for file in files)
    return f"There is no attached file {name!r}; the files are: {listed}."


def unread_files(state: State) -> list[AttachedFile]:
    """Return the unread files of this turn."""
    new = (file for file in readable(state) if file.get("since") != 0)
    return [file for file in new if not was_read(file, state.get("steps", []))]


def was_read(file: AttachedFile, steps: Sequence[Step]) -> bool:
    """Return True if a step has read, or tried to read, a part of a file."""
    reads = re.compile(rf"read_file {re.escape(file['name'])}(?: find .*)?(?: page \d+)?", re.DOTALL)
    return any(step["action"] == "read_file" and reads.fullmatch(step["input"]) for step in steps)


def files_text(files: Sequence[AttachedFile], room: int = ROOM_OF_ALL) -> DataText:
    """Return all files as a prompt shows them, marked as data, each with its kind, its beginning and the share shown.

    All beginnings share `room` characters. If an archive has members whose names differ only in numbers, all are shown
    if there is room. Otherwise, the first is shown and the others are named.
    """
    fits = sum(len(part) for file in files for part in file["parts"]) <= room
    archives = [file["name"] for file in files if file["kind"] in ARCHIVES]
    first: dict[str, str] = {}
    alike: dict[str, list[str]] = {}
    for file in files:
        name = file["name"]
        archive = next((one for one in archives if name.startswith(f"{one}/")), name)
        form = [file["facts"].get(key) for key in ("delimiter", "decimal", "encoding", "header")]
        key = json.dumps([archive, file["kind"], _letters(name), file["headers"], form])
        if fits or archive == name or file["problem"] or first.setdefault(key, name) == name:
            alike[name] = []
        else:
            alike[first[key]].append(name.removeprefix(f"{archive}/"))
    shown = [file for file in files if file["name"] in alike]
    rooms = shares([sum(map(len, file["parts"])) for file in shown], room)
    return data_blocks(
        data_block(file["name"], _described(file, given, alike[file["name"]]))
        for file, given in zip(shown, rooms, strict=True)
    )


def _described(file: AttachedFile, room: int, alike: Sequence[str]) -> str:
    if file["problem"]:
        where = "" if is_missing(file) else f"path: {file['path']}, {file['size']:,} bytes\n"
        return f"{where}It cannot be read: {printable(file['problem'])}"
    sizes, label = [len(part) for part in file["parts"]], file["label"] if sum(map(len, file["parts"])) <= room else ""
    parts = [middle_left_out(part, most) for part, most in zip(file["parts"], shares(sizes, room), strict=True)]
    is_whole = label.startswith("complete")
    pages = f", {file['sections']:,} pages to read" if (file["sections"] or 0) > 1 and not is_whole else ""
    cut = "" if is_whole or file["kind"] in PICTURES else f" (more than {ROOM:,} characters are shown in part)"
    lines = [
        f"path: {file['path']}",
        f"kind: {file['kind']}, {file['size']:,} bytes{pages}",
        file["summary"],
        f"Shown: {label}{cut}" if label else "",
        "\n\n".join(parts),
        f"Not shown: {' '.join(file['lost'])}" if file["lost"] else "",
        f"Notes: {' '.join(file['notes'])}" if file.get("notes") else "",
        _for_programs(file, is_whole=is_whole),
        f"Of the same form, not shown: {', '.join(alike)}" if alike else "",
    ]
    return "\n".join(printable(line) for line in lines if line)


_TEXT_COPY = "/text.md"
_SIDE_FILES = {
    ".pages.jsonl": """a line for each page, {"page": 1, "text": "…"}""",
    ".transcript.json": """{"engine": …, "text": "…", "pieces": [{"start": 0.5, "end": 2, "text": "…"}]} in seconds""",
    _TEXT_COPY: "its whole text",
}
"""Descriptions of the files that readers write, by suffix."""


def _for_programs(file: AttachedFile, *, is_whole: bool) -> str:
    """Return the paths of a file's extracted contents for programs, without texts that are shown whole."""
    for name, path in _members(file).items():
        return f"For programs, unpacked in the folder: {path.removesuffix(f'/{name}')}"
    made = [path for path in file["data"] if path != file["path"] and not (is_whole and path.endswith(_TEXT_COPY))]
    tables = [path for path in made if Path(path).parent.name == TABLES_FOLDER]
    made = [path for path in made if path not in tables]
    descriptions = {path: next((what for end, what in _SIDE_FILES.items() if path.endswith(end)), "") for path in made}
    others = [path for path, what in descriptions.items() if not what]
    lines = [
        f"For programs also{f' ({what})' if what else ''}: {path}"
        for path, what in descriptions.items()
        if what or len(others) <= 3
    ]
    if tables:
        named = ", ".join(tables) if len(tables) <= 3 else f"{len(tables)} files in {Path(tables[0]).parent}"
        lines.append(f"For programs also (its {count_of(len(tables), 'table')} as CSV, in order): {named}")
    if len(others) > 3:
        lines.append(f"For programs also: {len(others)} files in {os.path.commonpath(others)}")
    return "\n".join(lines)
