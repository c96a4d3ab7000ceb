"""Replicas of `alita serve` behind a proxy: two against one, with a real PostgreSQL server.

    python benchmarks/replicas.py [--json] [--seconds 10]      # a minute; `make bench` runs it too

The tool only waits, like one that calls a service. So a replica is full when its call slots are taken (four per core),
long before the processor is busy, and a second replica on the same machine doubles the slots. For a tool that computes,
it adds nothing, since both replicas share the cores: see the row `double`. Rounds with one and two replicas alternate,
through the same proxy, which runs in the client's process.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from table import Figure, as_text, ratio_at_least

from agent.configuration.settings_sources import read_settings
from agent.store import databases
from agent.store.tool_records import open_library
from mcp_tools.tool import Status, Tool
from support.postgres import PostgresServer
from support.replica_proxy import ReplicaProxy

TOKEN = "a-token-that-replicas-share"
WAIT_SECONDS = 2.0
ROUNDS = 3


def tool(name: str, body: str) -> Tool:
    """Return a tool that takes one number."""
    number = {"type": "number"}
    takes = {"type": "object", "properties": {"n": number}, "required": ["n"], "additionalProperties": False}
    gives = {"type": "object", "properties": {"result": number}, "required": ["result"]}
    source = f'def {name}(n: float) -> float:\n    """Return a number."""\n    {body}\n'
    return Tool(name, "Return a number.", takes, gives, source, status=Status.VERIFIED)


@contextlib.contextmanager
def replica(folder: Path, environment: dict[str, str]) -> Iterator[int]:
    """Start a replica with its own home, and yield its port."""
    command = [sys.executable, "-c", "from agent.cli.main import main; main()", "serve", "--http", "127.0.0.1:0"]
    own = environment | {"PATH": os.environ["PATH"], "ALITA_HOME": str(folder), "ALITA_SERVE_TOKEN": TOKEN}
    child = subprocess.Popen(command, env=own, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert child.stderr
    try:
        yield int(child.stderr.readline().decode().rpartition(":")[2].partition("/")[0])
    finally:
        child.terminate()
        child.communicate(timeout=30)


async def rate(clients: Sequence[Client], name: str, argument: float, seconds: float, at_once: int) -> float:
    """Return the calls per second of parallel callers."""
    until, done = time.perf_counter() + seconds, 0

    async def caller(client: Client) -> None:
        nonlocal done
        while time.perf_counter() < until:
            result = await client.call_tool(name, {"n": argument})
            assert not result.is_error, result
            done += 1

    started = time.perf_counter()
    await asyncio.gather(*(caller(clients[number % len(clients)]) for number in range(at_once)))
    return done / (time.perf_counter() - started)


@contextlib.asynccontextmanager
async def through(*ports: int) -> AsyncIterator[list[Client]]:
    """Yield clients of a proxy in front of these replicas."""
    async with contextlib.AsyncExitStack() as stack:
        proxy = await stack.enter_async_context(ReplicaProxy(*ports, seconds=1.0))
        headers, limits = {"Authorization": f"Bearer {TOKEN}"}, httpx2.Limits(max_connections=None)
        clients = []
        for _ in range(4):
            http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=60, limits=limits))
            client = Client(streamable_http_client(proxy.url, http_client=http), mode="auto")
            clients.append(await stack.enter_async_context(client))
        yield clients


async def measure(seconds: float) -> list[Figure]:
    """Measure all figures."""
    with PostgresServer() as postgres, tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        own = {"ALITA_DATABASE_URL": postgres.database(), "ALITA_TOOLS_DIR": f"{scratch}/tools"}
        library = open_library(read_settings({}, environment=own | {"ALITA_HOME": f"{scratch}/home"}))
        library.register(tool("waits", "import time\n    time.sleep(n)\n    return n"))
        library.register(tool("double", "return n * 2"))
        ports = [stack.enter_context(replica(Path(scratch) / name, own)) for name in ("one", "two")]
        places = 4 * (os.cpu_count() or 1)
        found: dict[tuple[str, int], list[float]] = {}
        async with through(ports[0]) as one, through(*ports) as both:
            for clients in (one, both):
                await rate(clients, "waits", 0.0, 1.0, 4)
            for number in range(ROUNDS):
                for count, clients in ((1, one), (2, both)):
                    for name, argument in (("waits", WAIT_SECONDS), ("double", 1.0))[: 1 if number else 2]:
                        got = await rate(clients, name, argument, seconds, 4 * places)
                        found.setdefault((name, count), []).append(got)
        rates = {key: statistics.median(values) for key, values in found.items()}
        databases.disconnect()
    wait = f"calls of a tool that waits {WAIT_SECONDS:g} s: two replicas, calls/s (one)"
    return [
        ratio_at_least("P22", wait, rates["waits", 2], rates["waits", 1], 1.6),
        Figure("", "the same of a tool that returns immediately (one)", rates["double", 2], rates["double", 1]),
        Figure("", "the most that the places of one replica allow, calls/s", places / WAIT_SECONDS),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, prog="replicas.py"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--seconds", type=float, default=10.0, help="of one round (default: 10)")
    options = parser.parse_args()
    rows = asyncio.run(measure(options.seconds))
    print(json.dumps({"rows": [row._asdict() for row in rows]}) if options.json else as_text(rows))


if __name__ == "__main__":
    main()
