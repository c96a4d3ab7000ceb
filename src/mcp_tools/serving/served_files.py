"""Files that served tools write: small ones are embedded in the result, others are stored and linked."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import mimetypes
import shutil
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

from mcp_tools.atomic import private_folder
from mcp_tools.errors import UserError, os_errors_as
from mcp_tools.sandbox.inside.scratch import remove
from mcp_tools.small_files import is_text, plain_files, read_small
from mcp_tools.tool import Json

MAX_FILES = 50
MAX_KEPT_BYTES = 4_000_000_000
"""Limit on the total size of all stored files."""
_EMBEDDED_BYTES, _EMBEDDED_TOTAL = 1_000_000, 2_000_000
_KEPT_SECONDS = 7 * 86_400
_PICTURES = {"image/png", "image/jpeg", "image/gif", "image/webp"}


class ServedOutputs:
    """The folder that served tools write into. Only one call at a time uses it, so each result gets its own files.

    Args:
        folder: Storage for files too large to embed. They are kept for a week. Above 4 GB, the oldest are deleted.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._current: Path | None = None
        self._in_use = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def of_call(self) -> AsyncIterator[tuple[Path, list[dict[str, Json]]]]:
        """Yield an empty folder for a call, and a list that is filled with content blocks for its files on exit.

        Raises:
            UserError: The folder is not writable.
        """
        content: list[dict[str, Json]] = []
        async with self._in_use:
            if self._current is None:
                self._current = await asyncio.to_thread(self._open)
            try:
                yield self._current, content
            finally:
                content += await asyncio.to_thread(self._collected, self._current)

    def close(self) -> None:
        """Remove the folder that calls write into. Stored files remain."""
        if self._current is not None:
            shutil.rmtree(self._current, ignore_errors=True)

    def _open(self) -> Path:
        with os_errors_as(UserError, f"{self._folder} cannot be written"):
            private_folder(self._folder)
            for old in self._folder.iterdir():
                if time.time() - old.lstat().st_mtime > _KEPT_SECONDS:
                    shutil.rmtree(old, ignore_errors=True)
            return Path(tempfile.mkdtemp(prefix="calls-", dir=self._folder))

    def _room_for(self, size: int) -> Path:
        """Create a folder for files of this total size.

        Deletes the oldest stored files if the limit would be exceeded.
        """
        kept = [
            (folder.lstat().st_mtime, sum(found.st_size for _, found in plain_files(folder)), folder)
            for folder in self._folder.glob("kept-*")
        ]
        total = size + sum(held for _, held, _ in kept)
        for _, held, folder in sorted(kept):
            if total <= MAX_KEPT_BYTES:
                break
            shutil.rmtree(folder, ignore_errors=True)
            total -= held
        return Path(tempfile.mkdtemp(prefix="kept-", dir=self._folder))

    def _collected(self, current: Path) -> list[dict[str, Json]]:
        """Return content blocks for the files that a call wrote, and empty the folder."""
        content: list[dict[str, Json]] = []
        kept: Path | None = None
        embedded = 0
        files = sorted((name, found.st_size) for name, found in plain_files(current) if is_text(name))
        for name, size in files[:MAX_FILES]:
            path = current / name
            if size <= _EMBEDDED_BYTES and embedded + size <= _EMBEDDED_TOTAL:
                embedded += size
                content.append(_embedded(name, read_small(path, _EMBEDDED_BYTES)))
                continue
            kept = kept or self._room_for(sum(size for _, size in files))
            target = kept / name
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
            content.append({"type": "resource_link", "uri": target.as_uri(), "name": name, "size": size, **_type(name)})
        try:
            for entry in current.iterdir():
                if entry.is_dir() and not entry.is_symlink():
                    remove(str(entry))
                else:
                    entry.unlink()
        except OSError:  # the next call gets a new folder
            self._current = None
        return content


@contextlib.asynccontextmanager
async def files_of_call(
    outputs: ServedOutputs | None, wanted: bool
) -> AsyncIterator[tuple[Path | None, list[dict[str, Json]]]]:
    """Like `ServedOutputs.of_call`, but yields no folder if the call may not write files."""
    if outputs is None or not wanted:
        yield None, []
        return
    async with outputs.of_call() as (folder, content):
        yield folder, content


def _embedded(name: str, data: bytes) -> dict[str, Json]:
    kind = _type(name)
    if kind.get("mimeType") in _PICTURES:
        return {"type": "image", "data": base64.b64encode(data).decode(), **kind}
    resource: dict[str, Json] = {"uri": f"alita-output:///{quote(name)}", **kind}
    try:
        return {"type": "resource", "resource": {**resource, "text": data.decode()}}
    except UnicodeDecodeError:
        return {"type": "resource", "resource": {**resource, "blob": base64.b64encode(data).decode()}}


def _type(name: str) -> dict[str, Json]:
    kind = mimetypes.guess_type(name)[0]
    return {"mimeType": kind} if kind else {}
