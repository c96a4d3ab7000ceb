"""How another program starts alita's server: an absolute command that needs no activated environment."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_WITHOUT_SCRIPT = "from agent.cli.main import main; main()"


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """What a client starts."""

    command: str
    """The program, absolute."""
    args: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    """Where alita keeps its things, where that is not the default. Never a key."""

    def as_json(self) -> dict[str, object]:
        """The entry as most clients write it."""
        entry: dict[str, object] = {"command": self.command, "args": list(self.args)}
        return entry | {"env": dict(self.env)} if self.env else entry


def server_command(
    tools_dir: Path | None, *, tools: str | None = None, environment: Mapping[str, str] | None = None
) -> ServerCommand:
    """The command of `alita serve`, with what the client's own environment would not tell it.

    Args:
        tools_dir: The library to serve; None leaves it to the default.
        tools: Which tools are offered, as `alita serve --tools` takes it.
        environment: That of this process when not given.
    """
    environment = os.environ if environment is None else environment
    program = _program(Path(sys.executable))
    args = [*program[1:], "serve", *(["--tools", tools] if tools else [])]
    env = {}
    if home := environment.get("ALITA_HOME", "").strip():
        env["ALITA_HOME"] = str(Path(home).expanduser().absolute())
    if tools_dir is not None:
        env["ALITA_TOOLS_DIR"] = str(tools_dir.absolute())
    return ServerCommand(program[0], tuple(args), env)


def _program(python: Path) -> list[str]:
    """The `alita` beside the interpreter; where there is none, the interpreter with alita's entry."""
    script = python.parent / ("alita.exe" if os.name == "nt" else "alita")
    return [str(script.absolute())] if script.is_file() else [str(python.absolute()), "-P", "-c", _WITHOUT_SCRIPT]
