"""Handles the browser's tabs: dialogs, uploads, downloads and screenshots."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import shutil
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from agent.web.filenames import claimed, safe_name

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Dialog, FileChooser, Page

_NOT_WHOLE = ".crdownload"
LARGEST = 100_000_000
"""Size of the largest download that is kept, in bytes."""
_MAX_DOWNLOADS = 20
_TIMEOUT_MS = 5_000


class Tabs:
    """Answers the dialogs of all tabs, uploads files, and keeps downloads.

    Args:
        context: The browser.
        folder: Folder for downloads; None to discard them.
        files: Files to upload when a page asks for one.
        may_give: Returns True if the page at an address may receive files.
    """

    def __init__(
        self,
        context: BrowserContext,
        folder: Path | None,
        files: Sequence[Path] = (),
        may_give: Callable[[str], bool] = lambda _url: True,
    ) -> None:
        self.downloads: list[Path] = []
        self._folder = folder
        self._files = files
        self._may_give = may_give
        self._tasks: set[asyncio.Task[None]] = set()
        for page in context.pages:
            self._follow(page)
        context.on("page", self._follow)

    def take_from(self, folder: Path) -> None:
        """Move browser-use's downloads out of a folder. Duplicates and partial files are skipped."""
        taken: set[bytes] = set()
        for path in sorted(folder.glob("*"), key=lambda path: (len(path.name), path.name)):
            is_whole = path.is_file() and path.suffix != _NOT_WHOLE and path.stat().st_size <= LARGEST
            if not is_whole or self._folder is None or len(self.downloads) == _MAX_DOWNLOADS:
                continue
            if (content := hashlib.sha256(path.read_bytes()).digest()) not in taken:
                taken.add(content)
                target = claimed(self._folder, safe_name(path.name) or "file")
                shutil.move(path, target)
                self.downloads.append(target)

    def _follow(self, page: Page) -> None:
        page.on("dialog", lambda dialog: self._start(self._answer(dialog)))
        page.on("filechooser", lambda chooser: self._start(self._give(chooser)))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, dialog: Dialog) -> None:
        await dialog.accept()

    async def _give(self, chooser: FileChooser) -> None:
        if self._files and self._may_give(chooser.page.url):
            await chooser.set_files(list(self._files if chooser.is_multiple() else self._files[:1]))


def largest_in(folder: Path) -> int:
    """Return the size of the largest file in bytes. Files that disappear count as empty."""
    sizes = [0]
    for path in folder.glob("*"):
        with contextlib.suppress(OSError):
            sizes.append(path.stat().st_size)
    return max(sizes)


class TabInUse:
    """The tab that browser-use works in."""

    def __init__(self, context: BrowserContext) -> None:
        self.session: Any = None
        """browser-use's session; None until it exists. It identifies its tab by the DevTools target id."""
        self._context = context
        self._targets: WeakKeyDictionary[Page, str] = WeakKeyDictionary()

    async def page(self) -> Page | None:
        """Return the tab that browser-use works in, else the newest tab; None if no tab is open."""
        pages = self._context.pages
        wanted = getattr(self.session, "agent_focus_target_id", None)
        for page in pages if wanted else ():
            if await self._target_of(page) == wanted:
                return page
        return pages[-1] if pages else None

    async def url(self, otherwise: str) -> str:
        """Return the tab's address, or `otherwise` if no tab is open."""
        page = await self.page()
        return page.url if page is not None else otherwise

    async def _target_of(self, page: Page) -> str:
        """Return the tab's permanent DevTools target id; empty for a closed tab."""
        from playwright.async_api import Error

        if page not in self._targets:
            try:
                asked = await self._context.new_cdp_session(page)
                self._targets[page] = (await asked.send("Target.getTargetInfo"))["targetInfo"]["targetId"]
                await asked.detach()
            except Error:
                return ""
        return self._targets[page]


async def text_on(page: Page) -> str:
    """Return the text of a page; empty if the page was closed."""
    from playwright.async_api import Error

    try:
        return str(await page.evaluate("document.body ? document.body.innerText : ''"))
    except Error:
        return ""


async def keep_picture(page: Page, folder: Path, number: int) -> str:
    """Save a screenshot for a step and return its path; empty if the page was closed."""
    from playwright.async_api import Error

    target = folder / f"step-{number}.png"
    try:
        await page.screenshot(path=target, timeout=_TIMEOUT_MS)
    except Error:
        return ""
    return str(target)
