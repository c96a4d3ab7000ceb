"""The process that draws pages which scripts write: Playwright and its Chromium, without any of our variables.

It reads JSON lines and writes JSON lines. The first line it reads is how to start, `{"chrome": path, "proxy": url}`;
each further one asks for a page, `{"id": 1, "url": …, "seconds": 20}`, and is answered with `{"id": 1, "url": …,
"status": 200, "html": …}` or `{"id": 1, "problem": …}`; `{"stop": 1}` says that nobody waits for it any more. It ends,
with its browser, when its input ends.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

from agent.web.chromium import FLAGS, SANDBOXES

if TYPE_CHECKING:
    from playwright.async_api import Browser, Page, Playwright, Response


_NO_PICTURES = "--blink-settings=imagesEnabled=false"
_MOST = 8_000_000
"""Characters of a page."""
AT_ONCE = 3
"""Pages; others wait."""
PATIENCE = 5.0
"""Seconds beyond those of a page until it is given up."""
_STILL = 4
"""How often in a row the text must be the same, each 0.15 s, before it counts as complete."""
_LITTLE = 50
"""Characters below which a page is seldom complete."""
_PATIENCE = 3.0
"""Seconds that it is given nevertheless."""
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
    """Serves on stdin and what was stdout: libraries may print there."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    asyncio.run(_serve(replies))


async def _serve(replies: TextIO) -> None:
    """Draws until the input ends."""
    from playwright.async_api import async_playwright

    lines = await _input()
    start = json.loads(await lines.readline())
    async with async_playwright() as playwright:
        browser, has_sandbox = await launched(playwright, start["chrome"], start["proxy"], SANDBOXES)
        ending = False

        def ended(_: Browser) -> None:
            if not ending:  # a browser that died takes this process along
                os._exit(3)

        browser.on("disconnected", ended)
        places, tasks = asyncio.Semaphore(AT_ONCE), dict[int, asyncio.Task[None]]()
        _say(replies, {"ready": True, "sandbox": has_sandbox})
        while line := await lines.readline():
            asked = json.loads(line)
            if (number := asked.get("stop")) is not None:
                if number in tasks:
                    tasks[number].cancel()
                continue
            tasks[asked["id"]] = task = asyncio.create_task(_answer(browser, asked, places, replies))
            task.add_done_callback(lambda _, number=asked["id"]: tasks.pop(number))  # type: ignore[misc]
        ending = True
        await browser.close()


async def launched(playwright: Playwright, chrome: str, proxy: str, sandboxes: Sequence[bool]) -> tuple[Browser, bool]:
    """A browser, in a sandbox of its own where the machine allows that, and whether it is in one.

    Args:
        playwright: Starts it.
        chrome: The program.
        proxy: Through which every request goes, those to this machine too.
        sandboxes: Whether it has a sandbox, in the order to try.

    Raises:
        Error: Of Playwright; it does not start.
    """
    from playwright.async_api import Error

    for has_sandbox in sandboxes:
        try:
            browser = await playwright.chromium.launch(
                executable_path=chrome,
                args=[*FLAGS, _NO_PICTURES],
                proxy={"server": proxy, "bypass": "<-loopback>"},
                chromium_sandbox=has_sandbox,
            )
        except Error:
            if has_sandbox == sandboxes[-1]:
                raise
        else:
            return browser, has_sandbox
    raise ValueError("there is no way to start it")


async def _answer(browser: Browser, asked: dict[str, Any], places: asyncio.Semaphore, replies: TextIO) -> None:
    async with places:
        try:
            async with asyncio.timeout(asked["seconds"] + PATIENCE):
                drawn = await _drawn(browser, asked["url"], asked["seconds"])
        except TimeoutError:
            drawn = {"problem": "it took too long"}
        except Exception as error:  # noqa: BLE001  # the boundary of this process: the caller waits for a reply
            drawn = {"problem": (str(error).splitlines() or [type(error).__name__])[0]}
    _say(replies, {"id": asked["id"], **drawn})


async def _drawn(browser: Browser, url: str, seconds: float) -> dict[str, Any]:
    until = time.monotonic() + seconds
    context = await browser.new_context(service_workers="block", accept_downloads=False)
    try:
        page, statuses = await context.new_page(), [200]

        def hear(response: Response) -> None:
            """Scripts may lead on: the last answer is that of the page shown."""
            if response.request.is_navigation_request() and response.frame == page.main_frame:
                statuses.append(response.status)

        page.on("response", hear)
        await page.goto(url, wait_until="domcontentloaded", timeout=seconds * 1000)
        await _settled(page, until)
        html = await page.evaluate(_HTML, _MOST)
        return {"url": page.url, "status": statuses[-1], "html": html}
    finally:
        await context.close()


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
        patient = size < _LITTLE and time.monotonic() < begun + _PATIENCE
        same = same + 1 if size == seen and not patient else 0
        seen = size


async def _input() -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=2**20)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader


def _say(replies: TextIO, value: dict[str, Any]) -> None:
    replies.write(json.dumps(value) + "\n")
    replies.flush()
