"""What alita and the browser's process tell each other: JSON lines, requests of either numbered by who asks.

alita → process   {"job": {...}}                                  once
{"re": 3, "value": ...} or {"re": 3, "error": {...}}
process → alita   {"id": 3, "ask": {...}}                         asks the model
{"id": 4, "blocked": [address, text]}           may this be shown?
{"step": {...}}                                 a step was made
{"note": "..."}                                 something that the user should know
{"outcome": {...}} or {"problem": {...}}        the last line
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agent.browser.logins import Login
from agent.browser.protocol import Task
from agent.models.protocol import Completion, Usage
from mcp_tools.tool import Json

LONGEST_LINE = 64 << 20
"""Bytes: a page with its picture."""


@dataclass(frozen=True, slots=True)
class Job:
    """What the process is started for."""

    task: Task
    chrome: Path
    profile: Path
    allow_private: bool = False
    sees: bool = False
    """Whether the model reads pictures."""

    def as_json(self) -> dict[str, Json]:
        """One line, for the process alone: it holds passwords."""
        task = {**asdict(self.task), "folder": str(self.task.folder) if self.task.folder else None}
        task["files"] = [str(path) for path in self.task.files]
        paths = {"chrome": str(self.chrome), "profile": str(self.profile)}
        return {**asdict(self), "task": task, **paths}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Job:
        """What that line said."""
        told = data["task"]
        task = Task(
            **{
                **told,
                "hosts": tuple(told["hosts"]),
                "private": tuple(told["private"]),
                "files": tuple(Path(path) for path in told["files"]),
                "logins": tuple(Login(**login) for login in told["logins"]),
                "folder": Path(told["folder"]) if told["folder"] else None,
            }
        )
        return cls(**{**data, "task": task, "chrome": Path(data["chrome"]), "profile": Path(data["profile"])})


def completion_json(completion: Completion) -> dict[str, Json]:
    """What the process learns of a completion."""
    return {"text": completion.text, "parsed": completion.parsed, "usage": asdict(completion.usage)}


def completion_of(data: dict[str, Any]) -> Completion:
    """The completion that was told."""
    return Completion(data["text"], Usage(**data["usage"]), data["parsed"])
