"""The browser that the settings ask for, in a process of its own: started for one task, and gone when that ends."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from agent.browser.tasks import Ask, BrowserJob, BrowserOutcome, BrowserTask
from agent.errors import ModelOutputError, StoppedError
from agent.events import BrowserStepped, Note
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

Tell: TypeAlias = Callable[[BrowserStepped | Note], None]
Blocks: TypeAlias = Callable[[str, str], bool]
"""Whether an address, with the text found there, must not be shown."""
_GRACE_SECONDS = 90.0
"""For starting and closing the browser, beyond the task's own seconds."""
BROWSER_USE = "agent.browser.inside"
"""The module whose `main` drives the browser with browser-use."""


@dataclass(frozen=True, slots=True)
class OutsideBrowser:
    """Does each task with a fresh process and a fresh browser."""

    driver: str
    """The module whose `main` drives it in its process."""
    chrome: Path
    ask: Ask
    tell: Tell
    blocks: Blocks | None = None
    allow_private: bool = False
    """Also open pages on this machine and its network."""
    sees: bool = False
    """Whether the model reads pictures."""

    async def do(self, task: BrowserTask) -> BrowserOutcome:
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

        outcome, problem = None, "the browser hangs"
        async with driver(self.driver, *child.PROXIES) as process:
            job = BrowserJob(task, self.chrome, process.folder, self.allow_private, self.sees)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(task.seconds + _GRACE_SECONDS):
                    outcome = await self._talk(process, job, steps, spent)
                    problem = f"the browser's process ended{process.last_words}"
        url = steps[-1].url if steps else task.url
        outcome = outcome or BrowserOutcome("", False, url, tuple(steps), problem)
        return replace(outcome, usage=sum(spent, Usage()))

    async def _talk(
        self, process: Driver, job: BrowserJob, steps: list[BrowserStepped], spent: list[Usage]
    ) -> BrowserOutcome | None:
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
                    self.tell(Note(text))
                case {"step": step}:
                    steps.append(from_plain(BrowserStepped, step))
                    self.tell(steps[-1])
                case {"id": number, "blocked": [address, text]}:
                    await process.say({"re": number, "value": bool(self.blocks and self.blocks(address, text))})
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
            completion = await self.ask(**{name: value for name, value in asked.items() if value is not None})
        except ModelOutputError as unusable:
            spent.append(unusable.usage or Usage())
            return {"unusable": unusable.message}
        except StoppedError as stopped:
            return {"stopped": stopped.message}
        spent.append(completion.usage)
        return {"value": {"text": completion.text, "parsed": completion.parsed}}


async def open_browser(settings: Settings, driver: str, ask: Ask, tell: Tell, blocks: Blocks | None) -> OutsideBrowser:
    """A browser as the user wants it; nothing is started before its first task.

    Raises:
        WebProblem: There is no Chromium, or no package to drive it.
    """
    if find_spec("playwright") is None:
        raise WebProblem(
            "browser",
            "the browser cannot be driven: the package playwright is missing",
            remedy="pip install 'alita[browser]'",
        )
    chrome = (await ready_chromium(settings.chrome, lambda text: tell(Note(text)))).path
    return OutsideBrowser(driver, chrome, ask, tell, blocks, settings.allow_private, settings.sees(Role.BROWSER))
