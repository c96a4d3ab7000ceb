"""The benchmarks that the page runs. They belong to the page, not to a tab: every tab finds them again."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent.errors import AlitaError, RunError
from agent.gaia.preparation import Prepared, summary
from agent.gaia.progress import Display
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.gaia.attempt import Attempt, Task
    from agent.gaia.preparation import Choices

_LINES = 200
_CLOSING = 20.0
"""Seconds between the order to stop every question and the end of the page."""


class Told(Display):
    """A display that keeps its last lines."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: deque[str] = deque(maxlen=_LINES)
        self.heard = 0
        """Lines in all."""
        self.planned = asyncio.Event()

    def plan(self, selected: Sequence[Task], done: Sequence[Attempt], todo: int, epochs: int = 1) -> None:
        """Note that the ledger is this process's, and work begins."""
        super().plan(selected, done, todo, epochs)
        self.planned.set()

    def say(self, text: str) -> None:
        """Keep a line."""
        self.lines.append(one_line(text, 500))
        self.heard += 1


class Running:
    """A benchmark under way, or one that ended while the page was open."""

    def __init__(self, prepared: Prepared, choices: Choices, told: Told) -> None:
        self._prepared, self._choices, self.told = prepared, choices, told
        self.ending = ""
        """The summary of its results, or its error; empty while it runs."""
        self.is_good = True
        self.task = asyncio.create_task(self._run())

    @property
    def is_busy(self) -> bool:
        """True until its results are written."""
        return not self.task.done()

    async def _run(self) -> None:
        try:
            outcome = await self._prepared.run()
        except AlitaError as error:
            self.ending, self.is_good = f"{error.message} {error.remedy}".strip(), False
            raise
        except Exception as error:
            self.ending, self.is_good = f"An internal error ended the benchmark: {type(error).__name__}", False
            raise
        self.ending = "\n".join(summary(outcome, self._choices))

    def stop(self) -> None:
        """Let the questions under way end; the second time, end them too."""
        if self.is_busy and self._prepared.benchmark.interrupt():
            self.told.say("Finishing the current questions, then stopping. Press Stop again to stop immediately.")

    async def aclose(self) -> None:
        """End all questions; the ledger can be continued."""
        while self._prepared.benchmark.interrupt():
            continue
        await asyncio.wait({self.task}, timeout=_CLOSING)
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


class Benches:
    """The benchmarks of this page by their ledger."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._running: dict[Path, Running] = {}

    def of(self, ledger: Path) -> Running | None:
        """The benchmark that writes, or wrote, a ledger."""
        return self._running.get(ledger.absolute())

    def busy(self) -> list[Path]:
        """The ledgers that are written now."""
        return [ledger for ledger, one in self._running.items() if one.is_busy]

    async def start(self, choices: Choices, **chosen: object) -> Path:
        """Start a benchmark, or continue it; returns its ledger once that is this process's.

        Args:
            choices: What is run; its results are named by an absolute path.
            chosen: Settings of the form.

        Raises:
            UserError: It cannot begin, or another process writes its ledger.
        """
        ledger = choices.places.ledger
        if (before := self._running.get(ledger)) and before.is_busy:
            raise RunError(f"The benchmark with the ledger {ledger} is under way.", remedy="It is in the list.")
        own = {"use_cache": False, "servers": ("none",), "leak_guard": True}
        given = {name: value for name, value in chosen.items() if value}
        told = Told()
        prepared = await asyncio.to_thread(Prepared, self.settings.model_copy(update={**own, **given}), choices, told)
        one = Running(prepared, choices, told)
        planned = asyncio.create_task(told.planned.wait())
        await asyncio.wait({one.task, planned}, return_when=asyncio.FIRST_COMPLETED)
        planned.cancel()
        if not told.planned.is_set():
            await one.task
        one.task.add_done_callback(lambda task: task.cancelled() or task.exception())
        self._running[ledger] = one
        return ledger

    async def aclose(self) -> None:
        """End all."""
        await asyncio.gather(*(one.aclose() for one in self._running.values() if one.is_busy))
