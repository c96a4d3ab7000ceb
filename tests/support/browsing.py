"""Tasks in a real browser, and the processes of such a task."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agent.browser.operate import Blocks, operate
from agent.browser.tasks import BrowserOutcome, BrowserTask
from agent.events import BrowserStepped, Note
from agent.models.protocol import Completion
from support.browser import CHROMIUM


class Desk:
    """A browser, and the requests to its model."""

    def __init__(self, ask: Any, *, blocks: Blocks | None = None, **options: Any) -> None:
        self.asked: list[str] = []
        self.steps: list[BrowserStepped] = []
        self._complete = ask
        self._blocks = blocks
        self._options = {"allow_private": True, "chrome": Path(CHROMIUM or "/nowhere"), **options}

    async def do(self, question: str, url: str, **options: Any) -> BrowserOutcome:
        task = BrowserTask(question, url, **self._options, **options)
        return await operate(task, self._ask, self._tell, self._blocks)

    def _tell(self, event: BrowserStepped | Note) -> None:
        if isinstance(event, BrowserStepped):
            self.steps.append(event)

    async def _ask(self, messages: Any, **options: Any) -> Any:
        self.asked.append(json.dumps(messages, ensure_ascii=False))
        return await self._complete(messages, **options)


def actions(*wanted: Any) -> Completion:
    """Return a reply that browser-use understands."""
    value = {"evaluation_previous_goal": "", "memory": "", "next_goal": "go on", "action": list(wanted)}
    return Completion(json.dumps(value), parsed=value)


def done(text: str = "Done.", *, success: bool = True) -> dict[str, Any]:
    """Return the action that ends a task."""
    return {"done": {"text": text, "success": success}}


def text_of(messages: Sequence[Any]) -> str:
    """Return the last message without its pictures."""
    content = messages[-1]["content"]
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)


def number(pattern: str, text: str) -> int:
    """Return the number of the element with a line that begins with a pattern."""
    found = re.search(rf"\[(\d+)\]<{pattern}", text)
    assert found, text
    return int(found[1])


def processes(word: str) -> list[int]:
    """Return the processes with a word in their command line, except zombies."""
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
    """Wait until a condition is true, and return its value."""
    ends = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < ends, "it never came to that"
        await asyncio.sleep(0.02)
    return found
