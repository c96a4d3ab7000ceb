"""Servers from their start to their end: what cannot be started, what comes late, and that nothing is left behind."""

from __future__ import annotations

import asyncio
import inspect
import os
import time
from pathlib import Path

import httpx2
import pytest
from mcp.client import session, streamable_http, subscriptions
from mcp.shared import exceptions
from pydantic import ValidationError

from mcp_tools.atomic import write_whole
from mcp_tools.clients.config_files import expand
from mcp_tools.clients.config_parser import parse_document
from mcp_tools.clients.messages import failure_of
from mcp_tools.clients.servers import Servers
from mcp_tools.errors import ServerError
from support.external import ends, is_alive, plain, starts
from support.forked import Forked


async def names(servers, query="add", limit=50):
    return [tool.name for tool in await servers.search(query, limit)]


FAILING = {
    "dies": (plain("die"), "exit code 1; stderr: no licence found"),
    "says nothing": (
        plain("mute", alita={"connectSeconds": 0.3}),
        "it did not complete the MCP handshake within 0.3 seconds",
    ),
    "no command": (
        {"command": "no-such-command-at-all"},
        "the command 'no-such-command-at-all' was not found (Install it",
    ),
    "no MCP": (
        {"command": "yes"},
        "more than 1,000 lines to stdout that are not MCP messages; it printed 'y\\n' to stdout",
    ),
    "not there": ({"url": "http://127.0.0.1:9/mcp"}, "it cannot be reached: connecting to its address failed"),
}


@pytest.mark.parametrize(("form", "said"), FAILING.values(), ids=FAILING.keys())
async def test_a_server_that_cannot_be_used_is_left_out_with_the_reason(start, form, said):
    servers = start(bad=dict(form))
    assert await names(servers) == []
    (note,) = servers.notes()
    assert note.startswith("the server bad is unavailable: ")
    assert said in note.replace("y')", "y\\n')").replace("'y'", "'y\\n'")


@pytest.mark.parametrize("flag", ["banner", "fragile"])
async def test_servers_that_print_or_die_of_new_questions_are_used_all_the_same(start, flag):
    servers = start(odd=plain(flag))
    assert "odd__add" in await names(servers)
    told = "the server odd prints lines to stdout that are not MCP messages; they are ignored: 'Welcome to the server!'"
    assert servers.notes() == [told] * (flag == "banner")


async def test_a_late_server_is_told_and_its_tools_count_once_it_is_there(start):
    servers = start(wait=0.2, late=plain("slow"), quick=plain())
    await servers.has("quick__add")
    first = await names(servers)
    assert "late__add" not in first
    assert "the server late is still starting; its tools will be added when it is ready" in servers.notes()
    for _ in range(60):
        if "late__add" in await names(servers):
            break
        await asyncio.sleep(0.1)
    assert "late__add" in await names(servers)
    assert servers.notes() == []


@pytest.mark.parametrize("flags", [(), ("deaf",)])
async def test_closing_ends_the_server_and_all_that_it_started(start, log, flags):
    servers = start(calc=plain(*flags))
    child = int((await servers.call("calc__spawn", {})).text)
    assert is_alive(child)
    before = time.monotonic()
    await servers.aclose()
    assert time.monotonic() - before < 20
    assert ends(child)
    assert all(ends(pid, 10) for pid in starts(log))


async def test_a_tool_that_turns_into_another_is_told_once_until_it_is_trusted(start, tmp_path):
    servers = start(calc=plain())
    await names(servers)
    assert servers.notes() == [], "what is new is no change"
    assert (await servers.call("calc__turn", {})).ok
    told: list[str] = []
    for _ in range(100):
        await names(servers)
        if told := servers.notes():
            break
        await asyncio.sleep(0.02)
    assert told == [
        "the server calc changed the definitions of its tools echo; to allow the new definitions: alita mcp enable calc"
    ]
    changed = await servers.changed("calc__echo")
    assert changed is not None
    assert "send it home" in changed.definition
    assert await servers.changed("calc__add") is None
    servers.trust("calc__echo")
    servers.trust("gone__echo")  # asked about, and left out before the user had answered
    assert await servers.changed("calc__echo") is None
    await servers.aclose()
    again = start(calc=plain())
    await names(again)
    assert "changed the definitions of its tools echo" in again.notes()[0], (
        "it turned back, into what is no longer trusted"
    )
    await again.aclose()
    (tmp_path / "seen.json").write_text("[")
    damaged = start(calc=plain())
    assert "calc__echo" in await names(damaged)
    assert damaged.notes() == []


def test_a_server_that_ignores_the_end_of_its_stdin_ends_after_alita_was_killed(log: Path, tmp_path: Path) -> None:
    """And what it had started ends too."""
    spawned = tmp_path / "spawned"

    async def work() -> None:
        forms = {"deaf": plain("deaf", env={"MCP_LOG": str(log)})}
        parsed = parse_document({"mcpServers": forms}, tmp_path / "mcp.json", "user")
        servers = Servers([expand(entry, os.environ, tmp_path) for entry in parsed.entries], os.environ)
        await servers.has("deaf__add")
        write_whole(spawned, (await servers.call("deaf__spawn", {})).text.encode())
        await asyncio.sleep(60)

    Forked(lambda: asyncio.run(work())).kill_when(spawned.exists)
    pids = [int(spawned.read_text()), *starts(log)]
    assert len(pids) == 2
    assert [ends(pid, 6.0) for pid in pids] == [True, True]


async def test_closing_while_servers_start_leaves_nothing_behind(start, log):
    servers = start(slow=plain("mute"))
    servers.start()
    for _ in range(500):
        if starts(log):
            break
        await asyncio.sleep(0.01)
    assert starts(log)
    await servers.aclose()
    assert all(ends(pid, 10) for pid in starts(log))


async def test_no_descriptor_is_left_open(start):
    servers = start(calc=plain())
    await servers.has("calc__add")
    await servers.aclose()
    before = _descriptors()
    for _ in range(3):
        await servers.has("calc__add")
        await servers.aclose()
        servers.retry_failed()
    assert _descriptors() <= before


def _descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


def _errors_of(*modules):
    """Every exception class that the modules define or hand on."""
    found = {value for module in modules for value in vars(module).values() if inspect.isclass(value)}
    errors = (e for e in found if issubclass(e, Exception) and not issubclass(e, Warning) and e is not ValidationError)
    return sorted(errors, key=lambda e: e.__name__)


@pytest.mark.parametrize("kind", _errors_of(exceptions, session, streamable_http, subscriptions, httpx2))
def test_every_error_of_a_connection_is_mapped(kind):
    try:
        error = kind(-32603, "broken") if issubclass(kind, exceptions.MCPError) else kind("broken")
    except Exception:  # those that need more than a text
        error = kind.__new__(kind)
        Exception.__init__(error, "broken")
        if isinstance(error, exceptions.MCPError):
            exceptions.MCPError.__init__(error, -32603, "broken")
    failure = failure_of(ExceptionGroup("group", [error]))
    assert isinstance(failure, ServerError)
    foreign = kind.__module__.split(".")[0] in {"mcp", "httpx2", "httpx"}
    known = "the connection failed: " + kind.__name__
    assert not (foreign and failure.message.startswith(known)), f"{kind.__name__} is not mapped"
