"""Servers that are started for a test, and ended with it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from mcp_tools.clients import connection, stdio_transport
from mcp_tools.clients.config_files import expand
from mcp_tools.clients.config_parser import parse_document
from mcp_tools.clients.servers import Servers
from mcp_tools.clients.trust import ToolPins

Start = Callable[..., Servers]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Where servers note that they were started."""
    return tmp_path / "starts"


@pytest.fixture
async def start(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Start]:
    """Gives the set of the servers whose entries are told, by name. They have less time to end by themselves."""
    monkeypatch.setattr(stdio_transport, "_GRACE_SECONDS", 0.3)
    monkeypatch.setattr(stdio_transport, "_TERM_SECONDS", 0.3)
    monkeypatch.setattr(connection, "_PROBE_SECONDS", 0.5)
    async with AsyncExitStack() as stack:

        def start(*, wait: float = 20.0, **forms: dict[str, Any]) -> Servers:
            for form in forms.values():
                form.setdefault("env", {}).setdefault("MCP_LOG", str(log))
            parsed = parse_document({"mcpServers": forms}, tmp_path / "mcp.json", "user")
            assert not parsed.problems
            expanded = [expand(entry, os.environ, tmp_path) for entry in parsed.entries]
            servers = Servers(expanded, os.environ, wait=wait, seen=ToolPins(tmp_path / "seen.json"))
            stack.push_async_callback(servers.aclose)
            return servers

        yield start
