"""The benchmarks that the page runs. They belong to the page rather than a tab, so every tab can show them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent.errors import AlitaError, RunError
from agent.gaia.preparation import CONTINUE, Prepared, summary
from agent.gaia.progress import Display
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.gaia.attempt import Attempt, Task
    from agent.gaia.preparation import Choices

_LINES = 200
_CLOSING = 20.0
"""Seconds that cancelled questions are given to end when the page closes."""


class ProgressLog(Display):
    """Keeps the last lines of progress."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: deque[str] = deque(maxlen=_LINES)
        self.line_count = 0
        """Number of lines so far."""
        self.planned = asyncio.Event()

    def plan(self, selected: Sequence[Task], done: Sequence[Attempt], todo: int, epochs: int = 1) -> None:
        """Record that the benchmark has locked its ledger and is starting."""
        super().plan(selected, done, todo, epochs)
        self.planned.set()

    def say(self, text: str) -> None:
        """Keep a line."""
        self.lines.append(one_line(text, 500))
        self.line_count += 1


class Running:
    """A benchmark that is running, or that ended while the page was open."""

    def __init__(self, prepared: Prepared, choices: Choices, log: ProgressLog) -> None:
        self._prepared, self._choices, self.log = prepared, choices, log
        self.ending = ""
        """The outcome as text; an empty string while the benchmark is running."""
        self.is_good = True
        self.task = asyncio.create_task(self._run())

    @property
    def is_busy(self) -> bool:
        """True until the benchmark's results are written."""
        return not self.task.done()

    async def _run(self) -> None:
        try:
            outcome = await self._prepared.run()
        except AlitaError as error:
            self.ending, self.is_good = f"{error.message} {error.remedy}".strip(), False
            raise
        except Exception as error:
            self.ending, self.is_good = (
                f"The benchmark stopped because of an internal error: {type(error).__name__}",
                False,
            )
            raise
        lines = summary(outcome, self._choices)
        self.ending = "\n".join("Press Continue to resume it." if line == CONTINUE else line for line in lines)

    def stop(self) -> None:
        """Stop after the running questions. On a second call, cancel them."""
        if self.is_busy and self._prepared.benchmark.interrupt():
            self.log.say("Finishing the current questions, then stopping. Press Stop again to stop immediately.")

    async def aclose(self) -> None:
        """Cancel all questions. The benchmark can be continued."""
        while self._prepared.benchmark.interrupt():
            continue
        await asyncio.wait({self.task}, timeout=_CLOSING)
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


class PageBenchmarks:
    """The benchmarks of this page, by their ledgers."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._running: dict[Path, Running] = {}

    def of(self, ledger: Path) -> Running | None:
        """Return the benchmark with a ledger, if this page started it."""
        return self._running.get(ledger.absolute())

    def busy(self) -> list[Path]:
        """Return the ledgers of running benchmarks."""
        return [ledger for ledger, one in self._running.items() if one.is_busy]

    async def start(self, choices: Choices, **chosen: object) -> Path:
        """Start or continue a benchmark. Return its ledger once it is locked.

        Args:
        choices: The options, with an absolute path for the results.
        chosen: Settings from the form.

        Raises:
        UserError: The benchmark cannot start, or another process is writing to its ledger.
        """
        ledger = choices.paths.ledger
        if (before := self._running.get(ledger)) and before.is_busy:
            raise RunError(
                f"The benchmark with the ledger {ledger} is running.", remedy="Select it in the list of benchmarks."
            )
        if ledger.exists() and not choices.resume:
            raise RunError(
                f"{choices.output} already exists.", remedy="Press Continue, or choose another results file."
            )
        own = {"use_cache": False, "servers": ("none",), "leak_guard": True}
        given = {name: value for name, value in chosen.items() if value}
        log = ProgressLog()
        prepared = await asyncio.to_thread(Prepared, self.settings.model_copy(update={**own, **given}), choices, log)
        one = Running(prepared, choices, log)
        planned = asyncio.create_task(log.planned.wait())
        await asyncio.wait({one.task, planned}, return_when=asyncio.FIRST_COMPLETED)
        planned.cancel()
        if not log.planned.is_set():
            await one.task
        one.task.add_done_callback(lambda task: task.cancelled() or task.exception())
        self._running[ledger] = one
        return ledger

    async def aclose(self) -> None:
        """Close all benchmarks."""
        await asyncio.gather(*(one.aclose() for one in self._running.values() if one.is_busy))
