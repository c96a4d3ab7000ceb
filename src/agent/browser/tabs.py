"""The tabs of a browser: which one is used, its picture, and what it does besides showing a page."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from agent.errors import StoppedError
from agent.web.filenames import claimed, safe_name
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Dialog, Download, FileChooser, Page

_NOT_WHOLE = ".crdownload"
LARGEST = 100_000_000
"""Bytes of a download that is kept."""
_LOOKING = 0.25
"""Seconds between two looks at the size of a download."""
_MOST = 20
"""Downloads of one task that are kept."""
_PATIENCE = 5_000
"""Milliseconds."""


class Tabs:
    """Follows pages that open, answers their dialogs, keeps their downloads, gives them files.

    Args:
        context: The browser.
        folder: Where downloads are kept; None keeps none.
        files: What a page that asks for a file is given.
        arriving: Where downloads stand while they come: one that grows too large is given up.
        may_give: Whether a page at an address may be given files.
    """

    def __init__(
        self,
        context: BrowserContext,
        folder: Path | None,
        files: Sequence[Path] = (),
        arriving: Path | None = None,
        may_give: Callable[[str], bool] = lambda _url: True,
    ) -> None:
        self.downloads: list[Path] = []
        self.heard: list[str] = []
        """What happened besides, one sentence each, until it is taken."""
        self._context = context
        self._folder = folder
        self._files = files
        self._arriving = arriving
        self._may_give = may_give
        self._begun = 0
        self._saving: set[asyncio.Task[None]] = set()
        for page in context.pages:
            self._follow(page)
        context.on("page", self._follow)

    @property
    def page(self) -> Page:
        """The newest tab.

        Raises:
            StoppedError: There is none.
        """
        if not self._context.pages:
            raise StoppedError("the browser has no tab left")
        return self._context.pages[-1]

    def take_heard(self) -> list[str]:
        """What happened since it was last asked."""
        heard, self.heard = self.heard, []
        return heard

    async def settled(self) -> None:
        """Waits until downloads are on the disk."""
        if self._saving:
            await asyncio.wait(self._saving, timeout=30)

    def take_from(self, folder: Path) -> None:
        """Keeps what another driver of the browser has downloaded into a folder; what is not whole is left."""
        for path in sorted(folder.glob("*")):
            is_whole = path.is_file() and path.suffix != _NOT_WHOLE and path.stat().st_size <= LARGEST
            if is_whole and self._folder is not None and len(self.downloads) < _MOST:
                target = claimed(self._folder, safe_name(path.name) or "file")
                shutil.move(path, target)
                self.downloads.append(target)

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
        elif not self._may_give(chooser.page.url):
            self.heard.append("the page wants a file, and gets none: the user does not name this site")
        else:
            given = self._files if chooser.is_multiple() else self._files[:1]
            await chooser.set_files(list(given))
            self.heard.append(f"gave the page {', '.join(path.name for path in given)}")

    async def _save(self, download: Download) -> None:
        from playwright.async_api import Error

        if self._folder is None or self._begun >= _MOST:
            await download.cancel()
            return
        self._begun += 1
        name = safe_name(download.suggested_filename) or "file"
        target = claimed(self._folder, name)
        try:
            if await self._has_come(download):
                await download.save_as(target)
                self.downloads.append(target)
                self.heard.append(f"downloaded {target.name}")
                return
            self.heard.append(f"{name} was not kept: it has more than {LARGEST:,} bytes")
        except (Error, OSError) as error:
            self.heard.append(f"{name} was not downloaded: {one_line(str(error).partition(chr(10))[0], 160)}")
        target.unlink(missing_ok=True)

    async def _has_come(self, download: Download) -> bool:
        """Waits for a download; gives up one that is too large, also before its end: it may have none."""
        coming = asyncio.ensure_future(download.path())
        try:
            while not (await asyncio.wait({coming}, timeout=_LOOKING))[0]:
                if self._arriving is not None and await asyncio.to_thread(largest_in, self._arriving) > LARGEST:
                    await download.cancel()
                    return False
            return coming.result().stat().st_size <= LARGEST
        finally:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)


def largest_in(folder: Path) -> int:
    """Bytes of the largest file; one that is moved meanwhile has none."""
    sizes = [0]
    for path in folder.glob("*"):
        with contextlib.suppress(OSError):
            sizes.append(path.stat().st_size)
    return max(sizes)


class TabInUse:
    """Finds the tab that browser-use works in."""

    def __init__(self, context: BrowserContext) -> None:
        self.session: Any = None
        """browser-use's, which knows the tab as a target of the DevTools protocol; set when there is one."""
        self._context = context
        self._targets: WeakKeyDictionary[Page, str] = WeakKeyDictionary()

    async def page(self) -> Page | None:
        """The tab; the newest one where browser-use has none, None where there is none at all."""
        pages = self._context.pages
        wanted = getattr(self.session, "agent_focus_target_id", None)
        for page in pages if wanted else ():
            if await self._target_of(page) == wanted:
                return page
        return pages[-1] if pages else None

    async def url(self, otherwise: str) -> str:
        """The tab's address, or another where there is no tab."""
        page = await self.page()
        return page.url if page is not None else otherwise

    async def _target_of(self, page: Page) -> str:
        """The tab's name in the DevTools protocol, which stays the same; empty for one that is gone."""
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
    """The text of a page; empty for one that is gone."""
    from playwright.async_api import Error

    try:
        return str(await page.evaluate("document.body ? document.body.innerText : ''"))
    except Error:
        return ""


async def keep_picture(page: Page, folder: Path, number: int) -> str:
    """Writes the picture of a step; gives its path, or nothing where a page that goes away has none."""
    from playwright.async_api import Error

    target = folder / f"step-{number}.png"
    try:
        await page.screenshot(path=target, timeout=_PATIENCE)
    except Error:
        return ""
    return str(target)
