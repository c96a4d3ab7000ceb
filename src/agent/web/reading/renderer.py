"""Pages that scripts write, drawn by a Chromium in a process of its own whose every connection the guard allows."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
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
from agent.web.reading.renderer_worker import AT_ONCE, PATIENCE
from mcp_tools import child
from mcp_tools.text import one_line

_START_SECONDS = 30.0
_GRACE_SECONDS = 8.0
_REPLY = 64 * 2**20
"""Bytes of one reply."""
SECONDS = 15.0
"""What a page is given."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A page as a browser shows it."""

    url: str
    """After redirects, those of scripts among them."""
    html: str
    """Its source; what its style hides has the attribute `hidden`."""
    status: int = 200
    """With which the server answered the browser."""


class Renderer:
    """Draws pages; the browser starts with the first one, and stays until `aclose`.

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
        self._starting = asyncio.Lock()
        self._process: _Process | None = None

    async def draw(self, url: str, *, seconds: float = SECONDS) -> Drawn:
        """The page at an address, when its scripts have written what they write.

        Args:
            url: An address that the guard allows.
            seconds: How long it may take; then what is there is taken.

        Raises:
            WebProblem: There is no Chromium, it crashed twice, or the page could not be opened (`browser`); or the page
                led to an address that is not allowed (`private_address`).
        """
        for _ in range(2):
            with contextlib.suppress(_GoneError):
                told = await (await self._started()).ask(url, seconds)
                break
        else:
            raise WebProblem(
                "browser",
                f"Chromium crashed twice while it drew {one_line(url, 200)}.",
                remedy="Take another source, or name another Chromium with ALITA_CHROME.",
            )
        if problem := told.get("problem"):
            raise _undrawn(url, str(problem))
        drawn = Drawn(told["url"], told["html"], told["status"])
        await self._check(drawn.url)
        return drawn

    async def aclose(self) -> None:
        """Ends the browser."""
        if self._process is not None:
            await self._process.aclose()
            self._process = None

    async def _check(self, url: str) -> None:
        """Scripts may lead anywhere; what the proxy refused must not be taken for a page."""
        parts = urlsplit(url)
        if not parts.hostname:
            return
        known = await self._guard.known_addresses(parts.hostname, parts.port or 80)
        if not known and not proxy_for(parts.scheme, parts.hostname):
            raise _undrawn(url, f"there is no host {parts.hostname}")

    async def _started(self) -> _Process:
        async with self._starting:
            if self._process is not None and self._process.is_over:
                await self.aclose()
            if self._process is None:
                chromium = await ready_chromium(self._chrome, self._note)
                self._process = await _Process.start(chromium.path, self._guard)
                if not self._process.has_sandbox:
                    self._note(UNSANDBOXED)
            return self._process


class _GoneError(Exception):
    """The process ended while it was to draw."""


class _Process:
    """The drawing process, its proxy, and who waits for which page."""

    def __init__(self, process: asyncio.subprocess.Process, opened: contextlib.AsyncExitStack) -> None:
        self._process = process
        self._opened = opened
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._listening: asyncio.Task[None] | None = None
        self.has_sandbox = True
        """Whether the browser is in a sandbox of its own."""

    @classmethod
    async def start(cls, chrome: Path, guard: AddressGuard) -> _Process:
        """Starts it.

        Raises:
            WebProblem: The browser does not start.
        """
        async with contextlib.AsyncExitStack() as opened:
            await asyncio.to_thread(sweep)
            scratch = new_profile()  # in no thread: a cancelled thread would leave the folder behind
            opened.push_async_callback(_ended, scratch)
            proxy = await opened.enter_async_context(GuardedProxy(guard))
            started = cls(await _launched(scratch), opened.pop_all())
        try:
            await started._begin(chrome, proxy.url)
        except BaseException:
            await started.aclose()
            raise
        return started

    @property
    def is_over(self) -> bool:
        """Whether it can draw no more."""
        return self._listening is None or self._listening.done()

    async def ask(self, url: str, seconds: float) -> dict[str, Any]:
        """What it says of a page.

        Raises:
            _GoneError: It ended meanwhile, or was ended because it gave no reply.
        """
        rounds = 1 + len(self._waiting) // AT_ONCE
        number = next(self._ids)
        self._waiting[number] = future = asyncio.get_running_loop().create_future()
        try:
            await self._say({"id": number, "url": url, "seconds": seconds})
            if self.is_over:
                raise _GoneError
            async with asyncio.timeout(rounds * (seconds + PATIENCE) + _GRACE_SECONDS):
                told: dict[str, Any] = await future
            return told
        except TimeoutError:
            await self._kill()
            raise _GoneError from None
        except asyncio.CancelledError:
            await self._say({"stop": number})
            raise
        finally:
            self._waiting.pop(number, None)

    async def aclose(self) -> None:
        """Ends it with its browser: kindly, then by force."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            async with asyncio.timeout(_GRACE_SECONDS):
                await self._process.wait()
        except TimeoutError:
            pass
        finally:
            await self._kill()
            await self._opened.aclose()

    async def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await asyncio.shield(self._process.wait())
        if self._listening is not None:
            await self._listening

    async def _begin(self, chrome: Path, proxy: str) -> None:
        await self._say({"chrome": str(chrome), "proxy": proxy})
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(_START_SECONDS):
                ready = await self._process.stdout.readline()
        except TimeoutError:
            ready = b""
        if not ready:
            raise WebProblem(
                "browser",
                f"{chrome} does not start.",
                remedy=f"Try it: {chrome} --headless --dump-dom about:blank; or name another with ALITA_CHROME.",
            )
        self.has_sandbox = bool(json.loads(ready)["sandbox"])
        self._listening = asyncio.create_task(self._listen(self._process.stdout))

    async def _say(self, value: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError, RuntimeError):
            self._process.stdin.write(json.dumps(value).encode() + b"\n")
            await self._process.stdin.drain()

    async def _listen(self, replies: asyncio.StreamReader) -> None:
        """Hands each reply to the call that waits for it; at the end, calls that still wait fail."""
        with contextlib.suppress(ValueError, ConnectionError):
            while line := await replies.readline():
                told = json.loads(line)
                if (future := self._waiting.get(told["id"])) is not None and not future.done():
                    future.set_result(told)
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(_GoneError())


def _undrawn(url: str, why: str) -> WebProblem:
    return WebProblem(
        "browser",
        f"{one_line(url, 200)} could not be drawn: {one_line(why, 200)}.",
        remedy="Take another source.",
    )


async def _ended(scratch: Path) -> None:
    """Kills what still runs in a folder, a browser that hangs among it, and removes the folder."""
    await asyncio.shield(asyncio.to_thread(end_all, scratch))


async def _launched(scratch: Path) -> asyncio.subprocess.Process:
    """The process that draws.

    Raises:
        WebProblem: The system starts none (`browser`).
    """
    try:
        return await child.start(
            child.python("from agent.web.reading.renderer_worker import main; main()"),
            env=child.environment("FONTCONFIG_PATH", "XDG_CACHE_HOME", TMPDIR=str(scratch)),
            cwd=scratch,
            stdin=child.PIPE,
            stdout=child.PIPE,
            limit=_REPLY,
            private=True,
        )
    except OSError as error:
        raise WebProblem(
            "browser",
            f"The process that draws pages does not start: {error.strerror or error}.",
            remedy="Look at the limits of processes and memory, or take another source.",
        ) from error
