"""Entries of MCP settings files that start the servers in this folder."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PLAIN_SERVER = Path(__file__).with_name("plain_mcp_server.py")
MODERN_SERVER = Path(__file__).with_name("modern_mcp_server.py")
ODD_SERVER = Path(__file__).with_name("odd_mcp_server.py")


def plain(*flags: str, **more: Any) -> dict[str, Any]:
    """Return the entry of a server with the 2025 protocol; its flags say how it misbehaves."""
    return {"command": sys.executable, "args": ["-S", "-E", str(PLAIN_SERVER), *flags], **more}


def modern(*flags: str, **more: Any) -> dict[str, Any]:
    """Return the entry of a server with the 2026 protocol, made with the SDK."""
    return {"command": sys.executable, "args": [str(MODERN_SERVER), *flags], **more}


def write_servers(path: Path, **servers: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


def starts(log: Path) -> list[int]:
    """Return the process ids of the started servers, oldest first."""
    return [int(line) for line in log.read_text().split()] if log.exists() else []


def is_alive(pid: int) -> bool:
    """Return True if a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def ends(pid: int, seconds: float = 2.0) -> bool:
    """Return True if a process ends within `seconds`."""
    end = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < end:
        time.sleep(0.01)
    return not is_alive(pid)


class WebServer:
    """A server with the 2026 protocol over HTTP, in its own process."""

    def __init__(self, *flags: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, MODERN_SERVER, "--http", *flags], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self._process.stdout.readline())}/mcp"

    def __enter__(self) -> WebServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()


def odd(**plan: Any) -> dict[str, Any]:
    """Return the entry of a stdio server that follows a plan."""
    limits = {"alita": plan.pop("alita")} if "alita" in plan else {}
    return {"command": sys.executable, "args": ["-S", "-E", str(ODD_SERVER), json.dumps(plan)], **limits}
