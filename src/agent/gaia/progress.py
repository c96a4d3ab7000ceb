"""Shows the progress of a benchmark on stderr."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable, Sequence

from agent.gaia.attempt import DONE, Attempt, Task
from agent.gaia.report.report import price, seconds_text
from mcp_tools.text import count_of, one_line

_ANSWER_WIDTH = 60


class Display:
    """Prints a line for each attempt. Only the last attempt at a question and epoch counts."""

    def __init__(self, *, verbose: bool = False) -> None:
        self._verbose = verbose
        self._tasks: set[str] = set()
        self._epochs = 1
        self._latest: dict[tuple[str, int], Attempt] = {}
        self._todo = self._made = 0
        self._began = time.monotonic()

    def plan(self, selected: Sequence[Task], done: Sequence[Attempt], todo: int, epochs: int = 1) -> None:
        """Announce the planned attempts. `done` holds the last attempts of earlier runs, with and without a result."""
        self._tasks = {task.task_id for task in selected}
        self._latest = {attempt.key: attempt for attempt in done if attempt.task_id in self._tasks}
        self._epochs, self._todo, self._began = epochs, todo, time.monotonic()
        finished = sum(attempt.status in DONE for attempt in done)
        asked = count_of(len(selected), "question") + (f" × {epochs} epochs" if epochs > 1 else "")
        before = f", {finished} done before" if finished else ""
        self.say(f"{asked}{before}; {count_of(todo, 'attempt')} to make.")

    def start(self) -> None:
        """Start the clock for the time estimate when the first question starts."""
        self._began = time.monotonic()

    def tell(self, task_id: str, text: str) -> None:
        """Show an event of a running question."""
        if self._verbose:
            self.say(f"  {task_id}: {text}")

    def end(self, attempt: Attempt) -> None:
        """Show a finished attempt."""
        self._latest[attempt.key] = attempt
        self._made += 1
        self.say(self._line_of(attempt))

    def say(self, text: str) -> None:
        """Print a line. If stderr is closed, the benchmark continues."""
        text = one_line(text, 500)
        encoding = sys.stderr.encoding or "utf-8"
        with contextlib.suppress(OSError):
            print(text.encode(encoding, "replace").decode(encoding), file=sys.stderr, flush=True)

    def _left(self) -> str:
        left = (time.monotonic() - self._began) / self._made * (self._todo - self._made) if self._made else 0
        return f", about {seconds_text(left)} left" if left >= 1 else ""

    def _line_of(self, attempt: Attempt) -> str:
        verdict = {True: "right", False: "wrong", None: "answered, not scored"}[attempt.correct]
        if attempt.status != "ok":
            verdict = attempt.status + (f" ({verdict})" if attempt.status == "limit" else "")
        result = one_line(attempt.error or attempt.answer, _ANSWER_WIDTH) or "no answer"
        epoch = f" epoch {attempt.epoch}" if attempt.epoch > 1 else ""
        tokens = attempt.input_tokens + attempt.output_tokens
        of = len(self._tasks) * self._epochs
        so_far = score_text(self._latest.values(), of)
        return (
            f"[{self._made}/{self._todo}] {attempt.task_id}{epoch}: {verdict}: {result}"
            f" ({seconds_text(attempt.seconds)}, {tokens:,} tokens, {price(attempt.cost, 'cost unknown')})"
            f"; {so_far}{self._left()}"
        )


def score_text(attempts: Iterable[Attempt], of: int) -> str:
    """Return the number of right answers as text, or the number of answers if reference answers are unknown."""
    latest = list(attempts)
    if any(attempt.correct is not None for attempt in latest):
        return f"{sum(attempt.correct is True for attempt in latest)} right of {of}"
    return f"{sum(bool(attempt.answer) for attempt in latest)} answered of {of}, not scored"
