"""Pages that scripts write, each drawn by a Chromium of its own whose every connection the guard allows."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from agent.web.chromium import UNSANDBOXED, end_all, new_profile, ready_chromium, sweep
from agent.web.guard import AddressGuard
from agent.web.page import WebProblem
from agent.web.proxy import GuardedProxy, proxy_for
from mcp_tools import child
from mcp_tools.text import one_line

_START_SECONDS = 30.0
_REPLY = 64 * 2**20  # bytes of one reply
_AT_ONCE = 3
SECONDS = 15.0  # what a page is given


@dataclass(frozen=True, slots=True)
class Drawn:
    """A page as a browser shows it."""

    url: str  # after redirects, those of scripts among them
    html: str  # its source; what its style hides has the attribute `hidden`
    status: int = 200  # with which the server answered the browser


class Renderer:
    """Draws pages.

    Args:
        guard: Which addresses the browser may connect to.
        chrome: The Chromium to use; looked for when not given.
        note: Gets what the user should know of the browser.
    """

    def __init__(
        self, guard: AddressGuard, chrome: Path | None = None, note: Callable[[str], None] = lambda _: None
    ) -> None:
        self._guard = guard
        self._note = note
        self._chrome = chrome
        self._places = asyncio.Semaphore(_AT_ONCE)
        self._is_told = False

    async def draw(self, url: str, *, seconds: float = SECONDS) -> Drawn:
        """The page at an address, when its scripts have written what they write.

        Args:
            url: An address that the guard allows.
            seconds: How long it may take; then what is there is taken.

        Raises:
            WebProblem: There is no Chromium, or the page could not be opened (`browser`); or the page led to an address
                that is not allowed (`private_address`).
        """
        async with self._places:
            chromium = await ready_chromium(self._chrome, self._note)
            told = await self._asked(chromium.path, url, seconds)
        if "unstarted" in told:
            raise WebProblem(
                "browser",
                f"{chromium.path} does not start: {one_line(told['unstarted'], 200)}.",
                remedy=f"Try it: {chromium.path} --headless --dump-dom about:blank; or name another with ALITA_CHROME.",
            )
        if not (told["sandbox"] or self._is_told):
            self._is_told = True
            self._note(UNSANDBOXED)
        if problem := told.get("problem"):
            raise _undrawn(url, problem)
        # Scripts may lead anywhere; what the proxy refused must not be taken for a page.
        parts = urlsplit(told["url"])
        if parts.hostname:
            known = await self._guard.known_addresses(parts.hostname, parts.port or 80)
            if not known and not proxy_for(parts.scheme, parts.hostname):
                raise _undrawn(told["url"], f"there is no host {parts.hostname}")
        return Drawn(told["url"], told["html"], told["status"])

    async def _asked(self, chrome: Path, url: str, seconds: float) -> dict[str, Any]:
        """What the drawing process says of a page. It ends afterwards with its browser, in any case."""
        await asyncio.to_thread(sweep)
        scratch = new_profile()  # in no thread: a cancelled thread would leave the folder behind
        try:
            async with GuardedProxy(self._guard) as proxy, asyncio.timeout(_START_SECONDS + seconds):
                asked = {"chrome": str(chrome), "proxy": proxy.url, "url": url, "seconds": seconds}
                return await _reply(json.dumps(asked), scratch)
        except TimeoutError:
            raise _undrawn(url, "it took too long") from None
        except OSError as error:
            raise _undrawn(url, f"the process that draws pages does not start: {error.strerror or error}") from error
        except ValueError as error:
            raise _undrawn(url, f"the process that draws pages gave no reply: {error}") from error
        finally:  # kills what still runs in the folder, a browser that hangs among it
            await asyncio.shield(asyncio.to_thread(end_all, scratch))


async def _reply(request: str, scratch: Path) -> dict[str, Any]:
    process = await child.start(
        child.python("from agent.web.reading.renderer_worker import main; main()"),
        env=child.environment("FONTCONFIG_PATH", "XDG_CACHE_HOME", TMPDIR=str(scratch)),
        cwd=scratch,
        stdin=child.PIPE,
        stdout=child.PIPE,
        limit=_REPLY,
        private=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with contextlib.suppress(ConnectionError):
            process.stdin.write(request.encode() + b"\n")  # it stays open: when we are killed, its end says so
            await process.stdin.drain()
        told: dict[str, Any] = json.loads(await process.stdout.readline())
        return told
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        await asyncio.shield(process.wait())


def _undrawn(url: str, why: str) -> WebProblem:
    return WebProblem(
        "browser",
        f"{one_line(url, 200)} could not be drawn: {one_line(why, 200)}.",
    )
