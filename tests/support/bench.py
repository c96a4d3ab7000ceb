"""A benchmark in a folder, with a local model server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent.configuration.settings import Settings
from agent.configuration.settings_sources import read_settings
from agent.gaia.attachments import usual_attachments
from agent.gaia.attempt import Attempt, Dataset, Task
from agent.gaia.configuration import BenchmarkPaths, RunOptions, with_limit
from agent.gaia.dataset import load_jsonl
from agent.gaia.ledger import Records, read_ledger
from agent.gaia.progress import Display
from agent.gaia.runner import Benchmark, BenchmarkOutcome
from support.benchmarks import question_file


class Recorded(Display):
    """Display that records the epochs and the attempts."""

    def __init__(self) -> None:
        super().__init__()
        self.epochs: list[int] = []
        self.ended: list[Attempt] = []

    def plan(self, selected: Sequence[Task], done: Sequence[Attempt], todo: int, epochs: int = 1) -> None:
        self.epochs.append(epochs)
        super().plan(selected, done, todo, epochs)

    def end(self, attempt: Attempt) -> None:
        self.ended.append(attempt)


class Bench:
    """Runs a benchmark with the questions `t0`, `t1` …"""

    def __init__(self, folder: Path, url: str, count: int) -> None:
        self.questions = question_file(folder, count)
        self.output = folder / "out.json"
        self.flags: dict[str, Any] = {"model": "m", "base_url": url, "use_cache": False}
        self.display = Recorded()
        self.running: Benchmark | None = None

    @property
    def dataset(self) -> Dataset:
        return load_jsonl(self.questions)

    def settings(self, flags: dict[str, Any] | None = None) -> Settings:
        """Return the settings; `flags` override them."""
        return with_limit(read_settings(self.flags | (flags or {})))

    def options(self, **options: Any) -> RunOptions:
        """Return the options of a run. By default it asks one question at a time."""
        return RunOptions(output=self.output, **{"concurrency": 1, **options})

    async def run(self, flags: dict[str, Any] | None = None, **options: Any) -> BenchmarkOutcome:
        settings = self.settings(flags)
        found = usual_attachments(settings)
        self.running = Benchmark(self.options(**options), self.dataset, settings, found, self.display)
        return await self.running.run()

    @property
    def records(self) -> Records:
        """Read the ledger."""
        return read_ledger(BenchmarkPaths(self.output).ledger)
