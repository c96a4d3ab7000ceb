"""Renders pages that need scripts, each in a new Chromium. The guard checks all connections."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agent.web.browser_process import ParentConnection, driver, launched, serve
from agent.web.chromium import ready_chromium
from agent.web.guard import AddressGuard
from agent.web.page import WebProblem
from agent.web.proxy import GuardedProxy, proxy_for
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page, Response

_START_SECONDS = 30.0
_AT_ONCE = 3
SECONDS = 15.0  # time limit of a page
_NO_PICTURES = "--blink-settings=imagesEnabled=false"
_MAX_CHARS = 8_000_000  # of a page's source
_GRACE_SECONDS = 5.0  # after a page's time limit
_STABLE_CHECKS = 4  # the page is complete when its text stays the same this often, every 0.15 s
_FEW_CHARS = 50  # a page with fewer is probably not complete
_FEW_CHARS_SECONDS = 3.0  # maximum wait for such a page
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
"""Script that returns the source. Elements hidden by styles get the attribute `hidden` unless a button or link opens
them."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A rendered page."""

    url: str  # after redirects, including those by scripts
    html: str  # source; elements hidden by styles have the attribute `hidden`
    status: int = 200  # HTTP status


class Renderer:
    """Renders pages.

    Args:
        guard: Decides which addresses the browser may connect to.
        chrome: Chromium to use; by default, an installed one is searched for.
        note: Receives messages about the browser for the user.
        may_download: True if a Chromium may be downloaded.
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
        """Render a page and return it when its scripts have finished.

        Args:
            url: An address that the guard allows.
            seconds: Time limit. After it, the page is returned unfinished.

        Raises:
            WebProblem: There is no Chromium, the page could not be opened (`browser`), or it redirected to a forbidden
                address (`private_address`).
        """
        async with self._places:
            chromium = await ready_chromium(self._chrome, self._note, may_download=self._may_download)
            drawn = await self._drawn(chromium.path, url, seconds)
        # Scripts may redirect anywhere. Do not return the proxy's refusal as a page.
        parts = urlsplit(drawn.url)
        if parts.hostname:
            known = await self._guard.known_addresses(
                parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
            )
            if not known and not proxy_for(parts.scheme, parts.hostname):
                raise _undrawn(drawn.url, f"there is no host {parts.hostname}")
        return drawn

    async def _drawn(self, chrome: Path, url: str, seconds: float) -> Drawn:
        try:
            async with (
                driver(__name__) as process,
                GuardedProxy(self._guard) as proxy,
                asyncio.timeout(_START_SECONDS + seconds),
            ):
                await process.say({"chrome": str(chrome), "proxy": proxy.url, "url": url, "seconds": seconds})
                while (message := await process.hear()) is not None:
                    if "drawn" in message:
                        return Drawn(**message["drawn"])
                    if message["note"] not in self._noted:
                        self._noted.add(message["note"])
                        self._note(message["note"])
                raise _undrawn(url, f"the process that renders pages exited{process.last_output}")
        except TimeoutError:
            raise _undrawn(url, "it took too long") from None
        except OSError as error:
            raise _undrawn(url, f"the process that renders pages did not start: {error.strerror or error}") from error


def _undrawn(url: str, why: str) -> WebProblem:
    return WebProblem("browser", f"{one_line(url, 200)} could not be rendered: {one_line(why, 200)}.")


def main() -> None:
    """Render the page requested on stdin: `{"chrome": path, "proxy": url, "url": …, "seconds": 15}`."""
    serve(_draw)


async def _draw(connection: ParentConnection) -> None:
    asked = await connection.receive()
    url, seconds = asked["url"], asked["seconds"]
    async with launched(
        Path(asked["chrome"]),
        Path.cwd(),
        proxy=asked["proxy"],
        note=connection.note,
        args=[_NO_PICTURES],
        service_workers="block",
        accept_downloads=False,
    ) as context:
        try:
            async with asyncio.timeout(seconds + _GRACE_SECONDS):
                drawn = await _page(context, url, seconds)
        except TimeoutError:
            raise _undrawn(url, "it took too long") from None
        except Exception as error:  # noqa: BLE001  # the caller waits for a reply
            raise _undrawn(url, next(iter(str(error).splitlines()), type(error).__name__)) from None
        connection.say({"drawn": asdict(drawn)})


async def _page(context: BrowserContext, url: str, seconds: float) -> Drawn:
    until = time.monotonic() + seconds
    page = await context.new_page()
    statuses = [200]

    def keep_status(response: Response) -> None:
        """Keep the status of the last response, since scripts may redirect."""
        if response.request.is_navigation_request() and response.frame == page.main_frame:
            statuses.append(response.status)

    page.on("response", keep_status)
    await page.goto(url, wait_until="domcontentloaded", timeout=seconds * 1000)
    await _settled(page, until)
    return Drawn(page.url, await page.evaluate(_HTML, _MAX_CHARS), statuses[-1])


async def _settled(page: Page, until: float) -> None:
    """Wait until the text stops changing or the time runs out."""
    from playwright.async_api import Error

    begun, seen, same = time.monotonic(), -1, 0
    while time.monotonic() < until and same < _STABLE_CHECKS:
        await asyncio.sleep(0.15)
        try:
            size = await page.evaluate(_TEXT)
        except Error:  # the page is navigating
            size = -1
        patient = size < _FEW_CHARS and time.monotonic() < begun + _FEW_CHARS_SECONDS
        same = same + 1 if size == seen and not patient else 0
        seen = size
