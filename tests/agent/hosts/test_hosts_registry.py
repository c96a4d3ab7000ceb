"""Where each client keeps its settings on each platform, and what is written there."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from agent.hosts.clients import NAMES, ServerCommand, find_host, server_command
from agent.hosts.settings_file import read_text, snippet
from mcp_tools.errors import UsageError

HOME = Path("/home/ada")
SUPPORT = "Library/Application Support"

FILES: dict[str, tuple[str, str]] = {
    "claude-desktop": (
        ".config/Claude/claude_desktop_config.json",
        f"{SUPPORT}/Claude/claude_desktop_config.json",
    ),
    "claude-code": (".claude.json",) * 2,
    "cursor": (".cursor/mcp.json",) * 2,
    "vscode": (".config/Code/User/mcp.json", f"{SUPPORT}/Code/User/mcp.json"),
    "gemini": (".gemini/settings.json",) * 2,
    "codex": (".codex/config.toml",) * 2,
    "goose": (".config/goose/config.yaml",) * 2,
}
PROJECT_FILES = {
    "claude-code": ".mcp.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
    "gemini": ".gemini/settings.json",
    "codex": ".codex/config.toml",
}
SERVER = ServerCommand("/opt/alita/bin/alita", ("serve",), {"ALITA_HOME": "/h"})


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of which only the home folder is known."""
    monkeypatch.setenv("HOME", str(HOME))
    for variable in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(variable, raising=False)


@pytest.mark.parametrize("name", NAMES)
def test_the_file_of_the_user_on_each_platform(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    host = find_host(name)
    for platform, file in zip(("linux", "darwin"), FILES[name], strict=True):
        monkeypatch.setattr(sys, "platform", platform)
        assert host.path("user", Path("/p")) == HOME / file


@pytest.mark.parametrize(
    ("name", "variable", "file"),
    [
        ("claude-desktop", "XDG_CONFIG_HOME", "Claude/claude_desktop_config.json"),
        ("claude-code", "CLAUDE_CONFIG_DIR", ".claude.json"),
        ("codex", "CODEX_HOME", "config.toml"),
        ("goose", "XDG_CONFIG_HOME", "goose/config.yaml"),
    ],
)
def test_a_variable_of_the_client_moves_its_file(
    name: str, variable: str, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = find_host(name)
    unmoved = host.path("user", Path("/p"))
    for value, path in (("/moved", Path("/moved") / file), ("relative", unmoved), (" ", unmoved)):
        monkeypatch.setenv(variable, value)
        assert host.path("user", Path("/p")) == path


@pytest.mark.parametrize("name", NAMES)
def test_the_file_of_a_project(name: str) -> None:
    host = find_host(name)
    if name in PROJECT_FILES:
        assert host.path("project", Path("/p")) == Path("/p") / PROJECT_FILES[name]
    else:
        with pytest.raises(UsageError, match="no per-project settings"):
            host.path("project", Path("/p"))


STDIO = {"type": "stdio", "command": "/opt/alita/bin/alita", "args": ["serve"], "env": {"ALITA_HOME": "/h"}}
PLAIN = {key: value for key, value in STDIO.items() if key != "type"}
WRITTEN: dict[str, dict[str, Any]] = {
    "claude-desktop": {"mcpServers": {"alita": PLAIN}},
    "claude-code": {"mcpServers": {"alita": STDIO}},
    "cursor": {"mcpServers": {"alita": STDIO}},
    "vscode": {"servers": {"alita": STDIO}},
    "gemini": {"mcpServers": {"alita": PLAIN}},
    "codex": {"mcp_servers": {"alita": {**PLAIN, "startup_timeout_sec": 30, "tool_timeout_sec": 600}}},
    "goose": {
        "extensions": {
            "alita": {
                "enabled": True,
                "type": "stdio",
                "name": "alita",
                "description": "Proven tools that run in a sandbox, and new ones on request.",
                "cmd": "/opt/alita/bin/alita",
                "args": ["serve"],
                "envs": {"ALITA_HOME": "/h"},
                "env_keys": [],
                "timeout": 600,
            }
        }
    },
}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_written_is_what_the_client_documents(name: str) -> None:
    host = find_host(name)
    text = snippet(host, "alita", host.entry(SERVER, "alita"))
    assert read_text(host.format, text) == WRITTEN[name]


def test_an_unknown_client_is_told_the_known_ones() -> None:
    with pytest.raises(UsageError) as told:
        find_host("claude")
    assert "Did you mean claude-code?" in told.value.remedy
    assert all(name in told.value.remedy for name in NAMES)


def test_the_command_is_absolute_and_carries_no_key(tmp_path: Path) -> None:
    """Only where alita keeps its things; what the client would not know."""
    found = server_command(
        tmp_path / "tools",
        tools="meta",
        environment={"ALITA_HOME": str(tmp_path), "OPENAI_API_KEY": "sk-secret", "ALITA_API_KEY": "sk-secret"},
    )
    assert Path(found.command).is_absolute()
    assert Path(found.command).parent == Path(sys.executable).parent
    assert found.args[-3:] == ("serve", "--tools", "meta")
    assert found.env == {"ALITA_HOME": str(tmp_path), "ALITA_TOOLS_DIR": str(tmp_path / "tools")}
    assert server_command(None, environment={}).as_json().keys() == {"command", "args"}
