"""Runs a browser task in a separate process."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from importlib.util import find_spec
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlsplit

from agent.browser.tasks import AskModel, BrowserOutcome, BrowserTask
from agent.errors import ModelOutputError, StoppedError
from agent.events import BrowserStepped, Note
from agent.models.protocol import Usage
from agent.records import as_plain, from_plain
from agent.web.browser_process import Driver, driver
from agent.web.chromium import ready_chromium
from agent.web.page import WebProblem
from mcp_tools import child
from mcp_tools.text import one_line
from mcp_tools.tool import Json

T = TypeVar("T")
Tell: TypeAlias = Callable[[BrowserStepped | Note], None]
Blocks: TypeAlias = Callable[[str, str], bool]
"""Returns True if a page, given by address and text, must not be shown."""
_GRACE_SECONDS = 90.0
"""Seconds for starting and closing the browser, in addition to the task's time limit."""
DRIVER = "agent.browser.browser_use_driver"
"""The module with the `main` of the browser's process."""


async def operate(task: BrowserTask, ask: AskModel, tell: Tell, blocks: Blocks | None = None) -> BrowserOutcome:
    """Carry out a task in a browser. If the task itself fails, the outcome says why.

    Args:
        task: The task.
        ask: Asks the model.
        tell: Receives the steps and notes.
        blocks: Decides which pages must not be shown.

    Raises:
        WebProblem: There is no browser, it does not start, or the address is not allowed.
        ModelError: The model could not be reached or refused the request.
    """
    if not task.allows(task.url):
        raise WebProblem(
            "browser",
            f"{one_line(task.url)} is not on one of the hosts that the browser may open: {', '.join(task.hosts)}",
            remedy="Add this host to browser_hosts.",
        )
    if urlsplit(task.url).scheme.lower() not in ("http", "https"):
        raise WebProblem(
            "browser",
            f"{one_line(task.url)} is not a web address",
            remedy="Use a URL that starts with http:// or https://.",
        )
    if missing := next((name for name in ("browser_use", "playwright") if find_spec(name) is None), ""):
        raise WebProblem(
            "browser",
            f"websites cannot be used: the package {missing.replace('_', '-')} is not installed",
            remedy="`alita doctor` shows how to install the extra [browser].",
        )
    chrome = (await ready_chromium(task.chrome, lambda text: tell(Note(text)), may_download=task.may_download)).path
    steps: list[BrowserStepped] = []
    spent: list[Usage] = []
    outcome, problem, ends = None, "the browser did not respond", 0.0
    async with driver(DRIVER, *child.PROXIES) as process:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(task.seconds + _GRACE_SECONDS):
                await process.say({"task": as_plain(task), "chrome": str(chrome)})
                while outcome is None and (message := await process.hear()) is not None:
                    if "id" in message:  # the task's own time limit started before its first request
                        ends = ends or time.monotonic() + task.seconds
                    match message:
                        case {"outcome": outcome_form}:
                            outcome = from_plain(BrowserOutcome, outcome_form)
                        case {"note": text}:
                            tell(Note(text))
                        case {"step": step}:
                            steps.append(from_plain(BrowserStepped, step))
                            tell(steps[-1])
                        case {"id": number, "blocked": [address, text]}:
                            await process.say({"re": number, "value": bool(blocks and blocks(address, text))})
                        case {"id": number, "ask": asked}:
                            late = {"stopped": f"the browser reached its limit of {task.seconds:g} seconds"}
                            answer = await _before(_answer(ask, asked, spent), process, ends - time.monotonic())
                            await process.say({"re": number, **(answer or late)})
                problem = f"the browser's process exited{process.last_output}"
    url = steps[-1].url if steps else task.url
    outcome = outcome or BrowserOutcome("", False, url, tuple(steps), problem)
    return replace(outcome, usage=sum(spent, Usage()))


async def _before(work: Awaitable[T], process: Driver, seconds: float) -> T | None:
    """Return the result, or None if the time runs out or the process exits first."""
    working, ending = asyncio.ensure_future(work), asyncio.ensure_future(process.process.wait())
    try:
        await asyncio.wait({working, ending}, timeout=max(seconds, 0), return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else None
    finally:
        working.cancel()
        ending.cancel()
        await asyncio.gather(working, ending, return_exceptions=True)


async def _answer(ask: AskModel, asked: dict[str, Any], spent: list[Usage]) -> dict[str, Json]:
    try:
        completion = await ask(**{name: value for name, value in asked.items() if value is not None})
    except ModelOutputError as unusable:
        spent.append(unusable.usage or Usage())
        return {"unusable": unusable.message}
    except StoppedError as stopped:
        return {"stopped": stopped.message}
    spent.append(completion.usage)
    return {"value": {"text": completion.text, "parsed": completion.parsed}}
