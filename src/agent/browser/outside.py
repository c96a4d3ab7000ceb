"""The browser that the settings ask for, in a process of its own: started for one task, and gone when that ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.browser.tasks import LONGEST_LINE, Ask, BrowserJob, BrowserOutcome, BrowserTask, Tell
from agent.errors import ModelOutputError, StoppedError
from agent.events import BrowserStepped
from agent.models.protocol import Role, Usage
from agent.records import as_plain, from_plain
from agent.web.chromium import end_all, new_profile, ready_chromium, sweep
from agent.web.page import WebProblem
from mcp_tools import child
from mcp_tools.text import one_line
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.configuration.settings import Settings

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
        allow_private: Also open pages on this machine and its network.
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
        self._driver = driver
        self._chrome = chrome
        self._ask = ask
        self._blocks = blocks
        self._allow_private = allow_private
        self._sees = sees
        self._note = note

    async def do(self, task: BrowserTask, tell: Tell) -> BrowserOutcome:
        """Does a task; what goes wrong on the way is in the outcome.

        Raises:
            WebProblem: There is no browser, it does not start, or the address may not be opened.
            ModelError: The model could not be reached, or refused.
        """
        if not task.allows(task.url):
            raise WebProblem(
                "browser",
                f"{one_line(task.url)} is at none of the hosts that the browser may open: {', '.join(task.hosts)}",
                remedy="Add its host to browser_hosts.",
            )
        await asyncio.to_thread(sweep)
        profile = new_profile()  # in no thread: whoever cancels that would not know of the folder
        try:
            with (profile / _ERRORS).open("wb") as errors:
                process = await child.start(
                    child.python(f"from {self._driver} import main; main()"),
                    env=child.environment(*child.PROXIES, HOME=str(profile)),
                    cwd=profile,
                    stdin=child.PIPE,
                    stdout=child.PIPE,
                    stderr=errors,
                    limit=LONGEST_LINE,
                    private=True,
                )
            try:
                return await self._outcome(
                    process, BrowserJob(task, self._chrome, profile, self._allow_private, self._sees), tell
                )
            finally:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                await asyncio.shield(process.wait())
        finally:
            await asyncio.shield(asyncio.to_thread(end_all, profile))

    async def _outcome(self, process: asyncio.subprocess.Process, job: BrowserJob, tell: Tell) -> BrowserOutcome:
        steps: list[BrowserStepped] = []
        spent: list[Usage] = []

        def heard(step: BrowserStepped) -> None:
            steps.append(step)
            tell(step)

        outcome, problem = None, "the browser hangs"
        ending = asyncio.create_task(process.wait())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(job.task.seconds + _GRACE_SECONDS):
                outcome = await self._talk(process, job, heard, spent, ending)
                problem = f"the browser's process ended{_last_words(job.profile)}"
        ending.cancel()
        url = steps[-1].url if steps else job.task.url
        outcome = outcome or BrowserOutcome("", False, url, tuple(steps), problem)
        return replace(outcome, usage=sum(spent, Usage()))

    async def _talk(
        self,
        process: asyncio.subprocess.Process,
        job: BrowserJob,
        tell: Tell,
        spent: list[Usage],
        ending: asyncio.Task[int],
    ) -> BrowserOutcome | None:
        """Sends the job and answers what is asked; None where the process ends, whose last line may be torn."""
        assert process.stdin is not None
        assert process.stdout is not None
        reply: Json = {"job": as_plain(job)}
        ends = 0.0
        while True:
            if reply is not None:
                process.stdin.write(json.dumps(reply).encode() + b"\n")
                with contextlib.suppress(ConnectionError):
                    await process.stdin.drain()
            try:
                message: dict[str, Any] = json.loads(await process.stdout.readline())
            except ValueError:
                return None
            if "id" in message:  # the task's own clock runs since before its first request
                ends = ends or time.monotonic() + job.task.seconds
            reply = None
            match message:
                case {"outcome": told}:
                    return from_plain(BrowserOutcome, told)
                case {"problem": told}:
                    raise WebProblem(told["reason"], told["message"], remedy=told["remedy"])
                case {"note": text}:
                    self._note(text)
                case {"step": step}:
                    tell(from_plain(BrowserStepped, step))
                case {"id": number, "blocked": [address, text]}:
                    reply = {"re": number, "value": bool(self._blocks and self._blocks(address, text))}
                case {"id": number, "ask": asked}:
                    asking = asyncio.ensure_future(self._answer(asked, spent))
                    try:
                        await asyncio.wait(
                            {asking, ending},
                            timeout=max(ends - time.monotonic(), 0),
                            return_when=asyncio.FIRST_COMPLETED,
                        )
                        limit = f"the limit of {job.task.seconds:g} seconds for the browser is reached"
                        reply = {"re": number, **(asking.result() if asking.done() else {"stopped": limit})}
                    finally:
                        asking.cancel()
                        await asyncio.gather(asking, return_exceptions=True)

    async def _answer(self, asked: dict[str, Any], spent: list[Usage]) -> dict[str, Json]:
        """What the model says."""
        try:
            completion = await self._ask(**{name: value for name, value in asked.items() if value is not None})
        except ModelOutputError as unusable:
            spent.append(unusable.usage or Usage())
            return {"unusable": unusable.message}
        except StoppedError as stopped:
            return {"stopped": stopped.message}
        spent.append(completion.usage)
        return {"value": {"text": completion.text, "parsed": completion.parsed}}


def _last_words(profile: Path) -> str:
    try:
        lines = (profile / _ERRORS).read_text("utf-8", errors="replace").strip().splitlines()
    except OSError:
        return ""
    return f": {one_line(lines[-1], 200)}" if lines else ""


async def open_browser(
    settings: Settings,
    ask: Ask,
    *,
    driver: str,
    blocks: Callable[[str, str], bool] | None,
    note: Callable[[str], None],
) -> OutsideBrowser:
    """A browser as the user wants it; nothing is started before its first task. For the rest see `OutsideBrowser`.

    Raises:
        WebProblem: There is no Chromium, or no package to drive it.
    """
    if find_spec("playwright") is None:
        raise WebProblem(
            "browser",
            "the browser cannot be driven: the package playwright is missing",
            remedy="pip install 'alita[browser]'",
        )
    chrome = (await ready_chromium(settings.chrome, note)).path
    private, sees = settings.allow_private, settings.sees(Role.BROWSER)
    return OutsideBrowser(driver, chrome, ask, blocks=blocks, allow_private=private, sees=sees, note=note)
