"""Models and services that a project's files choose, and the user's decision about them.

The `alita.toml` or `.env` of a cloned project could name a stranger's model or endpoint. It would then read questions
and files, and control external servers. So the user is asked once. The decision applies to exactly these values in this
folder.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from agent.errors import SettingsError
from agent.models.protocol import ROLES
from mcp_tools.clients.trust import FILE, Decisions, Verdict
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.configuration.settings import Explained, Settings


@dataclass(frozen=True, slots=True)
class ProjectChoice:
    """The settings of a project's files that choose a model, a search engine or a speech service."""

    project: Path
    settings: tuple[Explained, ...]
    """The chosen values, each with its file. Keys are masked."""
    digest: str
    """SHA-256 of the values. After a change, the user is asked again."""
    verdict: Verdict | None

    @classmethod
    def of(cls, settings: Settings) -> ProjectChoice | None:
        """Return the choice of the project whose settings were read; None if it makes no choice."""
        chosen = [line for line in settings.explain() if line.name in settings.chosen_by_project]
        if not chosen:
            return None
        values = [[line.name, _clear(settings, line.name)] for line in chosen]
        digest = hashlib.sha256(json.dumps(values).encode()).hexdigest()
        verdict = Decisions(settings.data_dir / FILE).of(digest, settings.project)
        return cls(settings.project, tuple(chosen), digest, verdict)

    @property
    def decides_model(self) -> bool:
        """True if the choice includes a model, which decides on actions, and not only search or speech services."""
        deciding = {"model", "fallback", "base_url", *ROLES}
        return any(line.name in deciding or line.name.startswith("models.") for line in self.settings)

    @property
    def in_one_line(self) -> str:
        """The choice on one line."""
        return one_line("; ".join(f"{line.name} = {line.value} ({line.source})" for line in self.settings), 600)


def require_allowed(settings: Settings) -> None:
    """Raise an error if alita would use a model, endpoint or account that only a project's files chose.

    Raises:
        SettingsError: The user has not allowed the project's choice.
    """
    choice = ProjectChoice.of(settings)
    if choice is not None and choice.verdict != "trusted":
        why = "you refused that" if choice.verdict == "refused" else "you have not allowed that"
        raise SettingsError(
            f"This folder's settings choose which model answers, and {why}: {choice.in_one_line}.",
            remedy="If you trust these settings, run `alita config trust`. Otherwise, choose a model with "
            "--model and --base-url, "
            "or in your own settings file (`alita config edit`).",
        )


def _clear(settings: Settings, name: str) -> object:
    of, _, model = name.partition(".")
    if of == "models":
        return settings.models[model].model_dump()
    value = getattr(settings, name)
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    return list(value) if isinstance(value, tuple) else str(value)
