"""Reads files for the rest of the agent: a preview, pages, or lines with words. Each call runs in its own process."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.files.contents import SECTION, FileProblem
from agent.files.detection import cannot_open, kind_of
from agent.files.kinds import BINARY, BY_SUFFIX, EMPTY, KINDS, FileKind, is_readable
from agent.files.reader_process import read_in_process
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.files.media.speech import Speech

_engine_results: dict[tuple[str, int, int], dict[str, Any]] = {}
"""Results of OCR and speech engines by file (path, size, time), then by hash of the input."""
_MAX_RESULTS_PER_FILE = 1_000
_MAX_FILES_WITH_RESULTS = 100  # beyond that, the results of the oldest file are dropped


@dataclass(frozen=True)
class Preview:
    """The kind, the structure and the beginning of a file."""

    kind: str
    size: int  # bytes
    summary: str
    """The structure in one to five lines."""
    sections: int | None
    """Number of pages for `read`; None if counting them would mean reading the whole file."""
    parts: list[str] = field(default_factory=list)
    """The beginning of each sheet, table or text."""
    label: str = ""
    """The share that is shown: `complete`, `rows 1–10 of 421`; empty if each part has its own label."""
    headers: list[str] = field(default_factory=list)
    """Names and headers of its tables."""
    facts: dict[str, Json] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    """A sentence about each thing that is not shown."""
    notes: list[str] = field(default_factory=list)
    """Other facts about the reading, such as the encoding."""
    data: list[Path] = field(default_factory=list)
    """Files for programs that were written into `folder`."""

    @property
    def text(self) -> str:
        """The parts joined."""
        return "\n\n".join(self.parts)


@dataclass(frozen=True)
class Reading:
    """A part of a file."""

    where: str
    """`page 3 of 12`, or a summary of the hits."""
    text: str
    more: str
    """Instruction for reading the next part; empty at the end."""
    lost: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    pictures: list[int] = field(default_factory=list)
    """Numbers of the pages with pictures or scans, for `picture`."""


async def preview(
    path: Path,
    *,
    name: str = "",
    folder: Path | None = None,
    section: int = SECTION,
    ocr: bool = True,
    speech: Speech | None = None,
) -> Preview:
    """Inspect a file: its kind, its structure and its beginning.

    Args:
        path: The file.
        name: The user's name for the file; by default, the last part of its path.
        folder: Existing folder for files that are easier for programs than the file itself; None to write none.
        section: Length of a page in characters.
        ocr: True to read the text in pictures.
        speech: The speech engine; by default, speech is not transcribed.

    Raises:
        FileProblem: The file cannot be read.
    """
    called = name or path.name
    kind = await asyncio.to_thread(_readable_kind, path, called)
    if kind == EMPTY:
        return Preview(kind, 0, "The file is empty: it has 0 bytes.", 0)
    seen = await _ask(path, called, kind, section, do="preview", folder=_absolute(folder), ocr=ocr, speech=speech)
    promised = _promised(path)
    if promised not in (None, KINDS[kind]) and not (promised.is_text and KINDS[kind].is_text):
        seen["summary"] = f"Its name ends in {path.suffix}, but its content is {kind}.\n{seen['summary']}"
    seen["data"] = list(map(Path, seen["data"]))
    return Preview(kind=kind, **seen)


async def read(
    path: Path,
    *,
    name: str = "",
    page: int = 1,
    to: int | None = None,
    find: str = "",
    limit: int = 12_000,
    section: int = SECTION,
    ocr: bool = True,
    speech: Speech | None = None,
) -> Reading:
    """Read pages of a file, or the lines with given words.

    Args:
        path: The file.
        name: The user's name for the file.
        page: The first page, from 1; with `find`, the page where the search begins.
        to: The last page. Pages that do not fit are left out.
        find: Words to look for.
        limit: Limit of the returned text, in characters.
        section: Length of a page in characters. With the same value as for the preview, page numbers agree with it.
        ocr: True to read the text in pictures.
        speech: The speech engine; by default, speech is not transcribed.

    Raises:
        FileProblem: The file cannot be read, or has no such page.
    """
    called = name or path.name
    if page < 1:
        raise FileProblem("range", f"There is no page {page}.")
    kind = await asyncio.to_thread(_readable_kind, path, called)
    if kind == EMPTY:
        return Reading("empty, 0 bytes", "", "")
    words = " ".join(find.split())
    options = {"page": page, "to": to, "find": words, "limit": limit, "ocr": ocr}
    return Reading(**await _ask(path, called, kind, section, do="read", speech=speech, **options))


async def picture(path: Path, folder: Path, *, name: str = "", page: int = 1) -> dict[str, Any]:
    """Save a copy of a picture, or an image of a PDF page, that models accept; see `media.image.save_shown`.

    Raises:
        FileProblem: The file cannot be read, or is neither a picture nor a PDF.
    """
    called = name or path.name
    kind = await asyncio.to_thread(_readable_kind, path, called)
    if kind != "pdf" and KINDS[kind].group != "picture":
        raise FileProblem("unsupported", f"{called} is a {kind} file, not a picture.", remedy="Read its text.")
    return await _ask(path, called, kind, SECTION, do="picture", page=page, folder=_absolute(folder))


async def _ask(
    path: Path, name: str, kind: str, section: int, *, speech: Speech | None = None, **options: Any
) -> dict[str, Any]:
    request: dict[str, Any] = {"path": _absolute(path), "name": name, "kind": kind, **options}
    read, write = [_absolute(path)], [options["folder"]] if options.get("folder") else []
    group = KINDS[kind].group
    if group in ("sound", "film", "mail", "archive"):
        from agent.files.media.speech import Speech, weights_of

        speech = speech or Speech(engine="none")
        if group in ("sound", "film") and speech.prepare is not None:
            await speech.prepare()
        request["speech"] = asdict(replace(speech, api_key="", prepare=None))
        read += weights_of(speech)
    try:
        facts = await asyncio.to_thread(path.stat)
    except OSError as error:
        raise cannot_open(path, error) from None
    found = _engine_results.setdefault((request["path"], facts.st_size, facts.st_mtime_ns), {})
    while len(_engine_results) > _MAX_FILES_WITH_RESULTS:
        del _engine_results[next(iter(_engine_results))]

    async def serve(question: dict[str, Any]) -> dict[str, Any]:
        match question:
            case {"recall": str(key)}:
                return {"found": found.get(key)}
            case {"keep": str(key), "found": dict(result)}:
                found.update({key: result} if len(found) < _MAX_RESULTS_PER_FILE else {})
                return {}
            case {"sound": str()} if speech is not None:
                from agent.files.media.speech import serve as ask_endpoint

                return await ask_endpoint(question, speech)
        # readers ask nothing else, so the file may have taken over the process
        raise FileProblem(
            "damaged", f"{name} caused the program that reads {kind} files to make an unexpected request."
        )

    limits = replace(KINDS[kind].limits, section=section)
    return await read_in_process(request, limits, read=read, write=write, serve=serve)


def _absolute(path: Path | None) -> str:
    return str(path.absolute()) if path else ""


def _readable_kind(path: Path, name: str) -> str:
    """Return the kind of the file. Raise a FileProblem if it has no reader."""
    if path.exists() and not path.is_file() and not path.is_dir():
        remedy = "Save the data to a regular file, and attach that."
        raise FileProblem("missing", f"{name} is a pipe or a device, not a file.", remedy=remedy)
    kind = kind_of(path)
    if is_readable(kind) or kind == EMPTY:
        return kind
    if kind == BINARY and _promised(path) is not None:
        suffix = path.suffix.lower().lstrip(".")
        raise FileProblem("mismatch", f"{name} is not a {suffix} file: the type of its content is unknown.")
    raise FileProblem(
        "unsupported",
        f"{name} is a {kind} file, which cannot be read as text.",
        remedy=KINDS[kind].remedy,
    )


def _promised(path: Path) -> FileKind | None:
    """Return the kind that the suffix promises. Suffixes of source code promise nothing: `.ts` may also be a film."""
    kind = BY_SUFFIX.get(path.suffix.lower().lstrip("."))
    return None if kind is None or kind.name == "source" else kind
