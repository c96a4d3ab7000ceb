"""The browser that the settings ask for, in a process of its own: started for one task, and gone when that ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agent.browser.logins import Login, read_logins
from agent.browser.tasks import LONGEST_LINE, Ask, Browser, Job, Outcome, Task, Tell
from agent.errors import AlitaError, ModelOutputError, StoppedError
from agent.events import BrowserStepped
from agent.models.protocol import Usage
from agent.web.chromium import end_all, new_profile, sweep
from agent.web.page import WebProblem
from mcp_tools import child
from mcp_tools.records import as_plain, from_plain
from mcp_tools.text import one_line

_GRACE_SECONDS = 90.0
"""For starting and closing the browser, beyond the task's own seconds."""
_ERRORS = "errors.txt"
BROWSER_USE = "agent.browser.inside"
"""The module whose `main` drives the browser with browser-use."""


class OutsideBrowser:
    """Does each task with a fresh process and a fresh browser.

    Args:
        driver: The module whose `main` drives it in its process.
        chrome: The Chromium to use.
        ask: Asks the browser role's model.
        blocks: Whether an address, with the text found there, must not be shown.
        allow_private: Open addresses of this machine and its network too.
        sees: Whether the model reads pictures.
        note: Told what the user should know of the browser.
    """

    def __init__(
        self,
        driver: str,
        chrome: Path,
        ask: Ask,
        *,
        blocks: Callable[[str, str], bool] | None = None,
        allow_private: bool = False,
        sees: bool = False,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.note = note
        self._driver = driver
        self._chrome = chrome
        self.ask = ask
        self.blocks = blocks
        self._allow_private = allow_private
        self._sees = sees

    async def do(self, task: Task, tell: Tell) -> Outcome:
        """Does a task; see `agent.browser.tasks.Browser`."""
        if not task.allows(task.url):
            raise WebProblem(
                "browser",
                f"{one_line(task.url)} is at none of the hosts that the browser may open: {', '.join(task.hosts)}",
                remedy="Add its host to browser_hosts.",
            )
        await asyncio.to_thread(sweep)
        profile = new_profile()  # in no thread: whoever cancels that would not know of the folder
        try:
            return await self._done(Job(task, self._chrome, profile, self._allow_private, self._sees), tell)
        finally:
            await asyncio.shield(asyncio.to_thread(end_all, profile))

    async def _done(self, job: Job, tell: Tell) -> Outcome:
        process = await _started(self._driver, job.profile)
        try:
            return await _Talk(process, self, tell).until_done(job)
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            await asyncio.shield(process.wait())


async def _started(driver: str, profile: Path) -> asyncio.subprocess.Process:
    with (profile / _ERRORS).open("wb") as errors:
        return await child.start(
            child.python(f"from {driver} import main; main()"),
            env=child.environment(*child.PROXIES, HOME=str(profile)),
            cwd=profile,
            stdin=child.PIPE,
            stdout=child.PIPE,
            stderr=errors,
            limit=LONGEST_LINE,
            private=True,
        )


class _Talk:
    """One conversation with the browser's process."""

    def __init__(self, process: asyncio.subprocess.Process, browser: OutsideBrowser, tell: Tell) -> None:
        self._process = process
        self._browser = browser
        self._tell = tell
        self._steps: list[BrowserStepped] = []
        self._usage = Usage()
        self._fatal: AlitaError | None = None

    async def until_done(self, job: Job) -> Outcome:
        """Sends the job, answers what is asked, and takes the outcome."""
        try:
            async with asyncio.timeout(job.task.seconds + _GRACE_SECONDS):
                await self._send({"job": as_plain(job)})
                outcome = await self._heard(job)
        except TimeoutError:
            outcome = self._broken(job, "the browser hangs")
        if self._fatal is not None:
            raise self._fatal
        return outcome

    async def _heard(self, job: Job) -> Outcome:
        """Takes what the process says until it has its outcome, also while a model thinks whose time is over."""
        replying: set[asyncio.Task[None]] = set()
        reading = asyncio.create_task(self._next())
        try:
            while True:
                done, _ = await asyncio.wait({reading, *replying}, return_when=asyncio.FIRST_COMPLETED)
                for replied in done & replying:
                    replying.discard(replied)
                    replied.result()
                if reading in done:
                    if (outcome := self._taken(reading.result(), job)) is not None:
                        return outcome
                    if "id" in (message := reading.result() or {}):
                        replying.add(asyncio.create_task(self._answer(message)))
                    reading = asyncio.create_task(self._next())
        finally:
            for task in (reading, *replying):
                task.cancel()
            await asyncio.gather(reading, *replying, return_exceptions=True)

    def _taken(self, message: dict[str, Any] | None, job: Job) -> Outcome | None:
        """The outcome, once there is one."""
        if message is None:
            return self._broken(job, f"the browser's process ended{self._last_words(job.profile)}")
        if told := message.get("problem"):
            raise WebProblem(told["reason"], told["message"], remedy=told["remedy"])
        if "note" in message:
            self._browser.note(message["note"])
        if "step" in message:
            self._steps.append(BrowserStepped(**message["step"]))
            self._tell(self._steps[-1])
        if "outcome" not in message:
            return None
        return replace(from_plain(Outcome, message["outcome"]), usage=self._usage)

    async def _next(self) -> dict[str, Any] | None:
        """The next message; None at the end, where a killed process may have torn a line."""
        assert self._process.stdout is not None
        try:
            line = await self._process.stdout.readline()
            message: dict[str, Any] | None = json.loads(line) if line else None
        except ValueError:
            return None
        return message

    async def _answer(self, message: dict[str, Any]) -> None:
        await self._send({"re": message["id"], **await self._reply(message)})

    async def _reply(self, message: dict[str, Any]) -> dict[str, Any]:
        if "blocked" in message:
            address, text = message["blocked"]
            return {"value": bool(self._browser.blocks and self._browser.blocks(address, text))}
        try:
            completion = await self._browser.ask(**{k: v for k, v in message["ask"].items() if v is not None})
        except ModelOutputError as unusable:
            self._usage += unusable.usage or Usage()
            return {"error": {"type": "output", "message": unusable.message}}
        except StoppedError as stopped:
            return {"error": {"type": "stopped", "message": stopped.message}}
        except AlitaError as fatal:
            self._fatal = fatal
            return {"error": {"type": "stopped", "message": fatal.message}}
        self._usage += completion.usage
        return {"value": as_plain(completion)}

    async def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        with contextlib.suppress(ConnectionError):
            await self._process.stdin.drain()

    def _broken(self, job: Job, problem: str) -> Outcome:
        url = self._steps[-1].url if self._steps else job.task.url
        return Outcome("", False, url, tuple(self._steps), problem, usage=self._usage)

    def _last_words(self, profile: Path) -> str:
        try:
            lines = (profile / _ERRORS).read_text("utf-8", errors="replace").strip().splitlines()
        except OSError:
            return ""
        return f": {one_line(lines[-1], 200)}" if lines else ""


@dataclass(frozen=True, slots=True)
class BrowserSettings:
    """What the user wants of the browser."""

    chrome: Path | None = None
    allow_private: bool = False
    logins: Path | None = None
    hosts: tuple[str, ...] = ()
    steps: int = 25
    seconds: float = 300.0
    sees: bool = False
    """Whether the browser role's model reads pictures."""

    def read_logins(self) -> tuple[Login, ...]:
        """What may be filled in.

        Raises:
            SettingsError: The file cannot be used.
        """
        return read_logins(self.logins) if self.logins else ()


async def open_browser(
    settings: BrowserSettings,
    ask: Ask,
    *,
    driver: str,
    blocks: Callable[[str, str], bool] | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> Browser:
    """A browser; nothing is started before its first task.

    Args:
        settings: What the user wants.
        ask: Asks the browser role's model.
        driver: The module that drives it in its process.
        blocks: Whether an address, with the text found there, must not be shown.
        note: Told what the user should know of the browser.

    Raises:
        WebProblem: There is no Chromium, or no package to drive it.
    """
    from agent.browser.outside import OutsideBrowser
    from agent.web.chromium import ready_chromium

    if find_spec("playwright") is None:
        raise WebProblem(
            "browser",
            "the browser cannot be driven: the package playwright is missing",
            remedy="pip install 'alita[browser]'",
        )
    chrome = (await ready_chromium(settings.chrome, note)).path
    private, sees = settings.allow_private, settings.sees
    return OutsideBrowser(driver, chrome, ask, blocks=blocks, allow_private=private, sees=sees, note=note)
