"""Readers of pages in order: the first that gives the page."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from urllib.parse import urlsplit

from agent.files.contents import READERS
from agent.web.page import Page, PageReader, Reason, WebProblem
from agent.web.reading.videos import video_id

_NO_WAY_ROUND: tuple[Reason, ...] = ("leak", "robots")
"""What another reader must not get round."""
_QUIET: tuple[Reason, ...] = ("refused_address", "private_address")
"""A reader that is not for such addresses: no loss that a note should tell."""
_FILES = frozenset(READERS) | {"jpg", "tif", "xlsm", "db", "txt", "py", "doc", "ppt", "rtf", "odt", "7z", "parquet"}
_PAGES = ("html", "xml")
"""Kinds of files that are pages when the web has them."""
_NOT_AGAIN: tuple[Reason, ...] = ("no_key", "bad_key", "quota")
"""The reader is not asked again."""


class FirstOf:
    """Readers of pages that stand behind one another.

    Args:
        readers: The first is asked first.
        for_files: The same in another order, for addresses that are files or videos by their looks; some readers keep
            these, others only tell what is in them.
    """

    name = "first"

    def __init__(self, readers: Sequence[PageReader], *, for_files: Sequence[PageReader] = ()) -> None:
        self._readers = tuple(readers)
        self._for_files = tuple(for_files) or self._readers
        self._aside: dict[str, WebProblem] = {}

    async def read(self, url: str) -> Page:
        """The page, with a note for each reader that failed before.

        Raises:
            WebProblem: Of the last reader that could be asked, when none gave the page.
        """
        notes: list[str] = []
        last: WebProblem | None = None
        for reader in self._for_files if _is_file(url) else self._readers:
            if reader.name in self._aside:
                last = last or self._aside[reader.name]
                continue
            try:
                page = await reader.read(url)
            except WebProblem as problem:
                if problem.reason in _NO_WAY_ROUND:
                    raise
                if problem.reason in _NOT_AGAIN:
                    self._aside[reader.name] = problem
                if problem.reason not in _QUIET or last is None:
                    last = problem
                if problem.reason not in _QUIET:
                    notes.append(f"{reader.name} did not read it: {problem.message.rstrip('.')}.")
            else:
                return replace(page, notes=(*notes, *page.notes))
        raise last or WebProblem("no_key", "There is nobody who reads pages.")

    async def aclose(self) -> None:
        """Closes the readers, each whatever comes of the others."""
        async with AsyncExitStack() as closing:
            for reader in self._readers:
                closing.push_async_callback(reader.aclose)


def _is_file(url: str) -> bool:
    try:
        path = urlsplit(url).path
    except ValueError:
        return False
    suffix = path.rpartition("/")[2].rpartition(".")[2].lower() if "." in path else ""
    return bool(video_id(url)) or (suffix in _FILES and suffix not in _PAGES)
