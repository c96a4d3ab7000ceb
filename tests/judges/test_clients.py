"""Clients of other people call every kind of tool, and see progress, cancellation and a changed list.

They work at the same time: those over HTTP with one server.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from judging import HERE, NODE_FOLDER, Report, Served, assert_saw_everything, furnish
from probe_python import see, see_with_fastmcp

pytestmark = pytest.mark.slow

OLD, NEW = "2025-11-25", "2026-07-28"
Client = tuple[str, Served, Callable[[Served], Awaitable[Report]]]
"""The protocol that it agrees on, its server, and how it sees that."""


async def reported(*command: str | Path, served: Served, mode: str = "") -> Report:
    """What a client in a process of its own prints last."""
    arguments = [*map(str, command), served.as_json(), *([mode] if mode else [])]
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    run = partial(subprocess.run, capture_output=True, text=True, timeout=100, check=False, env=environment)
    done = await asyncio.to_thread(run, arguments)
    assert done.returncode == 0, done.stderr
    report: Report = json.loads(done.stdout.splitlines()[-1])
    return report


async def assert_all_saw_everything(clients: dict[str, Client]) -> None:
    """Each client fills in a report; a failure names its client."""

    async def judge(name: str, protocol: str, served: Served, look: Callable[[Served], Awaitable[Report]]) -> None:
        try:
            report = await look(served)
            assert report["protocol"] in {protocol, None}
            assert_saw_everything(served, report)
        except Exception as error:
            error.add_note(f"client: {name}")
            raise

    async with asyncio.TaskGroup() as group:
        for name, client in clients.items():
            group.create_task(judge(name, *client))


@pytest.mark.timeout(120)
async def test_clients_in_python(http: Served, tmp_path: Path, mcp1: Path) -> None:
    """The SDK 2, FastMCP, which has it below, and over stdio the SDK 1.30, which most hosts still have."""
    await assert_all_saw_everything(
        {
            "sdk_2": (NEW, replace(http, late_tool="double_for_sdk_2"), lambda served: see(served, "auto")),
            "fastmcp": (
                OLD,
                replace(http, late_tool="double_for_fastmcp"),
                lambda served: see_with_fastmcp(served, "legacy"),
            ),
            "sdk_1": (
                OLD,
                furnish(tmp_path / "sdk_1"),
                lambda served: reported(mcp1, HERE / "probe_mcp1.py", served=served),
            ),
        }
    )


@pytest.mark.node
@pytest.mark.timeout(120)
async def test_clients_in_typescript(http: Served, tmp_path: Path, node: Path) -> None:
    """A second implementation of the protocol: the SDK 1, and over stdio the client 2."""
    sdk1 = (node, HERE / "probe_sdk1.mjs", NODE_FOLDER.parent)
    client2 = (node, HERE / "probe_client2.mjs", NODE_FOLDER.parent)
    await assert_all_saw_everything(
        {
            "sdk_1": (OLD, replace(http, late_tool="double_for_ts"), lambda served: reported(*sdk1, served=served)),
            "client": (NEW, furnish(tmp_path / "client"), lambda served: reported(*client2, served=served, mode=NEW)),
        }
    )
