"""The browser that the settings ask for, in a process of its own: started for one task, and gone when that ends."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.browser.tasks import Ask, BrowserJob, BrowserOutcome, BrowserTask, Tell
from agent.errors import ModelOutputError, StoppedError
from agent.events import BrowserStepped
from agent.models.protocol import Role, Usage
from agent.records import as_plain, from_plain
from agent.web.browser_process import Driver, driver
from agent.web.chromium import ready_chromium
from agent.web.page import WebProblem
from mcp_tools import child
from mcp_tools.text import one_line
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.configuration.settings import Settings

_GRACE_SECONDS = 90.0
"""For starting and closing the browser, beyond the task's own seconds."""
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
        steps: list[BrowserStepped] = []
        spent: list[Usage] = []

        def heard(step: BrowserStepped) -> None:
            steps.append(step)
            tell(step)

        outcome, problem = None, "the browser hangs"
        async with driver(self._driver, *child.PROXIES) as process:
            job = BrowserJob(task, self._chrome, process.folder, self._allow_private, self._sees)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(task.seconds + _GRACE_SECONDS):
                    outcome = await self._talk(process, job, heard, spent)
                    problem = f"the browser's process ended{process.last_words}"
        url = steps[-1].url if steps else task.url
        outcome = outcome or BrowserOutcome("", False, url, tuple(steps), problem)
        return replace(outcome, usage=sum(spent, Usage()))

    async def _talk(self, process: Driver, job: BrowserJob, tell: Tell, spent: list[Usage]) -> BrowserOutcome | None:
        """Sends the job and answers what is asked; None where the process ends."""
        await process.say({"job": as_plain(job)})
        ends = 0.0
        while (message := await process.hear()) is not None:
            if "id" in message:  # the task's own clock runs since before its first request
                ends = ends or time.monotonic() + job.task.seconds
            match message:
                case {"outcome": told}:
                    return from_plain(BrowserOutcome, told)
                case {"note": text}:
                    self._note(text)
                case {"step": step}:
                    tell(from_plain(BrowserStepped, step))
                case {"id": number, "blocked": [address, text]}:
                    await process.say({"re": number, "value": bool(self._blocks and self._blocks(address, text))})
                case {"id": number, "ask": asked}:
                    limit = f"the limit of {job.task.seconds:g} seconds for the browser is reached"
                    asking = asyncio.ensure_future(self._answer(asked, spent))
                    ending = asyncio.ensure_future(process.process.wait())
                    try:
                        seconds = max(ends - time.monotonic(), 0)
                        await asyncio.wait({asking, ending}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
                        answer = asking.result() if asking.done() else {"stopped": limit}
                    finally:
                        asking.cancel()
                        ending.cancel()
                        await asyncio.gather(asking, ending, return_exceptions=True)
                    await process.say({"re": number, **answer})
        return None

    async def _answer(self, asked: dict[str, Any], spent: list[Usage]) -> dict[str, Json]:
        try:
            completion = await self._ask(**{name: value for name, value in asked.items() if value is not None})
        except ModelOutputError as unusable:
            spent.append(unusable.usage or Usage())
            return {"unusable": unusable.message}
        except StoppedError as stopped:
            return {"stopped": stopped.message}
        spent.append(completion.usage)
        return {"value": {"text": completion.text, "parsed": completion.parsed}}


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
