"""`alita serve --http` as two replicas behind a proxy, over one library and one PostgreSQL database."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from agent.configuration.settings_sources import read_settings
from agent.store import databases
from agent.store.tool_records import open_library
from mcp_tools.library.library import Library
from mcp_tools.tool import Status, Tool
from support.postgres import PostgresServer
from support.replica_proxy import LOST, ReplicaProxy

ALITA = str(Path(sys.executable).with_name("alita"))
TOKEN = "a-token-that-replicas-share"


def tool(name: str, body: str) -> Tool:
    number = {"type": "number"}
    return Tool(
        name,
        "Return a number.",
        {"type": "object", "properties": {"n": number}, "required": ["n"], "additionalProperties": False},
        {"type": "object", "properties": {"result": number}, "required": ["result"]},
        f'def {name}(n: float) -> float:\n    """Return a number."""\n    {body}\n',
        status=Status.VERIFIED,
    )


class Machine:
    """A machine with its own home, on which a replica runs."""

    def __init__(self, home: Path, variables: dict[str, str]) -> None:
        self._env = {**os.environ, **variables, "ALITA_HOME": str(home), "ALITA_SERVE_TOKEN": TOKEN}
        self.port = 0

    def start(self) -> None:
        """Starts the replica, again at the port that it had; `listen` waits for it."""
        command = [ALITA, "serve", "--http", f"127.0.0.1:{self.port}"]
        self.child = subprocess.Popen(command, env=self._env, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def listen(self) -> None:
        """Waits until it listens."""
        assert self.child.stderr
        self.url = self.child.stderr.readline().decode().split()[-1]
        self.port = int(self.url.rpartition(":")[2].partition("/")[0])

    def kill(self) -> None:
        self.child.send_signal(signal.SIGKILL)
        self.child.communicate(timeout=20)

    def end(self) -> None:
        self.child.terminate()
        self.child.communicate(timeout=20)


@pytest.fixture
def library(tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    monkeypatch.setenv("ALITA_DATABASE_URL", postgres.database())
    monkeypatch.setenv("ALITA_TOOLS_DIR", str(tmp_path / "tools"))
    opened = open_library(read_settings({}))
    opened.register(tool("double", "return n * 2"))
    opened.register(tool("nap", "import time\n    time.sleep(n)\n    return n"))
    yield opened
    opened.close()
    databases.disconnect()


@pytest.fixture
def machines(tmp_path: Path, library: Library) -> Iterator[list[Machine]]:
    started = [Machine(tmp_path / name, {}) for name in ("one", "two")]
    for machine in started:
        machine.start()
    for machine in started:
        machine.listen()
    yield started
    for machine in started:
        machine.child.terminate()
    for machine in started:
        machine.end()


@contextlib.asynccontextmanager
async def client_of(url: str, mode: str = "auto") -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        yield client


async def until(is_so: Callable[[], bool]) -> None:
    """Waits until something is so."""
    async with asyncio.timeout(60):
        while True:
            if is_so():
                return
            await asyncio.sleep(0.02)


async def names(client: Client) -> set[str]:
    return {one.name for one in (await client.list_tools()).tools}


EXAMPLES = [
    {"arguments": {"worked": 45, "contract": 40}, "result": 5},
    {"arguments": {"worked": 40, "contract": 40}, "result": 0},
    {"arguments": {"worked": 30, "contract": 40}, "result": 0},
    {"arguments": {"worked": 41, "contract": 40}, "result": 1},
]
PROPOSED = '''def overtime(worked: int, contract: int) -> int:
    """Count the hours that were worked beyond a contract.

    Args:
        worked: The hours that were worked.
        contract: The hours of the contract.

    Returns:
        The hours beyond the contract; 0 if there are none.
    """
    return max(0, worked - contract)
'''


@pytest.mark.timeout(300)  # it starts a database and three servers
async def test_two_replicas_serve_one_library_and_one_is_killed(library: Library, machines: list[Machine]) -> None:
    one, two = machines
    async with ReplicaProxy(one.port, two.port) as proxy:
        async with client_of(proxy.url) as client, client_of(one.url) as at_one, client_of(two.url) as at_two:
            assert {"double", "nap"} <= await names(client)
            proposed = await client.call_tool("propose_tool", {"code": PROPOSED, "examples": EXAMPLES})
            assert (proposed.structured_content or {})["status"] == "registered"
            for either in (at_one, at_two):
                called = await either.call_tool("overtime", {"worked": 50, "contract": 40})
                assert called.structured_content == {"result": 10}
                assert "overtime" in await names(either)
            library.approvals.quarantine("overtime", "it was wrong")
            for either in (at_one, at_two):
                with pytest.raises(Exception, match="unknown tool"):
                    await either.call_tool("overtime", {"worked": 50, "contract": 40})
                assert "overtime" not in await names(either)

        async with client_of(proxy.url, "legacy") as old, client_of(proxy.url) as new:
            calls = [
                asyncio.create_task(client.call_tool("nap", {"n": 3.0}, read_timeout_seconds=60))
                for client in (new, old) * 5
            ]
            await until(lambda: all(one.open - one.streams >= 2 for one in proxy.replicas))
            one.kill()
            more = await asyncio.gather(*(client.call_tool("double", {"n": 21}) for client in (new, old) * 5))
            assert [result.structured_content for result in more] == [{"result": 42}] * 10
            ended = await asyncio.gather(*calls, return_exceptions=True)
            lost_calls = [str(result) for result in ended if isinstance(result, MCPError)]
            assert 2 <= len(lost_calls) <= 8
            assert {*lost_calls} <= {LOST, "SSE stream ended without a response"}
            answers = [result.structured_content for result in ended if not isinstance(result, BaseException)]
            assert answers == [{"result": 3.0}] * (len(calls) - len(lost_calls))
            assert library.stats("nap").successes == len(answers)
            assert library.stats("double").successes == 10
            assert library.trust("overtime") == "quarantined"

            one.start()
            await asyncio.to_thread(one.listen)
            await until(lambda: proxy.replicas[0].is_healthy)
            before = proxy.replicas[0].answered
            more = await asyncio.gather(*(client.call_tool("double", {"n": 4}) for client in (new, old) * 3))
            assert [result.structured_content for result in more] == [{"result": 8}] * 6
            assert proxy.replicas[0].answered > before, "it takes calls again"
            assert library.stats("double").successes == 16
