"""The tabs of a browser: which one is used, and what it does besides showing a page."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp_tools.text import one_line

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Dialog, Download, FileChooser, Page

_UNSAFE = re.compile(r"[^\w.-]+")
_LARGEST = 100_000_000
"""Bytes of a download that is kept."""
_MOST = 20
"""Downloads of one task that are kept."""


class Tabs:
    """Follows pages that open, answers their dialogs, keeps their downloads, gives them files.

    Args:
        context: The browser.
        folder: Where downloads are kept; None keeps none.
        files: What a page that asks for a file is given.
    """

    def __init__(self, context: BrowserContext, folder: Path | None, files: Sequence[Path] = ()) -> None:
        self.downloads: list[Path] = []
        self.heard: list[str] = []
        """What happened besides, one sentence each, until it is taken."""
        self._context = context
        self._folder = folder
        self._files = files
        self._begun = 0
        self._saving: set[asyncio.Task[None]] = set()
        for page in context.pages:
            self._follow(page)
        context.on("page", self._follow)

    @property
    def page(self) -> Page | None:
        """The newest tab."""
        return self._context.pages[-1] if self._context.pages else None

    def take_heard(self) -> list[str]:
        """What happened since it was last asked."""
        heard, self.heard = self.heard, []
        return heard

    async def settled(self) -> None:
        """Waits until downloads are on the disk."""
        if self._saving:
            await asyncio.wait(self._saving, timeout=30)

    def _follow(self, page: Page) -> None:
        page.on("dialog", lambda dialog: self._start(self._answer(dialog)))
        page.on("download", lambda download: self._start(self._save(download)))
        page.on("filechooser", lambda chooser: self._start(self._give(chooser)))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._saving.add(task)
        task.add_done_callback(self._saving.discard)

    async def _answer(self, dialog: Dialog) -> None:
        self.heard.append(f'the page said "{dialog.message}"')
        await dialog.accept()

    async def _give(self, chooser: FileChooser) -> None:
        if not self._files:
            self.heard.append("the page wants a file, and none is attached")
            return
        given = self._files if chooser.is_multiple() else self._files[:1]
        await chooser.set_files(list(given))
        self.heard.append(f"gave the page {', '.join(path.name for path in given)}")

    async def _save(self, download: Download) -> None:
        from playwright.async_api import Error

        name = _UNSAFE.sub("_", download.suggested_filename).strip("._")[-80:] or "file"
        if self._folder is None or self._begun >= _MOST:
            await download.cancel()
            return
        self._begun += 1
        target = _reserved(self._folder / name)
        try:
            path = await download.path()
            if path.stat().st_size > _LARGEST:
                target.unlink(missing_ok=True)
                self.heard.append(f"{name} was not kept: it has {path.stat().st_size:,} bytes")
                return
            await download.save_as(target)
        except (Error, OSError) as error:
            target.unlink(missing_ok=True)
            self.heard.append(f"{name} was not downloaded: {one_line(str(error).partition(chr(10))[0], 160)}")
            return
        self.downloads.append(target)
        self.heard.append(f"downloaded {target.name}")


def _reserved(path: Path) -> Path:
    """The path, or one beside it that was not taken, as an empty file: nobody else gets that name."""
    number = 2
    free = path
    while True:
        try:
            free.touch(exist_ok=False)
        except FileExistsError:
            free = path.with_stem(f"{path.stem}-{number}")
            number += 1
        else:
            return free
