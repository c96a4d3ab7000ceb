"""Where a benchmark keeps what it makes: everything beside the file of its results."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Places:
    """The files and folders of one benchmark."""

    output: Path
    """The results as JSON, derived from the ledger."""

    @property
    def ledger(self) -> Path:
        """The truth."""
        return self.output.with_name(f"{self.output.stem}.ledger.jsonl")

    @property
    def runs(self) -> Path:
        """The runs with their journals, by run id."""
        return self.output.with_name(f"{self.output.stem}.runs")

    @property
    def library(self) -> Path:
        """The library that all questions share, where they share one that began empty."""
        return self.output.with_name(f"{self.output.stem}.tools")

    def library_of(self, task_id: str, epoch: int) -> Path:
        """The folder that holds the library of one attempt, where each has its own."""
        plain = re.sub(r"[^A-Za-z0-9_-]", "_", task_id)[:60]
        exact = "" if plain == task_id else f"-{hashlib.sha256(task_id.encode()).hexdigest()[:8]}"
        return self.library / f"{plain}{exact}-{epoch}"
