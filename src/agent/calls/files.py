"""Inspects, reads and copies the files of a run. A replay opens no file."""

from __future__ import annotations

import asyncio
import csv
import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.calls.recorder import Recorder
from agent.errors import StoppedError
from agent.files.contents import SECTION, TABLES_FOLDER, FileProblem, Source, tables_in
from agent.files.kinds import KINDS
from agent.state import AttachedFile
from agent.user_files import numbered_folder, whole_file, write_file, writing
from agent.web.filenames import safe_name
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.files.media.speech import Speech

KIND = "file"
_MAX_NAMED = 200
"""Maximum number of extracted files to name per file. Programs find the others in the same folder."""
_BEGINNING_CHARS = 1_500
_ALL_PAGES = 100_000
_SHOWN = "shown"
"""Folder for the pictures that are sent to models. File names are hashes of the content."""
_FROM_FOLDER = "folder"
"""Folder for copies from the user's folder. File names are hashes of the content."""
_MAX_COPY_BYTES = 256_000_000
_MAX_TEXT_CHARS = 5_000_000
_MAX_SCRIPT_CHARS = 1_000_000


class RecordedFiles:
    """Inspects and reads files, or returns the recorded results."""

    def __init__(self, folder: Path, calls: Recorder, *, speech: Speech | None = None) -> None:
        self._folder = folder
        self._calls = calls
        self._speech = speech
        self._pictures: dict[tuple[Path, int], dict[str, Any]] = {}

    async def look(self, path: Path, name: str, *, section: int = SECTION, ocr: bool = True) -> AttachedFile:
        """Return the kind and beginning of a file, or why it cannot be read."""
        nothing: AttachedFile = {
            "name": name,
            "path": str(path),
            "kind": "",
            "size": _size(path),
            "summary": "",
            "beginning": "",
            "parts": [],
            "label": "",
            "headers": [],
            "sections": None,
            "facts": {},
            "lost": [],
            "data": [],
            "problem": "",
        }

        async def perform() -> Json:
            from agent.files.reading import preview

            folder = numbered_folder(self._folder)
            seen = await preview(path, name=name, folder=folder, section=section, ocr=ocr, speech=self._speech)
            made = seen.data
            if KINDS[seen.kind].for_programs == "a text copy":
                made = [*made, *await _as_text(path, name, folder, self._speech)]
            for found in made:
                found.chmod(0o644)  # programs run as another user; the parent folder stays private
            data = [str(found) for found in made[:_MAX_NAMED]]
            return nothing | asdict(seen) | {"beginning": seen.text[:_BEGINNING_CHARS], "data": data}

        def unread(problem: FileProblem) -> dict[str, Json]:
            return {**nothing, "facts": {"problem": problem.reason}, "problem": _problem_text(problem)}

        request = {
            "do": "preview",
            "path": str(path),
            "name": name,
            "section": section,
            **({} if ocr else {"ocr": False}),
        }
        seen: AttachedFile = await self._call(request, perform, unread, f"{name} was not read")
        return seen

    async def read(
        self,
        path: Path,
        name: str,
        *,
        page: int,
        find: str,
        limit: int,
        section: int = SECTION,
        ocr: bool = True,
    ) -> dict[str, Any]:
        """Return a part of a file: `where`, `text`, `more` (how to read on) and `lost`; or a `problem`."""

        async def perform() -> Json:
            from agent.files.reading import read

            options: dict[str, Any] = {"page": page, "find": find, "limit": limit, "section": section, "ocr": ocr}
            return asdict(await read(path, name=name, speech=self._speech, **options))

        request = {"do": "read", "path": str(path), "name": name, "page": page, "find": find, "limit": limit}
        request |= {"section": section, **({} if ocr else {"ocr": False})}
        part: dict[str, Any] = await self._call(
            request, perform, lambda p: {"problem": _problem_text(p)}, "The file was not read"
        )
        return part

    async def picture(self, path: Path, name: str, *, page: int = 1) -> dict[str, Any]:
        """Return a copy of a picture or PDF page in a format that models accept.

        Returns:
            See `agent.files.media.image.save_shown`; or a `problem`.
        """

        async def perform() -> Json:
            from agent.files.reading import picture

            folder = self._folder / _SHOWN
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return await picture(path, folder, name=name, page=page)

        if (path, page) not in self._pictures:
            request: dict[str, Json] = {"do": "picture", "path": str(path), "page": page}
            seen = await self._call(request, perform, lambda p: {"problem": p.message}, "The picture was not read")
            self._pictures[path, page] = seen
        return self._pictures[path, page]

    async def copy(self, folder: Path, name: str) -> Path | None:
        """Copy a file out of a folder that others may change. Return None if it cannot be read."""

        async def perform() -> dict[str, str]:
            return {"copy": await asyncio.to_thread(_copied, folder, name, self._folder / _FROM_FOLDER)}

        copy = (await self._calls.call(KIND, {"do": "copy", "folder": str(folder), "name": name}, perform))["copy"]
        return Path(copy) if copy else None

    async def script(self, path: Path) -> str:
        """Return the source of an attached program; empty if it cannot be read."""

        async def perform() -> dict[str, str]:
            from agent.files.text import text_encoding

            try:
                with text_encoding(Source(path, "source")).open(path) as stream:
                    source = stream.read(_MAX_SCRIPT_CHARS + 1)
            except (OSError, FileProblem):
                source = ""
            return {"text": source if len(source) <= _MAX_SCRIPT_CHARS else ""}

        return (await self._calls.call(KIND, {"script": str(path)}, perform))["text"]

    async def _call(
        self,
        request: dict[str, Json],
        perform: Callable[[], Awaitable[Json]],
        failed: Callable[[FileProblem], dict[str, Json]],
        stopped: str,
    ) -> Any:
        """Return the result of a call within the run's time limit. `failed` turns a problem into a result."""

        async def outcome() -> Json:
            try:
                return await perform()
            except FileProblem as problem:
                return failed(problem)

        try:
            return await self._calls.call(KIND, request, outcome, limit="time")
        except StoppedError as limit:
            return failed(FileProblem("timeout", f"{stopped}: {limit.message}.", remedy=""))


async def _as_text(path: Path, name: str, folder: Path, speech: Speech | None) -> list[Path]:
    """Write the text of a document to a file, and each of its tables to a CSV file, for programs."""
    from agent.files.reading import read

    part = await read(path, name=name, to=_ALL_PAGES, limit=_MAX_TEXT_CHARS, speech=speech)
    target = folder / "text.md"
    cut = f"\n\n(Cut here: these are the first {_MAX_TEXT_CHARS:,} characters of {name}.)\n" if part.more else ""
    write_file(target, part.text + cut)
    tables = [rows for rows in tables_in(part.text) if len(rows) > 1 and len(rows[0]) > 1]
    made = [target, *(folder / TABLES_FOLDER / f"table-{number}.csv" for number in range(1, len(tables) + 1))]
    for table, rows in zip(made[1:], tables, strict=True):
        table.parent.mkdir(exist_ok=True)
        lines = StringIO()
        csv.writer(lines, lineterminator="\n").writerows(rows)
        write_file(table, lines.getvalue())
    return made


def _copied(folder: Path, name: str, target: Path) -> str:
    """Copy a file and return the path of the copy, which is named by its content; empty if it cannot be read."""
    from agent.material.folder import copied, opened, opened_file, parent_of

    with (
        suppress(OSError),
        opened(folder) as top,
        parent_of(top, name) as (place, last),
        opened_file(place, last) as file,
    ):
        if os.fstat(file.fileno()).st_size > _MAX_COPY_BYTES:
            return ""
        copy = target / copied(file, most=_MAX_COPY_BYTES)[0][:12] / (safe_name(last) or "file")
        file.seek(0)
        with writing(copy):
            copy.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            with whole_file(copy) as written:
                copied(file, written, most=_MAX_COPY_BYTES)
            copy.chmod(0o644)  # programs run as another user
        return str(copy)
    return ""


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _problem_text(problem: FileProblem) -> str:
    """Return a problem as text for a model. The remedy is left out if a file is missing, as a model cannot apply it."""
    return problem.message if problem.reason == "missing" else f"{problem.message} {problem.remedy}".strip()
