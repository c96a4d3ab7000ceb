"""Learning during a benchmark: the overseer studies wrong attempts while other questions are being answered."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from agent.errors import AlitaError, ModelError, UsageError
from agent.gaia.attempt import DONE, Attempt, Lesson
from agent.gaia.ledger import Ledger
from agent.gaia.progress import Display
from agent.learning.overseer import WrongAttempt, learn
from agent.learning.planner import kind_of
from agent.models.protocol import Role
from agent.models.roles import Models
from agent.traces.render import render
from agent.traces.trace import read_trace
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.gaia.attempt import Dataset
    from agent.gaia.configuration import RunOptions
    from agent.learning.gap_records import GapRecords

_WIDTH = 200


class Split(NamedTuple):
    """Ids of the questions to learn from, and of those to score."""

    learned: tuple[str, ...]
    scored: tuple[str, ...]


def split_questions(ids: Sequence[str], share: float, seed: int, most: int | None = None) -> Split:
    """Split questions by a hash of their ids. The same seed gives the same split in any order.

    Raises:
        UsageError: There are fewer than two questions.
    """
    shuffled = sorted(ids, key=lambda task_id: hashlib.sha256(f"{seed} {task_id}".encode()).digest())[:most]
    if len(shuffled) < 2:
        raise UsageError(f"Learning needs at least two questions; got {len(shuffled)}.")
    learned = min(max(round(len(shuffled) * share), 1), len(shuffled) - 1)
    return Split(tuple(shuffled[:learned]), tuple(shuffled[learned:]))


class Lessons:
    """Runs the overseer of a benchmark. Does nothing if learning is off.

    A resumed benchmark also learns from earlier wrong attempts that have no lesson yet.
    """

    def __init__(
        self,
        options: RunOptions,
        dataset: Dataset,
        settings: Settings,
        ledger: Ledger,
        fingerprint: str,
        display: Display,
    ) -> None:
        self._runs = options.paths.runs
        self._ledger = ledger
        self._fingerprint = fingerprint
        self._display = display
        self._tasks = {task.task_id: task for task in dataset.tasks}
        self._truths = dataset.truths
        self._queue: asyncio.Queue[Attempt] = asyncio.Queue()
        self._records: GapRecords | None = None
        self._models: Models | None = None
        self._working: asyncio.Task[None] | None = None
        self.unlearned: list[str] = []
        """A sentence for each attempt from which nothing was learned."""
        if options.learning == "off":
            return
        from agent.learning.gap_records import GapRecords

        self._records = GapRecords(settings)
        if options.learning == "grow":
            self._models = Models(settings, notify=lambda text: display.tell("overseer", text))
            learned = {lesson.run_id for lesson in ledger.lessons}
            for attempt in ledger.attempts:
                if attempt.run_id not in learned:
                    self._put(attempt)

    def heard(self, attempt: Attempt) -> None:
        """Queue a scored attempt for learning."""
        task = self._tasks.get(attempt.task_id)
        if self._records is None or task is None or attempt.correct is None or attempt.status not in DONE:
            return
        files = (task.file_name,) if task.file_name else ()
        self._records.note_score(attempt.run_id, kind_of(task.question, files), correct=attempt.correct)
        self._put(attempt)

    def _put(self, attempt: Attempt) -> None:
        if self._models is None or attempt.correct is not False or attempt.status not in DONE or not attempt.run_id:
            return
        self._queue.put_nowait(attempt)
        if self._working is None:
            self._working = asyncio.create_task(self._work())

    async def _work(self) -> None:
        while True:
            attempt = await self._queue.get()
            try:
                await self._learn(attempt)
            except ModelError as failure:
                self._fail(attempt, f"{failure.message}; --resume tries again")
            except AlitaError as failure:
                self._fail(attempt, failure.message)
            self._queue.task_done()

    async def _learn(self, attempt: Attempt) -> None:
        task, truth = self._tasks[attempt.task_id], self._truths[attempt.task_id]
        assert self._models is not None
        assert self._records is not None
        files = (task.file_name,) if task.file_name else ()
        trace = await asyncio.to_thread(self._trace_of, attempt)
        insight = await learn(
            WrongAttempt(task.question, files, truth, trace), self._models.for_role(Role.OVERSEER), self._records
        )
        usage = insight.usage
        lesson = Lesson(
            *(attempt.task_id, attempt.epoch, self._fingerprint, attempt.run_id, truth),
            *(insight.diagnosis, insight.record, insight.problem),
            *(usage.input_tokens, usage.output_tokens, usage.cost),
        )
        self._ledger.learn(lesson)
        if insight.record:
            self._display.tell(attempt.task_id, f"learned: {insight.record}")
        else:
            self._fail(attempt, insight.problem)

    def _trace_of(self, attempt: Attempt) -> str:
        trace = render(read_trace(self._runs, attempt.run_id), width=_WIDTH, full=True)
        scored = [
            f"raw answer: {attempt.raw_answer}",
            f"scored answer: {attempt.answer}",
            f"resolution: {attempt.resolution} ({attempt.reason})",
        ]
        return "\n".join([trace, "", *scored])

    def _fail(self, attempt: Attempt, why: str) -> None:
        self.unlearned.append(f"{attempt.task_id}: {one_line(why, 200)}")
        self._display.tell(attempt.task_id, f"nothing is learned: {one_line(why, 200)}")

    async def finish(self, *, stopped: bool) -> None:
        """Wait until all lessons are learned, unless the benchmark was stopped."""
        if not stopped and self._working is not None:
            waiting = asyncio.create_task(self._queue.join())
            await asyncio.wait({waiting, self._working}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()

    async def aclose(self) -> None:
        """Stop the overseer. A resumed benchmark learns from the remaining attempts."""
        if self._working is not None:
            self._working.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._working
        if self._models is not None:
            await self._models.aclose()
        if self._records is not None:
            self._records.close()
