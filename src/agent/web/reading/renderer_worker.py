"""The process that draws one page which scripts write: Playwright and its Chromium, without any of our variables.

It reads one JSON line, `{"chrome": path, "proxy": url, "url": …, "seconds": 15}`, and writes one: `{"sandbox": true,
"url": …, "status": 200, "html": …}`, `{"sandbox": true, "problem": …}` or `{"unstarted": …}`. It ends when its input
does.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any, TextIO

from agent.web.chromium import FLAGS, SANDBOXES

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page, Playwright, ProxySettings, Response

_NO_PICTURES = "--blink-settings=imagesEnabled=false"
_MOST = 8_000_000  # characters of a page
_PATIENCE = 5.0  # seconds beyond those of a page until it is given up
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


def main() -> None:
    """Draws what stdin asks for, and replies on what was stdout: libraries may print there."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    asked = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_input, daemon=True).start()
    asyncio.run(_serve(asked, replies))


def _end_with_input() -> None:
    """Whoever asked is gone: Playwright ends the browser of a process that ends."""
    sys.stdin.read()
    os._exit(3)


async def _serve(asked: dict[str, Any], replies: TextIO) -> None:
    from playwright.async_api import Error, async_playwright

    async with async_playwright() as playwright:
        try:
            browser, has_sandbox = await _launched(playwright, asked["chrome"], asked["proxy"])
        except Error as error:
            told: dict[str, Any] = {"unstarted": _first_line(error)}
        else:
            told = {"sandbox": has_sandbox, **await _outcome(browser, asked["url"], asked["seconds"])}
        replies.write(json.dumps(told) + "\n")
        replies.flush()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


async def _outcome(browser: Browser, url: str, seconds: float) -> dict[str, Any]:
    try:
        async with asyncio.timeout(seconds + _PATIENCE):
            return await _drawn(browser, url, seconds)
    except TimeoutError:
        return {"problem": "it took too long"}
    except Exception as error:  # noqa: BLE001  # the boundary of this process: the caller waits for a reply
        return {"problem": _first_line(error)}


async def _launched(playwright: Playwright, chrome: str, proxy: str) -> tuple[Browser, bool]:
    """A browser, in a sandbox of its own where the machine allows that, and whether it is in one."""
    from playwright.async_api import Error

    server: ProxySettings = {"server": proxy, "bypass": "<-loopback>"}  # requests to this machine go through it too
    for has_sandbox in SANDBOXES:
        try:
            browser = await playwright.chromium.launch(
                executable_path=chrome, args=[*FLAGS, _NO_PICTURES], proxy=server, chromium_sandbox=has_sandbox
            )
        except Error:
            if has_sandbox == SANDBOXES[-1]:
                raise
        else:
            return browser, has_sandbox
    raise AssertionError("the last way returns or raises")


async def _drawn(browser: Browser, url: str, seconds: float) -> dict[str, Any]:
    until = time.monotonic() + seconds
    page = await browser.new_page(service_workers="block", accept_downloads=False)
    statuses = [200]

    def hear(response: Response) -> None:
        """Scripts may lead on: the last answer is that of the page shown."""
        if response.request.is_navigation_request() and response.frame == page.main_frame:
            statuses.append(response.status)

    page.on("response", hear)
    await page.goto(url, wait_until="domcontentloaded", timeout=seconds * 1000)
    await _settled(page, until)
    return {"url": page.url, "status": statuses[-1], "html": await page.evaluate(_HTML, _MOST)}


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
