"""What was read, as a page: HTML, files, videos."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from agent.files.problem import FileProblem
from agent.web.protocol import Page, Reason, WebProblem
from agent.web.reading.youtube import Video
from mcp_tools.text import one_line, printable

if TYPE_CHECKING:
    from agent.web.reading.markdown import Extracted

_MOST_TEXT = 400_000
"""Characters that are taken of a file; the rest is read from its path."""


def html_page(found: Extracted, url: str) -> Page:
    """A page of HTML.

    Raises:
        WebProblem: There is nothing to read on it (`no_result`).
    """
    if not found.markdown:
        raise WebProblem("no_result", f"{one_line(url, 200)} has no text to read.", remedy="Take another source.")
    return Page(
        url=url,
        title=found.title,
        markdown=found.markdown,
        links=found.links,
        fetched=_now(),
        published=found.published,
        remarks=found.notes,
        forms=found.forms,
        around=found.around,
    )


def video_page(address: str, said: Video | BaseException, seen: str | BaseException | None) -> Page:
    """A video as a page; of its two parts one may be missing, and the notes say why."""
    title, parts, notes, via = "", [], [], "gemini"
    if isinstance(said, Video):
        title, via = said.title, "transcript"
        parts.append(f"## What is said\n\n{said.transcript}")
        notes += [said.note, *([f"Channel: {said.channel}."] if said.channel else [])]
    elif isinstance(said, WebProblem):
        notes.append(said.message)
    if isinstance(seen, str):
        parts.append(f"## What is seen\n\n{printable(seen)}")
        notes.append("What is seen was described by Gemini.")
    elif isinstance(seen, WebProblem):
        notes.append(f"What is seen is missing: {seen.message}")
    head = [f"# {title}"] if title else []
    markdown = "\n\n".join([*head, *parts])
    return Page(address, title, markdown, kind="video", via=via, fetched=_now(), notes=tuple(notes))


async def file_page(path: Path, url: str, kind: str, notes: Sequence[str] = ()) -> Page:
    """A file as a page.

    Args:
        path: The file.
        url: Where it was.
        kind: Its kind by content.
        notes: What is to be said of it.

    Raises:
        WebProblem: It cannot be read.
    """
    from agent.files.reading import read

    try:
        reading = await read(path, to=1_000_000, limit=_MOST_TEXT)
    except FileProblem as problem:
        reason: Reason = "too_large" if problem.reason in ("too_large", "bomb", "timeout") else "mismatch"
        raise WebProblem(
            reason, f"{one_line(url, 200)}: {problem.message} It is kept as {path}.", remedy=problem.remedy, path=path
        ) from problem
    if not reading.text:
        raise WebProblem(
            "no_result", f"{one_line(url, 200)} is {reading.where}.", remedy="Read another page.", path=path
        )
    more = (
        [f"There is more of it than is shown ({reading.where}): read the file {path} itself."] if reading.more else []
    )
    return Page(
        url=url,
        title=path.name,
        markdown=reading.text,
        kind=kind,
        fetched=_now(),
        path=path,
        notes=(*notes, *reading.lost, *more),
    )


def with_note(page: Page, *notes: str) -> Page:
    """The page with something to be said of it first."""
    return replace(page, notes=(*notes, *page.notes))


def _now() -> str:
    """The time in UTC, ISO, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
