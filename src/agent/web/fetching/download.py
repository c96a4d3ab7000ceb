"""Files of the web, kept in a folder: named safely, whole or not at all, of a size and a kind that is wanted."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent.web.fetching.http import Http
from agent.web.fetching.names import file_name, new_file
from agent.web.fetching.response import PAGE_TYPES, media_type, pieces
from agent.web.protocol import WebProblem
from mcp_tools.text import one_line

if TYPE_CHECKING:
    import httpx2

MOST = 200 * 2**20
"""Bytes of one file."""


@dataclass(frozen=True, slots=True)
class Downloaded:
    """A file that was kept."""

    path: Path
    """Where, with a name of its own."""
    url: str
    """Where it was in the end, behind all redirects."""


async def download_file(
    http: Http,
    url: str,
    folder: Path,
    *,
    most_bytes: int = MOST,
    kinds: Collection[str] | None = None,
    pages: bool = True,
) -> Downloaded:
    """Keeps the file at an address.

    Args:
        http: Who fetches.
        url: Its address.
        folder: Where to keep it; made when it is not there.
        most_bytes: What it may have.
        kinds: Which kinds are wanted, by content: `pdf`, `xlsx`; any unless told.
        pages: Whether what the server calls a page is taken, too.

    Raises:
        WebProblem: It could not be had, is larger (`too_large`) or of another kind (`mismatch`).
        StorageError: The folder cannot be written.
    """

    async def take(opened: httpx2.Response) -> Downloaded:
        if not pages and media_type(opened.headers.get("content-type", "")) in PAGE_TYPES:
            raise WebProblem("mismatch", f"{one_line(url, 200)} is a page.", remedy="Read it as one.")
        name = file_name(str(opened.url), opened.headers.get("content-disposition", ""))
        with new_file(folder, name) as (path, file):
            async for piece in pieces(opened, most_bytes):
                await asyncio.to_thread(file.write, piece)
        return Downloaded(path, str(opened.url))

    kept = await http.fetch(url, take, accept="*/*")
    await asyncio.to_thread(_check, kept.path, kept.url, kinds)
    return kept


def _check(path: Path, url: str, kinds: Collection[str] | None) -> None:
    from agent.files.kinds import EMPTY, kind_of

    kind = kind_of(path)
    if kind == EMPTY:
        path.unlink()
        raise WebProblem("mismatch", f"{one_line(url, 200)} is an empty file.", remedy="Take another source.")
    if kinds is not None and kind not in kinds:
        path.unlink()
        raise WebProblem(
            "mismatch",
            f"{one_line(url, 200)} is a file of the kind {kind}; {', '.join(sorted(kinds))} was wanted.",
            remedy="Take another source, or read it as it is.",
        )
