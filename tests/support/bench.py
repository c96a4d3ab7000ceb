"""A benchmark in a folder, at a local model server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent.configuration.settings_sources import read_settings
from agent.gaia.attachments import usual_attachments
from agent.gaia.configuration import Places, with_limit
from agent.gaia.dataset import load_jsonl
from agent.gaia.ledger import Records, read_ledger
from agent.gaia.progress import Event
from agent.gaia.runner import Benchmark, BenchmarkOutcome, RunOptions
from support.benchmarks import question_file


class Bench:
    """Questions `t0`, `t1` …, and the runner."""

    def __init__(self, folder: Path, url: str, count: int) -> None:
        self.questions = question_file(folder, count)
        self.output = folder / "out.json"
        self.flags: dict[str, Any] = {"model": "m", "base_url": url, "use_cache": False}
        self.events: list[Event] = []
        self.running: Benchmark | None = None

    def options(self, *, flags: dict[str, Any] | None = None, **options: Any) -> RunOptions:
        """What is run, with other settings where they are given."""
        settings = with_limit(read_settings(self.flags | (flags or {})))
        dataset = load_jsonl(self.questions)
        return RunOptions(dataset, settings, usual_attachments(settings), self.output, **options)

    async def run(self, **options: Any) -> BenchmarkOutcome:
        """Runs it."""
        self.running = Benchmark(self.options(**options), self.hear)
        return await self.running.run()

    def hear(self, event: Event) -> None:
        """Keeps what is told."""
        self.events.append(event)

    @property
    def records(self) -> Records:
        """What the ledger holds."""
        return read_ledger(Places(self.output).ledger)
