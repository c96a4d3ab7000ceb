"""A benchmark in a folder, at a local model server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent.configuration.settings import Settings
from agent.configuration.settings_sources import read_settings
from agent.gaia.attachments import usual_attachments
from agent.gaia.attempt import Attempt, Dataset, Task
from agent.gaia.configuration import Places, RunOptions, with_limit
from agent.gaia.dataset import load_jsonl
from agent.gaia.ledger import Records, read_ledger
from agent.gaia.progress import Display
from agent.gaia.runner import Benchmark, BenchmarkOutcome
from support.benchmarks import question_file


class Recorded(Display):
    """A display that keeps what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.epochs: list[int] = []
        self.ended: list[Attempt] = []

    def plan(self, selected: Sequence[Task], done: Sequence[Attempt], todo: int, epochs: int = 1) -> None:
        """Keeps the epochs."""
        self.epochs.append(epochs)
        super().plan(selected, done, todo, epochs)

    def end(self, attempt: Attempt) -> None:
        """Keeps the attempt."""
        self.ended.append(attempt)


class Bench:
    """Questions `t0`, `t1` …, and the runner."""

    def __init__(self, folder: Path, url: str, count: int) -> None:
        self.questions = question_file(folder, count)
        self.output = folder / "out.json"
        self.flags: dict[str, Any] = {"model": "m", "base_url": url, "use_cache": False}
        self.display = Recorded()
        self.running: Benchmark | None = None

    @property
    def dataset(self) -> Dataset:
        """The questions."""
        return load_jsonl(self.questions)

    def settings(self, flags: dict[str, Any] | None = None) -> Settings:
        """The settings, with others where they are given."""
        return with_limit(read_settings(self.flags | (flags or {})))

    def options(self, **options: Any) -> RunOptions:
        """What is run; one question at a time unless told otherwise."""
        return RunOptions(output=self.output, **{"concurrency": 1, **options})

    async def run(self, flags: dict[str, Any] | None = None, **options: Any) -> BenchmarkOutcome:
        """Runs it."""
        settings = self.settings(flags)
        found = usual_attachments(settings)
        self.running = Benchmark(self.options(**options), self.dataset, settings, found, self.display)
        return await self.running.run()

    @property
    def records(self) -> Records:
        """What the ledger holds."""
        return read_ledger(Places(self.output).ledger)
