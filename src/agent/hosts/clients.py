"""The table of clients: where each keeps its settings, in which format, and how it writes alita's server down."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from mcp_tools.errors import UsageError

Scope = Literal["user", "project"]
FormatName = Literal["json", "toml", "yaml"]

_LONG_CALL_SECONDS = 600
"""Writing a tool takes minutes with a small model: longer than clients wait that wait for a minute."""
_START_SECONDS = 30
_WITHOUT_SCRIPT = "from agent.cli.main import main; main()"


@dataclass(frozen=True, slots=True)
class Machine:
    """A platform, a home and an environment."""

    platform: str
    """As `sys.platform` says it: `linux`, `darwin`, `win32`."""
    home: Path
    environment: Mapping[str, str]

    @classmethod
    def this(cls) -> Machine:
        """The one that this process runs on."""
        return cls(sys.platform, Path.home(), os.environ)

    @property
    def programs(self) -> Path:
        """Where desktop programs keep their settings."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return self.folder("APPDATA", self.home / "AppData" / "Roaming")
        return self.folder("XDG_CONFIG_HOME", self.home / ".config")

    def folder(self, variable: str, otherwise: Path) -> Path:
        """The folder that a variable names, if it names an absolute one."""
        named = self.environment.get(variable, "").strip()
        return Path(named) if named and Path(named).is_absolute() else otherwise


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """What a client starts."""

    command: str
    """The program, absolute."""
    args: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    """Where alita keeps its things, where that is not the default. Never a key."""

    def as_json(self) -> dict[str, Any]:
        """The entry as most clients write it."""
        entry: dict[str, Any] = {"command": self.command, "args": list(self.args)}
        return entry | {"env": dict(self.env)} if self.env else entry


@dataclass(frozen=True, slots=True)
class Host:
    """One client of MCP servers."""

    name: str
    """As the command line calls it."""
    title: str
    """As people call it."""
    format: FormatName
    key: str
    """The top-level key under which servers stand."""
    user_file: Callable[[Machine], Path]
    user_file_told: str
    """The same for people, on each platform."""
    project_file: str | None
    """Relative to the project; None where the client has none."""
    entry: Callable[[ServerCommand, str], dict[str, Any]]
    """How it writes down a server of that name."""
    afterwards: str
    """What a person does for it to be seen."""

    def file(self, scope: Scope, machine: Machine, project: Path) -> Path:
        """The settings file.

        Raises:
            UsageError: The client has no settings for a project.
        """
        if scope == "user":
            return self.user_file(machine)
        if self.project_file is None:
            raise UsageError(
                f"{self.title} has no settings for a project.", remedy=f"alita mcp install {self.name} --scope user"
            )
        return project / self.project_file


def _plain(server: ServerCommand, name: str) -> dict[str, Any]:
    return server.as_json()


def _with_type(server: ServerCommand, name: str) -> dict[str, Any]:
    return {"type": "stdio", **server.as_json()}


def _codex(server: ServerCommand, name: str) -> dict[str, Any]:
    return {**server.as_json(), "startup_timeout_sec": _START_SECONDS, "tool_timeout_sec": _LONG_CALL_SECONDS}


def _goose(server: ServerCommand, name: str) -> dict[str, Any]:
    return {
        "enabled": True,
        "type": "stdio",
        "name": name,
        "description": "Proven tools that run in a sandbox, and new ones on request.",
        "cmd": server.command,
        "args": list(server.args),
        "envs": dict(server.env),
        "env_keys": [],
        "timeout": _LONG_CALL_SECONDS,
    }


def _goose_file(machine: Machine) -> Path:
    if machine.platform == "win32":
        return machine.programs / "Block" / "goose" / "config" / "config.yaml"
    return machine.folder("XDG_CONFIG_HOME", machine.home / ".config") / "goose" / "config.yaml"


HOSTS: tuple[Host, ...] = (
    Host(
        "claude-desktop",
        "Claude Desktop",
        "json",
        "mcpServers",
        lambda machine: machine.programs / "Claude" / "claude_desktop_config.json",
        "`Claude/claude_desktop_config.json` in `~/.config`, `~/Library/Application Support` or `%APPDATA%`",
        None,
        _plain,
        "quit Claude Desktop and start it again",
    ),
    Host(
        "claude-code",
        "Claude Code",
        "json",
        "mcpServers",
        lambda machine: machine.folder("CLAUDE_CONFIG_DIR", machine.home) / ".claude.json",
        "`~/.claude.json`, or in `$CLAUDE_CONFIG_DIR`",
        ".mcp.json",
        _with_type,
        "start a new session; /mcp shows it",
    ),
    Host(
        "cursor",
        "Cursor",
        "json",
        "mcpServers",
        lambda machine: machine.home / ".cursor" / "mcp.json",
        "`~/.cursor/mcp.json`",
        ".cursor/mcp.json",
        _with_type,
        "restart Cursor",
    ),
    Host(
        "vscode",
        "VS Code",
        "json",
        "servers",
        lambda machine: machine.programs / "Code" / "User" / "mcp.json",
        "`Code/User/mcp.json` in `~/.config`, `~/Library/Application Support` or `%APPDATA%`",
        ".vscode/mcp.json",
        _with_type,
        "run “MCP: List Servers” in VS Code and start it",
    ),
    Host(
        "gemini",
        "Gemini CLI",
        "json",
        "mcpServers",
        lambda machine: machine.home / ".gemini" / "settings.json",
        "`~/.gemini/settings.json`",
        ".gemini/settings.json",
        _plain,
        "start a new session; /mcp shows it",
    ),
    Host(
        "codex",
        "Codex",
        "toml",
        "mcp_servers",
        lambda machine: machine.folder("CODEX_HOME", machine.home / ".codex") / "config.toml",
        "`~/.codex/config.toml`, or in `$CODEX_HOME`",
        ".codex/config.toml",
        _codex,
        "start a new session; /mcp shows it",
    ),
    Host(
        "goose",
        "Goose",
        "yaml",
        "extensions",
        _goose_file,
        "`~/.config/goose/config.yaml`, or `%APPDATA%\\Block\\goose\\config\\config.yaml`",
        None,
        _goose,
        "start a new session",
    ),
)
"""The one registry: the commands, their help and the documentation come from it."""
NAMES = tuple(host.name for host in HOSTS)


def find_host(name: str) -> Host:
    """The client of that name.

    Raises:
        UsageError: There is none.
    """
    if name in NAMES:
        return HOSTS[NAMES.index(name)]
    near = difflib.get_close_matches(name, NAMES, n=1, cutoff=0.5)
    hint = f"Did you mean {near[0]}? " if near else ""
    raise UsageError(
        f"There is no client {name!r}.",
        remedy=f"{hint}Known are {', '.join(NAMES)}; others take what `alita mcp json` prints.",
    )


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
    python = Path(sys.executable)
    script = python.parent / ("alita.exe" if os.name == "nt" else "alita")
    program = [str(script)] if script.is_file() else [str(python), "-P", "-c", _WITHOUT_SCRIPT]
    env = {}
    if home := environment.get("ALITA_HOME", "").strip():
        env["ALITA_HOME"] = str(Path(home).expanduser().absolute())
    if tools_dir is not None:
        env["ALITA_TOOLS_DIR"] = str(tools_dir.absolute())
    return ServerCommand(program[0], (*program[1:], "serve", *(["--tools", tools] if tools else [])), env)
