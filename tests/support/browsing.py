"""Tasks in a real browser, which a played model does; and the processes that such a task has."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent.browser.operate import Blocks, operate
from agent.browser.tasks import BrowserOutcome, BrowserTask
from agent.events import BrowserStepped, Note
from agent.small.browser import DRIVER
from support.browser import CHROMIUM
from support.played_model import PlayedModel

Action = dict[str, str]


class Desk:
    """A browser, and what its model was asked."""

    def __init__(
        self, *actions: Action, driver: str = DRIVER, ask: Any = None, blocks: Blocks | None = None, **options: Any
    ) -> None:
        self.asked: list[str] = []
        self.steps: list[BrowserStepped] = []
        self._complete = ask or PlayedModel(actions).ask
        self._driver, self._blocks = driver, blocks
        self._options = {"allow_private": True, "chrome": Path(CHROMIUM or "/nowhere"), **options}

    async def do(self, question: str, url: str, **options: Any) -> BrowserOutcome:
        task = BrowserTask(question, url, **self._options, **options)
        return await operate(task, self._driver, self._ask, self._tell, self._blocks)

    def _tell(self, event: BrowserStepped | Note) -> None:
        if isinstance(event, BrowserStepped):
            self.steps.append(event)

    async def _ask(self, messages: Any, **options: Any) -> Any:
        self.asked.append(json.dumps(messages, ensure_ascii=False))
        return await self._complete(messages, **options)


def processes(word: str) -> list[int]:
    """Those with a word in their command line, zombies left out."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                state = (entry / "stat").read_bytes().rpartition(b")")[2].split()[0]
                if word.encode() in (entry / "cmdline").read_bytes() and state != b"Z":
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


async def wait_for(condition: Callable[[], Any], seconds: float = 20.0) -> Any:
    """What a condition gives once it holds."""
    ends = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < ends, "it never came to that"
        await asyncio.sleep(0.02)
    return found
