"""The configuration of a benchmark: what makes attempts comparable, what questions get, and where its files are."""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
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
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.gaia.attempt import Dataset
    from agent.gaia.runner import RunOptions


LibraryMode = Literal["cold", "warm", "read-only"]
"""`cold`: each attempt begins with an empty library of its own, so that their order tells nothing. `warm`: all share
one that grows. `read-only`: all share one to which nothing is added."""

LearningMode = Literal["off", "use", "grow"]
"""`off`: the planner sees no gap records. `use`: it sees those that are there. `grow`: the overseer adds to them."""

USUAL_SECONDS = 1800.0
"""Work on one question at most, where the user names no other limit: nothing may hang for ever."""
_PATIENT_RETRIES = 30
"""A benchmark waits where a person would rather be told."""


def with_limit(settings: Settings) -> Settings:
    """The settings with a limit of time, whoever set it."""
    return settings if settings.max_seconds else settings.model_copy(update={"max_seconds": USUAL_SECONDS})


def rules_of(settings: Settings, mode: Mode) -> str:
    """What the coordinator is told of the form of its answers.

    Nothing with the small strategy: a prompt that small models follow would cost them more than the form that
    `in_asked_format` gives their answers.
    """
    model = settings.models_for(Role.COORDINATOR)[0]
    if is_small(model, settings.strategy_of(model)):
        return ""
    return str(load_prompt("agent.gaia", mode).render()[0]["content"])


def fingerprint_of(
    dataset: Dataset, settings: Settings, library: LibraryMode, mode: Mode, learning: LearningMode = "off"
) -> Fingerprint:
    """What the attempts of a benchmark have in common."""
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
        with os_errors_as(UsageError, f"The tool library {settings.tools_dir} cannot be read", "Remove that file."):
            contents = [os.fsencode(path.name) + b"\0" + read_small(path, RECORD) + b"\0" for path in tools]
        digest = hashlib.sha256(b"".join(contents))
        configuration["tools"] = digest.hexdigest()[:16]
    if learning != "off":
        configuration["learning"] = learning
    return Fingerprint(dataset.fingerprint, configuration)


@dataclass(frozen=True, slots=True)
class Setup:
    """The settings, limit and rules of every question of a benchmark."""

    settings: Settings
    hard_seconds: float
    """Work after which a question is cancelled; the agent's own limit comes before."""
    rules: str = ""
    """For the form of the answers."""


def setup_of(options: RunOptions, settings: Settings, at_once: int) -> Setup:
    """Return the setup of the questions, `at_once` of which run in parallel."""
    assert settings.max_seconds is not None
    is_default = any(line.name == "concurrency" and line.source == "default" for line in settings.explain())
    own = {
        "runs_dir": options.places.runs,
        "keep_runs": "all",
        "concurrency": 2 * at_once if is_default else settings.concurrency,
        "retries": max(settings.retries, _PATIENT_RETRIES),
        "approval": "never" if options.library == "read-only" else "auto",
        "gaps": "off" if options.learning == "off" else settings.gaps,
    }
    hard = settings.max_seconds + max(5.0, 0.1 * settings.max_seconds)
    return Setup(settings.model_copy(update=own), hard, rules_of(settings, options.mode))


@dataclass(frozen=True, slots=True)
class Places:
    """The files and folders of one benchmark, named after its results."""

    output: Path

    @property
    def ledger(self) -> Path:
        """The truth, from which the results are derived."""
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


def ledger_meant(named: Path) -> Path:
    """The ledger itself; where a benchmark's results are named, the one beside them."""
    beside = Places(named).ledger if named.name else named
    return beside if beside.exists() else named
