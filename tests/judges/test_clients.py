"""Clients of other people call every kind of tool, and see progress, cancellation and a changed list."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from pathlib import Path

import pytest
from judging import HERE, NODE_FOLDER, Report, Served, assert_saw_everything
from probe_python import see, see_with_fastmcp

PROTOCOLS = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}


def reported(*command: str | Path) -> Report:
    """What a client in a process of its own prints last."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=55, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    report: Report = json.loads(done.stdout.splitlines()[-1])
    return report


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_sdk_client(served: Served, mode: str) -> None:
    """The Python SDK 2, in the new era and in the old."""
    report = await see(served, mode)
    assert report["protocol"] == PROTOCOLS[mode]
    assert_saw_everything(served, report)


@pytest.mark.slow
@pytest.mark.parametrize(("served", "mode"), [("stdio", "auto"), ("http", "legacy")], indirect=["served"])
async def test_the_fastmcp_client(served: Served, mode: str) -> None:
    """FastMCP, in the new era and in the old; below it is the SDK's client, which the test above tries on each wire."""
    report = await see_with_fastmcp(served, mode)
    assert report["protocol"] == PROTOCOLS[mode]
    assert_saw_everything(served, report)


@pytest.mark.slow
@pytest.mark.parametrize("served", ["stdio"], indirect=True)
async def test_the_sdk_client_of_the_1_x_line(served: Served, mcp1: Path) -> None:
    """The Python SDK 1.30, which most hosts still have."""
    report = await asyncio.to_thread(reported, mcp1, HERE / "probe_mcp1.py", served.as_json())
    assert report["protocol"] == "2025-11-25"
    assert_saw_everything(served, report)


@pytest.mark.slow
@pytest.mark.node
@pytest.mark.parametrize("served", ["http"], indirect=True)
async def test_the_typescript_sdk_of_the_1_x_line(served: Served, node: Path) -> None:
    """The TypeScript SDK 1: a second implementation of the protocol."""
    report = await asyncio.to_thread(reported, node, HERE / "probe_sdk1.mjs", NODE_FOLDER.parent, served.as_json())
    assert_saw_everything(served, report)


@pytest.mark.slow
@pytest.mark.node
@pytest.mark.parametrize(("served", "mode"), [("stdio", "2026-07-28"), ("http", "legacy")], indirect=["served"])
async def test_the_typescript_client_of_the_2_x_line(served: Served, node: Path, mode: str) -> None:
    """The TypeScript client 2, in the new era and in the old."""
    command = (node, HERE / "probe_client2.mjs", NODE_FOLDER.parent, served.as_json(), mode)
    report = await asyncio.to_thread(reported, *command)
    assert report["protocol"] == PROTOCOLS[mode]
    assert_saw_everything(served, report)
