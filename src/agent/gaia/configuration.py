"""Configuration of a benchmark: its options, its fingerprint, the settings of its questions, and its files."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agent import alita_version
from agent.configuration.settings import configuration_of
from agent.consent.external_tools import ConfiguredServers
from agent.gaia.ledger import Fingerprint
from agent.gaia.scorer import Mode
from agent.models.protocol import Role
from agent.strategy import is_small
from mcp_tools.errors import UsageError, os_errors_as
from mcp_tools.prompt import load_prompt
from mcp_tools.small_files import RECORD, read_small
from mcp_tools.text import did_you_mean
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.gaia.attempt import Dataset, Task


LibraryMode = Literal["cold", "warm", "read-only"]
"""`cold`: each attempt starts with its own empty library, so the order of questions does not matter. `warm`: all
attempts share a library, to which new tools are added. `read-only`: all attempts share a library that does not
change."""

LearningMode = Literal["off", "use", "grow"]
"""`off`: the planner sees no gap records. `use`: it sees existing ones. `grow`: the overseer also adds new ones."""

USUAL_SECONDS = 1800.0
"""Default time limit of a question, so that nothing hangs forever."""
_PATIENT_RETRIES = 30
"""Retries of a model call. A benchmark can wait longer for a busy endpoint than a person would."""


def with_limit(settings: Settings) -> Settings:
    """Return the settings, with the default time limit if there is none."""
    return settings if settings.max_seconds else settings.model_copy(update={"max_seconds": USUAL_SECONDS})


def rules_of(settings: Settings, mode: Mode) -> str:
    """Return the rules for the form of the coordinator's answers.

    They are empty with the small strategy: the longer prompt would cost small models more than it gains, and
    `in_asked_format` formats their answers.
    """
    model = settings.models_for(Role.COORDINATOR)[0]
    if is_small(model, settings.strategy_of(model)):
        return ""
    return str(load_prompt("agent.gaia", mode).render()[0]["content"])


def fingerprint_of(
    dataset: Dataset, settings: Settings, library: LibraryMode, mode: Mode, learning: LearningMode = "off"
) -> Fingerprint:
    """Return the fingerprint that all attempts of a benchmark have in common."""
    configuration: dict[str, Json] = {
        **configuration_of(settings),
        **ConfiguredServers(settings, Path.cwd()).configuration,
        "alita": alita_version(),
        "library": library,
        "mode": mode,
    }
    if rules := rules_of(settings, mode):
        configuration["rules"] = hashlib.sha256(rules.encode()).hexdigest()[:16]
    if library == "read-only":
        tools = sorted([*settings.tools_dir.glob("*.py"), *settings.tools_dir.glob("*.json")])
        with os_errors_as(UsageError, f"The tool library {settings.tools_dir} cannot be read", "Remove the file."):
            contents = [os.fsencode(path.name) + b"\0" + read_small(path, RECORD) + b"\0" for path in tools]
        digest = hashlib.sha256(b"".join(contents))
        configuration["tools"] = digest.hexdigest()[:16]
    if learning != "off":
        configuration["learning"] = learning
    return Fingerprint(dataset.fingerprint, configuration)


ExecutorName = Literal["local", "ray"]
"""`local`: questions run in this process. `ray`: they run on a Ray cluster."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected questions. Empty `levels` and `ids` select all questions."""

    levels: tuple[int, ...] = ()
    ids: tuple[str, ...] = ()
    max_questions: int | None = None
    """Run at most this many unfinished questions."""
    epochs: int = 1

    def tasks(self, tasks: Sequence[Task]) -> list[Task]:
        """Return the chosen tasks, in the order of the set.

        Raises:
            UsageError: An id or level does not occur in the set.
        """
        ids, levels = {task.task_id for task in tasks}, {task.level for task in tasks}
        for task_id in self.ids:
            if task_id not in ids:
                remedy = f"{did_you_mean(task_id, ids)}Use task_id values from the question file."
                raise UsageError(f"The question set has no question {task_id!r}.", remedy=remedy)
        for level in self.levels:
            if level not in levels:
                known = ", ".join(map(str, sorted(levels - {None}, key=str))) or "no levels"
                raise UsageError(f"The question set has no level {level}.", remedy=f"It has: {known}.")
        return [
            task
            for task in tasks
            if (not self.ids or task.task_id in self.ids) and (not self.levels or task.level in self.levels)
        ]


@dataclass(frozen=True, slots=True)
class Totals:
    """Limits on the totals of one benchmark run; None means no limit. No question starts after a limit is reached."""

    seconds: float | None = None
    tokens: int | None = None
    cost: float | None = None
    steps: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """Options of a benchmark, in addition to settings."""

    output: Path
    selection: Selection = field(default_factory=Selection)
    library: LibraryMode = "cold"
    mode: Mode = "gaia"
    learning: LearningMode = "off"
    concurrency: int | None = None
    """Number of parallel questions; None for the executor's default."""
    executor: ExecutorName = "local"
    ray_address: str = ""
    """Address of the cluster; empty to start Ray on this machine."""
    totals: Totals = field(default_factory=Totals)
    resume: bool = False

    @property
    def paths(self) -> BenchmarkPaths:
        """Paths of the results and related files."""
        return BenchmarkPaths(self.output)


@dataclass(frozen=True, slots=True)
class Setup:
    """The settings, time limit and answer rules that all questions of a benchmark share."""

    settings: Settings
    hard_seconds: float
    """Working time after which a question is cancelled. The agent's own limit is shorter."""
    rules: str = ""
    """Rules for the form of the answers."""


def setup_of(options: RunOptions, settings: Settings, at_once: int) -> Setup:
    """Return the setup for `at_once` parallel questions."""
    assert settings.max_seconds is not None
    is_default = any(line.name == "concurrency" and line.source == "default" for line in settings.explain())
    own = {
        "runs_dir": options.paths.runs,
        "keep_runs": "all",
        "concurrency": 2 * at_once if is_default else settings.concurrency,
        "retries": max(settings.retries, _PATIENT_RETRIES),
        "approval": "never" if options.library == "read-only" else "auto",
        "gaps": "off" if options.learning == "off" else settings.gaps,
    }
    hard = settings.max_seconds + max(5.0, 0.1 * settings.max_seconds)
    return Setup(settings.model_copy(update=own), hard, rules_of(settings, options.mode))


@dataclass(frozen=True, slots=True)
class BenchmarkPaths:
    """Paths of a benchmark's files and folders, derived from the path of its results."""

    output: Path

    @property
    def ledger(self) -> Path:
        """The ledger, from which the results are derived."""
        return self.output.with_name(f"{self.output.stem}.ledger.jsonl")

    @property
    def runs(self) -> Path:
        """The runs with their journals, by run id."""
        return self.output.with_name(f"{self.output.stem}.runs")

    @property
    def library(self) -> Path:
        """The library that all questions share if the benchmark starts without tools."""
        return self.output.with_name(f"{self.output.stem}.tools")

    def library_of(self, task_id: str, epoch: int) -> Path:
        """The library of a single attempt, if each has its own."""
        plain = re.sub(r"[^A-Za-z0-9_-]", "_", task_id)[:60]
        exact = "" if plain == task_id else f"-{hashlib.sha256(task_id.encode()).hexdigest()[:8]}"
        return self.library / f"{plain}{exact}-{epoch}"


def ledger_meant(named: Path) -> Path:
    """Return the ledger next to a results file; any other path is returned unchanged."""
    beside = BenchmarkPaths(named).ledger if named.name else named
    return beside if beside.exists() else named
