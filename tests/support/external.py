"""External servers for tests: entries of settings files that start the servers of this folder."""

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
    """The entry of a server of 2025 that misbehaves as its flags say."""
    return {"command": sys.executable, "args": ["-S", "-E", str(PLAIN_SERVER), *flags], **more}


def modern(*flags: str, **more: Any) -> dict[str, Any]:
    """The entry of a server of 2026, made with the SDK."""
    return {"command": sys.executable, "args": [str(MODERN_SERVER), *flags], **more}


def write_servers(path: Path, **servers: Any) -> Path:
    """Writes a settings file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


def starts(log: Path) -> list[int]:
    """The process ids of the servers that were started, oldest first."""
    return [int(line) for line in log.read_text().split()] if log.exists() else []


def is_alive(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def ends(pid: int, seconds: float = 2.0) -> bool:
    """Whether a process ends in time: what is killed may take a moment."""
    end = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < end:
        time.sleep(0.01)
    return not is_alive(pid)


class WebServer:
    """The server of 2026 at an address, in a process of its own."""

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
    """The entry of a server that does what a plan says, over stdio."""
    limits = {"alita": plan.pop("alita")} if "alita" in plan else {}
    return {"command": sys.executable, "args": ["-S", "-E", str(ODD_SERVER), json.dumps(plan)], **limits}
