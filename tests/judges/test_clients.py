"""Clients of other people call every kind of tool, and see progress, cancellation and a changed list.

Those of one transport work at the same time: over HTTP with one server.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
from judging import HERE, NODE_FOLDER, Report, Served, assert_saw_everything
from probe_python import see, see_with_fastmcp

pytestmark = pytest.mark.slow

OLD, NEW = "2025-11-25", "2026-07-28"
Client = tuple[str, Callable[[Served], Awaitable[Report]]]
"""The protocol that it agrees on, and how it sees a server."""


async def reported(*command: str | Path, served: Served, mode: str = "") -> Report:
    """What a client in a process of its own prints last."""
    arguments = [*map(str, command), served.as_json(), *([mode] if mode else [])]
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    run = partial(subprocess.run, capture_output=True, text=True, timeout=100, check=False, env=environment)
    done = await asyncio.to_thread(run, arguments)
    assert done.returncode == 0, done.stderr
    report: Report = json.loads(done.stdout.splitlines()[-1])
    return report


async def assert_all_saw_everything(serve: Callable[[str], Served], clients: dict[str, Client]) -> None:
    """Each client fills in a report; a failure names its client."""

    async def judge(name: str, client: Client) -> None:
        protocol, look = client
        served = serve(name)
        try:
            report = await look(served)
            assert report["protocol"] in {protocol, None}
            assert_saw_everything(served, report)
        except Exception as error:
            error.add_note(f"client: {name}")
            raise

    async with asyncio.TaskGroup() as group:
        for name, client in clients.items():
            group.create_task(judge(name, client))


@pytest.mark.timeout(120)
async def test_clients_in_python(serve: Callable[[str], Served], transport: str, mcp1: Path) -> None:
    """The SDK 2 in both eras; FastMCP, which has it below; and the SDK 1.30, which most hosts still have."""
    clients: dict[str, Client] = {
        "sdk_new": (NEW, lambda served: see(served, "auto")),
        "sdk_old": (OLD, lambda served: see(served, "legacy")),
    }
    if transport == "stdio":
        clients["fastmcp"] = (NEW, lambda served: see_with_fastmcp(served, "auto"))
        clients["sdk_1"] = (OLD, lambda served: reported(mcp1, HERE / "probe_mcp1.py", served=served))
    else:
        clients["fastmcp"] = (OLD, lambda served: see_with_fastmcp(served, "legacy"))
    await assert_all_saw_everything(serve, clients)


@pytest.mark.node
@pytest.mark.timeout(120)
async def test_clients_in_typescript(serve: Callable[[str], Served], transport: str, node: Path) -> None:
    """A second implementation of the protocol: the SDK 1, and the client 2 in both eras."""
    sdk1 = (node, HERE / "probe_sdk1.mjs", NODE_FOLDER.parent)
    client2 = (node, HERE / "probe_client2.mjs", NODE_FOLDER.parent)
    clients: dict[str, Client] = {
        "sdk_1": (OLD, lambda served: reported(*sdk1, served=served)),
        "client": (OLD, lambda served: reported(*client2, served=served, mode="legacy")),
    }
    if transport == "stdio":
        clients = {"client": (NEW, lambda served: reported(*client2, served=served, mode=NEW))}
    await assert_all_saw_everything(serve, clients)
