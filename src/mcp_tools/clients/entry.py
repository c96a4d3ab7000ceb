"""One external server as a settings file describes it, before anything in it is expanded."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Scope = Literal["user", "project"]
_SECRET_NAME = re.compile(r"key|token|secret|passw|auth|credential|cookie|session", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one server may take of time and room. In a file, under the entry's key `alita`."""

    connect_seconds: float = 30.0
    """From its start until it speaks MCP; `connectSeconds`."""
    list_seconds: float = 10.0
    """For the list of its tools; `listSeconds`."""
    call_seconds: float = 60.0
    """For one call; `callSeconds`."""
    result_chars: int = 100_000
    """Characters of one result; what is longer is cut in its middle, with a note; `resultChars`."""
    tools: int = 200
    """Tools that are taken from its list; `maxTools`."""
    calls: int = 4
    """Calls at once; `concurrentCalls`."""


@dataclass(frozen=True, slots=True)
class ServerEntry:
    """What is known of a server without starting it. Variables stand in it as `${NAME}`."""

    name: str
    command: str = ""
    """The program of a stdio server; empty for one that is reached by `url`."""
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    """Variables that its process gets besides PATH, HOME and LANG."""
    folder: str = ""
    """Where its process works; empty for the project's folder, or for the home folder where the user defines it."""
    url: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    inputs: dict[str, str | None] = field(default_factory=dict)
    """Ids of `${input:ID}` with their defaults, as VS Code's files declare them."""
    is_off: bool = False
    """Whether the file says that it is not to be started."""
    roots: bool = False
    """Whether it is told the current folder when it asks for roots."""
    limits: Limits = field(default_factory=Limits)
    scope: Scope = "user"
    path: Path = Path()
    """The file that describes it."""

    @property
    def shown(self) -> str:
        """What would run or be reached, exactly as the file says it, without the values of its variables."""
        return self.url or shlex.join([self.command, *self.arguments])

    @property
    def given(self) -> str:
        """What it is given: variables and headers, without values that are secret, and a folder."""
        parts = [
            f"variables {_listed(self.environment, '=')}" if self.environment else "",
            f"headers {_listed(self.headers, ': ')}" if self.headers else "",
            f"in {self.folder}" if self.folder else "",
            "and the path of this folder" if self.roots else "",
        ]
        return "; ".join(part for part in parts if part)

    @property
    def digest(self) -> str:
        """SHA-256 of all that decides what is started, and with what; a decision of trust holds for it alone."""
        told = [
            self.name,
            self.command,
            list(self.arguments),
            self.environment,
            self.folder,
            self.url,
            self.headers,
            self.inputs,
            self.roots,
        ]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def is_secret_name(name: str) -> bool:
    """Whether a variable or a header of that name usually holds a secret."""
    return bool(_SECRET_NAME.search(name))


def _listed(given: Mapping[str, str], sign: str) -> str:
    return ", ".join(k if is_secret_name(k) and "${" not in v else f"{k}{sign}{v}" for k, v in given.items())
