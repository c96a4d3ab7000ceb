"""The reference server of the protocol itself as an external server, over both transports, through our client."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from judging import NODE_FOLDER, await_port, free_port

from mcp_tools.clients.config_files import expand
from mcp_tools.clients.config_parser import parse_document
from mcp_tools.clients.servers import Servers
from mcp_tools.tool import Json

pytestmark = [pytest.mark.slow, pytest.mark.node]

PROGRAM = NODE_FOLDER / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"


@pytest.fixture
def address(node: Path, tmp_path: Path) -> Iterator[str]:
    """Where the server answers over HTTP."""
    port, log = free_port(), tmp_path / "everything.log"
    env = {"PATH": os.environ["PATH"], "PORT": str(port)}
    with log.open("wb") as out:
        process = subprocess.Popen([str(node), str(PROGRAM), "streamableHttp"], env=env, stdout=out, stderr=out)
    try:
        await_port(port, process, log)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


@pytest.fixture(params=["stdio", "http"])
async def servers(request: pytest.FixtureRequest, node: Path, tmp_path: Path) -> AsyncIterator[Servers]:
    """Our client with this one server."""
    form: dict[str, Json] = {"command": str(node), "args": [str(PROGRAM), "stdio"]}
    if request.param == "http":
        form = {"type": "http", "url": request.getfixturevalue("address")}
    form["alita"] = {"connectSeconds": 40}
    parsed = parse_document({"mcpServers": {"everything": form}}, tmp_path / "mcp.json", "user")
    assert not parsed.problems
    opened = Servers([expand(entry, os.environ, tmp_path) for entry in parsed.entries], os.environ, wait=40)
    yield opened
    await opened.aclose()


async def test_its_tools_are_found_and_called_and_what_goes_wrong_is_a_reply(servers: Servers) -> None:
    await _are_found_and_called(servers)
    await _many_at_once(servers)
    await _goes_wrong(servers)


async def _are_found_and_called(servers: Servers) -> None:
    """Search finds them under the server's name; numbers, text, structure and media come back as data."""
    found = [tool.name for tool in await servers.search("sum of two numbers", 3)]
    assert "everything__get-sum" in found, servers.notes()
    total = await servers.call("everything__get-sum", {"a": 19, "b": 23})
    assert total.ok
    assert "42" in total.text
    echo = await servers.call("everything__echo", {"message": "wörtlich \x1b[31m"})
    assert echo.ok
    assert "wörtlich" in echo.text
    assert "\x1b" not in echo.text
    weather = await servers.call("everything__get-structured-content", {"location": "Chicago"})
    assert weather.ok, weather.text
    assert "temperature" in weather.text
    image = await servers.call("everything__get-tiny-image", {})
    assert image.ok
    assert len(image.text) < 5_000, "an image is told, not poured out"


async def _goes_wrong(servers: Servers) -> None:
    """Arguments that do not fit, a tool that is not there, and a call that takes too long."""
    misfit = await servers.call("everything__get-sum", {"a": "nineteen", "b": 23})
    assert (misfit.ok, misfit.kind) == (False, "arguments"), misfit
    unknown = await servers.call("everything__get-summ", {})
    assert (unknown.ok, unknown.kind) == (False, "unknown")
    assert "everything__get-sum" in unknown.text
    started = time.monotonic()
    slow = await servers.call("everything__trigger-long-running-operation", {"duration": 30, "steps": 30}, seconds=0.5)
    assert (slow.ok, slow.kind) == (False, "timeout"), slow
    assert time.monotonic() - started < 25
    again = await servers.call("everything__get-sum", {"a": 1, "b": 1})
    assert again.ok, again.text


async def _many_at_once(servers: Servers) -> None:
    """Each gets its own answer."""
    replies = await asyncio.gather(
        *(servers.call("everything__get-sum", {"a": number, "b": 1000}) for number in range(40))
    )
    assert [str(number + 1000) in reply.text for number, reply in enumerate(replies)] == [True] * 40
