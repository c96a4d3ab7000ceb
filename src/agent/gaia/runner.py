"""Runs a benchmark: makes every missing attempt, scores it, and writes it to the ledger."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agent import events
from agent.errors import AlitaError, RunError
from agent.gaia.attempt import DONE, TAKEN, Attempt, Begun, Dataset, Task
from agent.gaia.configuration import RunOptions, Selection, fingerprint_of
from agent.gaia.ledger import CountedTasks, Fingerprint, Ledger
from agent.gaia.lessons import Lessons
from agent.gaia.progress import Display
from agent.gaia.question_run import AttemptJob, Executor, LocalExecutor, StartedQuestion
from agent.gaia.scorer import resolution_of, score
from agent.models.protocol import EMBEDDED

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.gaia.attachments import Attachments

Done = Mapping[tuple[str, int], Attempt]
USUAL_CONCURRENCY = 4


@dataclass(frozen=True, slots=True)
class Todo:
    """A missing attempt."""

    task: Task
    epoch: int
    before: Attempt | None = None


def newest(attempts: Iterable[Attempt]) -> dict[tuple[str, int], Attempt]:
    """Return the last attempt for each question and epoch."""
    return {attempt.key: attempt for attempt in attempts}


def still_to_do(selection: Selection, tasks: Sequence[Task], done: Done) -> list[Todo]:
    """Return the missing attempts: interrupted ones first, then new ones, then failed ones.

    Failed attempts come last, so that repeated failures cannot block a run with `max_questions`.
    """
    left = [
        Todo(task, epoch, done.get((task.task_id, epoch)))
        for epoch in range(1, selection.epochs + 1)
        for task in tasks
        if (before := done.get((task.task_id, epoch))) is None or before.status not in DONE
    ]
    left.sort(key=lambda todo: 1 if todo.before is None else 0 if todo.before.status == "interrupted" else 2)
    if selection.max_questions is None:
        return left
    wanted = list(dict.fromkeys(todo.task.task_id for todo in left))[: selection.max_questions]
    return [todo for todo in left if todo.task.task_id in set(wanted)]


def _lacks_file(attempt: Attempt | None) -> bool:
    return attempt is not None and attempt.status == "missing-file"


How = Literal["finished", "limit", "interrupted", "stopped"]
"""`finished`: all selected questions are done. `limit`: a limit on the totals was reached. `interrupted`: the user
pressed Ctrl-C. `stopped`: every further question would fail too."""


@dataclass(frozen=True, slots=True)
class BenchmarkOutcome:
    """The outcome of a benchmark."""

    how: How
    selected: tuple[Task, ...]
    """All questions that count, finished or not, including those selected in earlier runs."""
    epochs: int
    attempts: tuple[Attempt, ...]
    """The attempts that count, one per question and epoch, including those of earlier runs."""
    left: int
    reachable: int
    """Number of unfinished questions that the same command would run."""
    fingerprint: Fingerprint
    message: str = ""
    unlearned: tuple[str, ...] = ()
    """A sentence for each wrong attempt of this run from which nothing was learned."""
    wall: float = 0.0
    """Duration of this run in seconds."""


class Benchmark:
    """A benchmark that can be interrupted and resumed.

    Args:
        options: The options.
        dataset: The questions.
        settings: The settings of each question.
        attachments: Finds the questions' files.
        display: Shows progress.
        taken: Answers from a submission file, by task id, to start the ledger with.
    """

    def __init__(
        self,
        options: RunOptions,
        dataset: Dataset,
        settings: Settings,
        attachments: Attachments,
        display: Display,
        taken: Mapping[str, str] | None = None,
    ) -> None:
        self._options = options
        self._dataset = dataset
        self._settings = settings
        self._attachments = attachments
        self._display = display
        self._answers = taken or {}
        self._paths = options.paths
        self._fingerprint = fingerprint_of(dataset, settings, options.library, options.mode, options.learning)
        self._queue: deque[Todo] = deque()
        self._began = time.monotonic()
        self._can_ask = False
        self._made: list[Attempt] = []
        self._how: How = "finished"
        self._message = ""
        self._running: set[StartedQuestion] = set()
        self._is_stopped = False
        self._lessons: Lessons

    def interrupt(self) -> bool:
        """Stop after the running questions. On a second call, cancel them.

        Returns:
            True on the first call.
        """
        first = self._how != "interrupted"
        self._how = "interrupted"
        if not first:
            self._is_stopped = True
            for run in self._running:
                run.cancel()
        return first

    async def run(self) -> BenchmarkOutcome:
        """Make every missing attempt.

        Raises:
            RunError: The ledger exists but `resume` is off, or it cannot be continued.
            StorageError: The ledger cannot be written. Its existing lines are safe.
            UsageError: A selected question is not in the set.
        """
        options, selection, digest = self._options, self._options.selection, self._fingerprint.digest
        chosen = selection.tasks(self._dataset.tasks)
        is_new = not self._paths.ledger.exists()
        if not options.resume and not is_new:
            raise RunError(
                f"The ledger {self._paths.ledger} already exists.",
                remedy="Add --resume to continue it, or choose another --output.",
            )
        with Ledger.open(self._paths.ledger, fingerprint=self._fingerprint) as ledger:
            if self._answers and not ledger.attempts:
                ledger.append(*map(self._taken, (t for t in self._dataset.tasks if t.task_id in self._answers)))
            done = newest(ledger.attempts)
            killed = {
                one.key: Attempt(one.task_id, one.epoch, digest, status="interrupted", run_id=one.run_id)
                for one in ledger.begun
            }
            self._queue = deque(still_to_do(selection, chosen, done | killed))
            tasks, epochs = self._counting(ledger.chosen, done)
            ledger.select(tasks, epochs, self._dataset.source)
            self._display.plan(tasks, tuple(done.values()), len(self._queue), epochs)
            for problem in ledger.problems:
                self._display.say(problem)
            self._lessons = Lessons(options, self._dataset, self._settings, ledger, digest, self._display)
            try:
                if self._queue:
                    await self._work(ledger)
                await self._lessons.finish(stopped=self._how in {"interrupted", "stopped"})
            except AlitaError:
                if is_new and not self._can_ask and not ledger.attempts:
                    self._paths.ledger.unlink(missing_ok=True)  # an empty ledger would only block the next run
                raise
            finally:
                await self._lessons.aclose()
            done = newest(ledger.attempts)
        ids = {task.task_id for task in chosen}
        left = [todo for todo in still_to_do(Selection(epochs=epochs), tasks, done) if not _lacks_file(todo.before)]
        return BenchmarkOutcome(
            how=self._how,
            selected=tasks,
            epochs=epochs,
            attempts=tuple(done.values()),
            left=len(left),
            reachable=sum(one.task.task_id in ids and one.epoch <= selection.epochs for one in left),
            fingerprint=self._fingerprint,
            message=self._message,
            unlearned=tuple(self._lessons.unlearned),
            wall=time.monotonic() - self._began,
        )

    def _counting(self, before: CountedTasks | None, done: Done) -> tuple[tuple[Task, ...], int]:
        """Return the questions and epochs that count: selected earlier, finished, or to be run now.

        A ledger belongs to one benchmark, so earlier selections stay in the denominator. Questions beyond
        `--max-questions` are not counted yet.
        """
        ids = {task_id for task_id, _ in done} | {todo.task.task_id for todo in self._queue}
        ids |= {task.task_id for task in before.tasks} if before else set()
        epochs = [self._options.selection.epochs, before.epochs if before else 1, *(epoch for _, epoch in done)]
        return tuple(task for task in self._dataset.tasks if task.task_id in ids), max(epochs)

    async def _work(self, ledger: Ledger) -> None:
        options, most = self._options, len(self._queue)
        usual = 1 if self._settings.model == EMBEDDED else USUAL_CONCURRENCY
        opening: AbstractAsyncContextManager[Executor]
        if options.executor == "ray":
            from agent.gaia.cluster.connection import require_ray

            require_ray()
            from agent.gaia.cluster.executor import RayExecutor

            opening = RayExecutor.open(options, self._settings, most, usual, self._display.say)
        else:
            opening = LocalExecutor.open(options, self._settings, min(options.concurrency or usual, most))
        try:
            async with opening as executor, asyncio.TaskGroup() as slots:
                self._began, self._can_ask = time.monotonic(), True
                self._display.start()
                for _ in range(executor.at_once):
                    slots.create_task(self._slot(executor, ledger))
        except ExceptionGroup as group:
            raise group.exceptions[0] from None

    async def _slot(self, executor: Executor, ledger: Ledger) -> None:
        while self._queue and self._how == "finished":
            if spent := self._spent():
                self._how, self._message = "limit", f"The benchmark has reached its limit of {spent}."
                return
            await self._attempt(self._queue.popleft(), executor, ledger)

    def _spent(self) -> str | None:
        used: dict[str, float] = {
            "seconds": time.monotonic() - self._began,
            "tokens": sum(attempt.input_tokens + attempt.output_tokens for attempt in self._made),
            "cost": sum(attempt.cost or 0.0 for attempt in self._made),
            "steps": sum(attempt.steps for attempt in self._made),
        }
        limits = self._options.totals
        return next((name for name, amount in used.items() if (most := getattr(limits, name)) and amount >= most), None)

    async def _attempt(self, todo: Todo, executor: Executor, ledger: Ledger) -> None:
        task, before = todo.task, todo.before
        resolve = self._attachments.resolve
        found = await asyncio.to_thread(resolve, task) if task.file_name else resolve(task)
        if found.status == "missing":
            attempt = Attempt(task.task_id, todo.epoch, status="missing-file", error=found.message, cost=0.0)
            if before is None or before.status != "missing-file":  # otherwise the ledger already contains this line
                await self._keep(self._scored(task, attempt), ledger)
            self._display.end(attempt)
            return
        if self._is_stopped:
            return
        own = self._paths.library_of(task.task_id, todo.epoch) if self._options.library == "cold" else None
        begun = before.run_id if before is not None and before.status == "interrupted" else ""
        job = AttemptJob(task.task_id, todo.epoch, task.question, found.path, own, begun)
        run = executor.start(job, lambda event: self._hear(event, job, ledger))
        self._running.add(run)
        try:
            result = await run.result()
        finally:
            self._running.discard(run)
        if result.stops and self._how == "finished":
            self._how, self._message = "stopped", result.stops
        attempt = self._scored(task, result.attempt)
        if attempt.status != "interrupted" or attempt.run_id:  # otherwise the attempt never started
            await self._keep(attempt, ledger)
        self._display.end(attempt)

    async def _keep(self, attempt: Attempt, ledger: Ledger) -> None:
        await ledger.record(attempt)
        self._made.append(attempt)
        self._lessons.heard(attempt)

    def _taken(self, task: Task) -> Attempt:
        answer = self._answers[task.task_id]
        return self._scored(task, Attempt(task.task_id, answer=answer, raw_answer=answer, cost=0.0, model=TAKEN))

    def _scored(self, task: Task, attempt: Attempt) -> Attempt:
        truth = self._dataset.truths.get(task.task_id)
        attempt = replace(
            attempt,
            fingerprint=self._fingerprint.digest,
            level=task.level,
            file_type=Path(task.file_name).suffix.removeprefix(".").lower(),
            question_sha256=hashlib.sha256(task.question.encode("utf-8", "surrogatepass")).hexdigest(),
        )
        if truth is not None and attempt.status != "interrupted":
            # An empty answer must not match an empty reference answer or the word None.
            correct, path, reason = score(attempt.answer, truth, self._options.mode)
            attempt = replace(attempt, correct=correct and bool(attempt.answer), score_path=path, reason=reason)
        return replace(attempt, resolution=resolution_of(attempt, truth))

    def _hear(self, event: events.Event, job: AttemptJob, ledger: Ledger) -> None:
        match event:
            case events.RunStarted():
                ledger.begin(Begun(job.task_id, job.epoch, self._fingerprint.digest, event.run_id))
            case events.StepStarted():
                self._display.tell(job.task_id, event.action + (f" ({event.reason})" if event.reason else ""))
            case events.Note() | events.Warned() | events.ModelStarting():
                self._display.tell(job.task_id, event.text)
