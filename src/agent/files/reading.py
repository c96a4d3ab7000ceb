"""Reads files for the rest of the agent: a preview, pages, or matches for words. Each read runs in its own process."""

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

_found: dict[tuple[str, int, int], dict[str, Any]] = {}
"""What engines found in each file (path, size, time), by the content that they were given."""
_MOST_FOUND = 1_000
"""Of one file."""
_MOST_FILES = 100
"""Whose findings are kept; then those of the one that was read first go."""


@dataclass(frozen=True)
class Preview:
    """What a file is and how it begins."""

    kind: str
    size: int
    """Bytes."""
    summary: str
    """One to five lines about its structure."""
    sections: int | None
    """Number of pages that `read` can give; None if counting them would mean reading everything."""
    parts: list[str] = field(default_factory=list)
    """The beginning of each sheet, table or text."""
    label: str = ""
    """How much is shown: `complete`, `rows 1–10 of 421`; empty if the parts say it."""
    headers: list[str] = field(default_factory=list)
    """Names and headers of its tables."""
    facts: dict[str, Json] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    """A sentence for each thing that is not shown."""
    notes: list[str] = field(default_factory=list)
    """Other facts about the reading: an encoding, an engine."""
    data: list[Path] = field(default_factory=list)
    """Files for programs, written into the folder."""

    @property
    def text(self) -> str:
        """All parts as one text."""
        return "\n\n".join(self.parts)


@dataclass(frozen=True)
class Reading:
    """A part of a file."""

    where: str
    """`page 3 of 12`, or what was found."""
    text: str
    more: str
    """How to continue; empty at the end."""
    lost: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    pictures: list[int] = field(default_factory=list)
    """Numbers of the pages that contain pictures or are scanned, and can be drawn."""


async def preview(
    path: Path,
    *,
    name: str = "",
    folder: Path | None = None,
    section: int = SECTION,
    ocr: bool = True,
    speech: Speech | None = None,
) -> Preview:
    """Inspects a file: its kind, its structure and its beginning.

    Args:
        path: The file.
        name: The user's name for the file; by default the last part of its path.
        folder: Existing folder for contents that programs can use better than the file itself.
        section: Characters of a page.
        ocr: True if the text of pictures is read.
        speech: Transcriber of speech; none by default.

    Raises:
        FileProblem: It cannot be read.
    """
    called = name or path.name
    kind = await asyncio.to_thread(_readable_kind, path, called)
    if kind == EMPTY:
        return Preview(kind, 0, "The file is empty: it has 0 bytes.", 0)
    told = await _ask(path, called, kind, section, do="preview", folder=_absolute(folder), ocr=ocr, speech=speech)
    promised = _promised(path)
    if promised not in (None, KINDS[kind]) and not (promised.is_text and KINDS[kind].is_text):
        told["summary"] = f"Its name ends in {path.suffix}, but its content is {kind}.\n{told['summary']}"
    told["data"] = list(map(Path, told["data"]))
    return Preview(kind=kind, **told)


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
    """Reads pages of a file, or the lines with given words. Other arguments are as for `preview`.

    Args:
        path: The file.
        name: The user's name for it.
        page: The first page, from 1; with `find`, where to begin to look.
        to: The last page; fewer come when they do not fit.
        find: Words to look for instead.
        limit: Characters of text.
        section: Characters of a page; with the same value, pages have the numbers of the preview.
        ocr: True if the text of pictures is read.
        speech: Transcriber of speech; none by default.

    Raises:
        FileProblem: It cannot be read, or has no such page.
    """
    called = name or path.name
    if page < 1:
        raise FileProblem("range", f"There is no page {page}.")
    kind = await asyncio.to_thread(_readable_kind, path, called)
    if kind == EMPTY:
        return Reading("empty, 0 bytes", "", "")
    words = " ".join(find.split())
    asked = {"page": page, "to": to, "find": words, "limit": limit, "ocr": ocr}
    return Reading(**await _ask(path, called, kind, section, do="read", speech=speech, **asked))


async def picture(path: Path, folder: Path, *, name: str = "", page: int = 1) -> dict[str, Any]:
    """Return a copy of a picture, or of a PDF's page, in `folder` that models take; see `media.image.save_shown`.

    Raises:
        FileProblem: It cannot be read, or can be made no picture.
    """
    called = name or path.name
    kind = await asyncio.to_thread(_readable_kind, path, called)
    if kind != "pdf" and KINDS[kind].group != "picture":
        raise FileProblem("unsupported", f"{called} is not a picture but {kind}.", remedy="Read its text.")
    return await _ask(path, called, kind, SECTION, do="picture", page=page, folder=_absolute(folder))


async def _ask(
    path: Path, name: str, kind: str, section: int, *, speech: Speech | None = None, **asked: Any
) -> dict[str, Any]:
    request: dict[str, Any] = {"path": _absolute(path), "name": name, "kind": kind, **asked}
    read, write = [_absolute(path)], [asked["folder"]] if asked.get("folder") else []
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
    found = _found.setdefault((request["path"], facts.st_size, facts.st_mtime_ns), {})
    while len(_found) > _MOST_FILES:
        del _found[next(iter(_found))]

    async def serve(question: dict[str, Any]) -> dict[str, Any]:
        match question:
            case {"recall": str(key)}:
                return {"found": found.get(key)}
            case {"keep": str(key), "found": dict(told)}:
                found.update({key: told} if len(found) < _MOST_FOUND else {})
                return {}
            case {"sound": str()} if speech is not None:
                from agent.files.media.speech import serve as ask_endpoint

                return await ask_endpoint(question, speech)
        # no reader of ours asks anything else: the file may have taken its process over
        raise FileProblem("damaged", f"{name} made the program that reads {kind} files ask for something else.")

    limits = replace(KINDS[kind].limits, section=section)
    return await read_in_process(request, limits, read=read, write=write, serve=serve)


def _absolute(path: Path | None) -> str:
    return str(path.absolute()) if path else ""


def _readable_kind(path: Path, name: str) -> str:
    """The kind of the file, if it has a reader or is empty."""
    if path.exists() and not path.is_file() and not path.is_dir():
        remedy = "Save its content in a file, and attach that."
        raise FileProblem("missing", f"{name} is a pipe or a device, not a file.", remedy=remedy)
    kind = kind_of(path)
    if is_readable(kind) or kind == EMPTY:
        return kind
    if kind == BINARY and _promised(path) is not None:
        suffix = path.suffix.lower().lstrip(".")
        raise FileProblem("mismatch", f"{name} is not a {suffix} file: its content is of no known kind.")
    raise FileProblem(
        "unsupported",
        f"{name} is a file of kind {kind}, which cannot be read as text.",
        remedy=KINDS[kind].remedy,
    )


def _promised(path: Path) -> FileKind | None:
    """The kind that the suffix of a name indicates. Suffixes of source code are not reliable: `.ts` is also a film."""
    kind = BY_SUFFIX.get(path.suffix.lower().lstrip("."))
    return None if kind is None or kind.name == "source" else kind
