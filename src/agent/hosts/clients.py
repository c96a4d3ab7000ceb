"""The table of MCP clients, with the location and format of their settings and the form of their server entries."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from mcp_tools.errors import UsageError
from mcp_tools.text import did_you_mean

Scope = Literal["user", "project"]
FormatName = Literal["json", "toml", "yaml"]

_LONG_CALL_SECONDS = 600
"""Timeout in seconds. Creating a tool with a small model takes minutes, longer than the usual timeout of clients."""
_START_SECONDS = 30
_WITHOUT_SCRIPT = "from agent.cli.main import main; main()"


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """The command that a client starts."""

    command: str
    args: tuple[str, ...]
    env: dict[str, str] = field(default_factory=dict)
    """Environment variables for alita's folder and model if they differ from the defaults; never a key."""

    def as_json(self) -> dict[str, Any]:
        """Return the entry in the form that most clients use."""
        entry: dict[str, Any] = {"command": self.command, "args": list(self.args)}
        return entry | {"env": dict(self.env)} if self.env else entry


@dataclass(frozen=True, slots=True)
class ClientProgram:
    """A program that uses MCP servers."""

    name: str
    title: str
    format: FormatName
    key: str
    """Top-level key of the settings under which servers are listed."""
    folder: str | None
    """Folder of the user's settings, below the home folder; None for the platform's folder for desktop programs."""
    file: str
    """Name of the settings file in that folder."""
    project_file: str | None
    """Path of the project's settings file within the project, or None if the client has none."""
    entry: Callable[[ServerCommand, str], dict[str, Any]]
    afterwards: str
    """What the user has to do for the new settings to take effect."""
    variable: str = ""

    def path(self, scope: Scope, project: Path) -> Path:
        """Return the path of the settings file.

        Raises:
            UsageError: The client does not support project settings.
        """
        if scope == "project" and self.project_file is None:
            raise UsageError(
                f"{self.title} has no per-project settings.",
                remedy=f"Install it for your user: alita mcp install {self.name} --scope user",
            )
        if scope == "project":
            return project / str(self.project_file)
        if self.folder is None and sys.platform == "darwin":
            return Path.home() / "Library" / "Application Support" / self.file
        variable = "XDG_CONFIG_HOME" if self.folder is None else self.variable
        moved = Path(os.environ.get(variable, "").strip())
        own = Path.home() / (".config" if self.folder is None else self.folder)
        return (moved if variable and moved.is_absolute() else own) / self.file

    @property
    def told(self) -> str:
        """Describe the user's settings file on each platform."""
        if self.folder is None:
            return f"`{self.file}` in `~/.config` or `~/Library/Application Support`"
        moved = f", or in `${self.variable}`" if self.variable else ""
        return f"`~/{self.folder}{'/' if self.folder else ''}{self.file}`{moved}"


def _standard_entry(server: ServerCommand, name: str) -> dict[str, Any]:
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


_SESSION = "start a new session; /mcp shows it"
_QUIT = "quit Claude Desktop and start it again"
_CLAUDE = "Claude/claude_desktop_config.json"
_START = "run “MCP: List Servers” in VS Code and start it"
_GOOSE = ("start a new session", "XDG_CONFIG_HOME")
_SERVERS = "mcpServers"
HOSTS: tuple[ClientProgram, ...] = (
    ClientProgram("claude-desktop", "Claude Desktop", "json", _SERVERS, None, _CLAUDE, None, _standard_entry, _QUIT),
    ClientProgram(
        "claude-code",
        "Claude Code",
        "json",
        _SERVERS,
        "",
        ".claude.json",
        ".mcp.json",
        _with_type,
        _SESSION,
        "CLAUDE_CONFIG_DIR",
    ),
    ClientProgram(
        "cursor", "Cursor", "json", _SERVERS, ".cursor", "mcp.json", ".cursor/mcp.json", _with_type, "restart Cursor"
    ),
    ClientProgram(
        "vscode", "VS Code", "json", "servers", None, "Code/User/mcp.json", ".vscode/mcp.json", _with_type, _START
    ),
    ClientProgram(
        "gemini",
        "Gemini CLI",
        "json",
        _SERVERS,
        ".gemini",
        "settings.json",
        ".gemini/settings.json",
        _standard_entry,
        _SESSION,
    ),
    ClientProgram(
        "codex",
        "Codex",
        "toml",
        "mcp_servers",
        ".codex",
        "config.toml",
        ".codex/config.toml",
        _codex,
        _SESSION,
        "CODEX_HOME",
    ),
    ClientProgram("goose", "Goose", "yaml", "extensions", ".config", "goose/config.yaml", None, _goose, *_GOOSE),
)
"""The registry of clients. Commands, help and documentation are derived from it."""
NAMES = tuple(host.name for host in HOSTS)


def find_host(name: str) -> ClientProgram:
    """Return the client with the given name.

    Raises:
        UsageError: There is no such client.
    """
    if name in NAMES:
        return HOSTS[NAMES.index(name)]
    hint = did_you_mean(name, NAMES, cutoff=0.5)
    raise UsageError(
        f"There is no client {name!r}.",
        remedy=f"{hint}Known clients: {', '.join(NAMES)}. For others, use the output of `alita mcp json`.",
    )


def server_command(
    tools_dir: Path | None, *, tools: str | None = None, environment: Mapping[str, str] | None = None
) -> ServerCommand:
    """Return the `alita serve` command, with the environment variables that the client would not pass on.

    Args:
        tools_dir: The library to serve; None for the default.
        tools: Which tools to offer, as in `alita serve --tools`.
        environment: Defaults to this process's environment.
    """
    environment = os.environ if environment is None else environment
    python = Path(sys.executable)
    script = python.parent / "alita"
    program = [str(script)] if script.is_file() else [str(python), "-P", "-c", _WITHOUT_SCRIPT]
    env = {}
    if home := environment.get("ALITA_HOME", "").strip():
        env["ALITA_HOME"] = str(Path(home).expanduser().absolute())
    env |= {name: value for name in _CHOICES if (value := environment.get(name, "").strip()) and _is_harmless(value)}
    if tools_dir is not None:
        env["ALITA_TOOLS_DIR"] = str(tools_dir.absolute())
    return ServerCommand(program[0], (*program[1:], "serve", *(["--tools", tools] if tools else [])), env)


_CHOICES = ("ALITA_BASE_URL", "ALITA_MODEL")
"""Variables that choose the model. A client started from the desktop does not see variables exported in a shell."""


def _is_harmless(value: str) -> bool:
    """Return True if a value cannot contain a key. A URL can contain one in its user or query part."""
    return not ("://" in value and any(sign in value for sign in "@?#"))


def uncarried(environment: Mapping[str, str]) -> str:
    """Return a sentence about variables that choose the model but are not written; empty if there are none."""
    left = [name for name in _CHOICES if not _is_harmless(environment.get(name, ""))]
    return (
        f"{', '.join(left)} is not written, because it may contain a key. Set base_url in config.toml instead."
        if left
        else ""
    )
