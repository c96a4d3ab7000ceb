"""Pages that scripts write, each rendered by a separate Chromium. The guard checks all connections."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agent.web.browser_process import Talk, driver, launched, serve
from agent.web.chromium import ready_chromium
from agent.web.guard import AddressGuard
from agent.web.page import WebProblem
from agent.web.proxy import GuardedProxy, proxy_for
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page, Response

_START_SECONDS = 30.0
_AT_ONCE = 3
SECONDS = 15.0  # what a page is given
_NO_PICTURES = "--blink-settings=imagesEnabled=false"
_MOST = 8_000_000  # characters of a page
_PATIENCE = 5.0  # seconds after a page's limit until it is given up
_STILL = 4  # how often in a row the text must be the same, each 0.15 s, before it counts as complete
_LITTLE = 50  # characters below which a page is seldom complete
_LITTLE_SECONDS = 3.0  # seconds that it is given nevertheless
_TEXT = "() => document.body ? document.body.innerText.length : 0"
_HTML = """most => {
    const targets = ['aria-controls', 'data-target', 'data-bs-target', 'href'];
    const ids = [...document.querySelectorAll('[aria-controls], [data-target], [data-bs-target], a[href^="#"]')]
        .flatMap(one => targets.flatMap(name => (one.getAttribute(name) || '').split(/\\s+/)));
    const opened = new Set(ids.map(id => document.getElementById(id.replace(/^#/, ''))).filter(one => one));
    const around = new Set();
    for (const one of opened)
        for (let up = one.parentElement; up && !around.has(up); up = up.parentElement) around.add(up);
    const unseen = [], waiting = document.body ? [...document.body.children] : [];
    while (waiting.length) {
        const one = waiting.pop();
        if (opened.has(one) || one.matches('script, style, template, noscript, link, meta, svg, rp')) continue;
        const style = getComputedStyle(one);
        const isOut = style.display === 'none' || (style.visibility !== 'visible' && !(one.innerText || '').trim());
        if (isOut && !around.has(one)) unseen.push(one);
        else waiting.push(...one.children);
    }
    for (const one of unseen) one.setAttribute('hidden', '');
    const copy = document.documentElement.cloneNode(true);
    const inside = node => [...node.querySelectorAll('*')].filter(one => one.shadowRoot);
    const real = inside(document), shown = document.createElement('div');
    for (const host of real) shown.insertAdjacentHTML('beforeend', host.shadowRoot.innerHTML);
    if (real.length) copy.querySelector('body').append(shown);
    return copy.outerHTML.slice(0, most);
}"""
"""The source, in which what the page's style hides is marked as hidden, except what a button or a link opens."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A page as a browser shows it."""

    url: str  # after redirects, including those by scripts
    html: str  # its source; what its style hides has the attribute `hidden`
    status: int = 200  # with which the server answered the browser


class Renderer:
    """Draws pages.

    Args:
        guard: Which addresses the browser may connect to.
        chrome: The Chromium to use; looked for when not given.
        note: Gets what the user should know of the browser.
        may_download: A Chromium may be downloaded.
    """

    def __init__(
        self,
        guard: AddressGuard,
        chrome: Path | None = None,
        note: Callable[[str], None] = lambda _: None,
        *,
        may_download: bool = True,
    ) -> None:
        self._may_download = may_download
        self._guard = guard
        self._note = note
        self._chrome = chrome
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._noted: set[str] = set()

    async def draw(self, url: str, *, seconds: float = SECONDS) -> Drawn:
        """The page at an address, when its scripts have written what they write.

        Args:
            url: An address that the guard allows.
            seconds: Limit in seconds; then the page is taken as it is.

        Raises:
            WebProblem: There is no Chromium, or the page could not be opened (`browser`); or the page led to an address
                that is not allowed (`private_address`).
        """
        async with self._places:
            chromium = await ready_chromium(self._chrome, self._note, may_download=self._may_download)
            drawn = await self._drawn(chromium.path, url, seconds)
        # Scripts may lead anywhere; what the proxy refused must not be taken for a page.
        parts = urlsplit(drawn.url)
        if parts.hostname:
            known = await self._guard.known_addresses(
                parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
            )
            if not known and not proxy_for(parts.scheme, parts.hostname):
                raise _undrawn(drawn.url, f"there is no host {parts.hostname}")
        return drawn

    async def _drawn(self, chrome: Path, url: str, seconds: float) -> Drawn:
        """The rendering process's result for a page."""
        try:
            async with (
                driver(__name__) as process,
                GuardedProxy(self._guard) as proxy,
                asyncio.timeout(_START_SECONDS + seconds),
            ):
                await process.say({"chrome": str(chrome), "proxy": proxy.url, "url": url, "seconds": seconds})
                while (told := await process.hear()) is not None:
                    if "drawn" in told:
                        return Drawn(**told["drawn"])
                    if told["note"] not in self._noted:
                        self._noted.add(told["note"])
                        self._note(told["note"])
                raise _undrawn(url, f"the process that draws pages ended{process.last_words}")
        except TimeoutError:
            raise _undrawn(url, "it took too long") from None
        except OSError as error:
            raise _undrawn(url, f"the process that draws pages does not start: {error.strerror or error}") from error


def _undrawn(url: str, why: str) -> WebProblem:
    return WebProblem("browser", f"{one_line(url, 200)} could not be rendered: {one_line(why, 200)}.")


def main() -> None:
    """Draws the page that stdin asks for, in the process: `{"chrome": path, "proxy": url, "url": …, "seconds": 15}`."""
    serve(_draw)


async def _draw(talk: Talk) -> None:
    asked = await talk.hear()
    url, seconds = asked["url"], asked["seconds"]
    async with launched(
        Path(asked["chrome"]),
        Path.cwd(),
        proxy=asked["proxy"],
        note=talk.note,
        args=[_NO_PICTURES],
        service_workers="block",
        accept_downloads=False,
    ) as context:
        try:
            async with asyncio.timeout(seconds + _PATIENCE):
                drawn = await _page(context, url, seconds)
        except TimeoutError:
            raise _undrawn(url, "it took too long") from None
        except Exception as error:  # noqa: BLE001  # the boundary of this process: the caller waits for a reply
            raise _undrawn(url, next(iter(str(error).splitlines()), type(error).__name__)) from None
        talk.say({"drawn": asdict(drawn)})


async def _page(context: BrowserContext, url: str, seconds: float) -> Drawn:
    until = time.monotonic() + seconds
    page = await context.new_page()
    statuses = [200]

    def hear(response: Response) -> None:
        """Scripts may redirect: the last answer belongs to the page that is shown."""
        if response.request.is_navigation_request() and response.frame == page.main_frame:
            statuses.append(response.status)

    page.on("response", hear)
    await page.goto(url, wait_until="domcontentloaded", timeout=seconds * 1000)
    await _settled(page, until)
    return Drawn(page.url, await page.evaluate(_HTML, _MOST), statuses[-1])


async def _settled(page: Page, until: float) -> None:
    """Waits until scripts have written what they write, or the time is over."""
    from playwright.async_api import Error

    begun, seen, same = time.monotonic(), -1, 0
    while time.monotonic() < until and same < _STILL:
        await asyncio.sleep(0.15)
        try:
            size = await page.evaluate(_TEXT)
        except Error:  # the page is being exchanged for another
            size = -1
        patient = size < _LITTLE and time.monotonic() < begun + _LITTLE_SECONDS
        same = same + 1 if size == seen and not patient else 0
        seen = size
