"""Servers from their start to their end: what cannot be started, what comes late, and that nothing is left behind."""

from __future__ import annotations

import asyncio
import inspect
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest
from mcp.client import session, streamable_http, subscriptions
from mcp.shared import exceptions
from pydantic import ValidationError

from mcp_tools.clients.messages import failure_of
from mcp_tools.errors import ServerError
from support.external import ends, is_alive, plain, starts


async def names(servers, query="add", limit=50):
    return [tool.name for tool in await servers.search(query, limit)]


FAILING = {
    "dies": (plain("die"), "exit code 1; stderr: no licence found"),
    "says nothing": (plain("mute", alita={"connectSeconds": 0.3}), "it did not speak MCP within 0.3 seconds"),
    "no command": ({"command": "no-such-command-at-all"}, "there is no command 'no-such-command-at-all' (Install it"),
    "no program": ({"command": "/no/such/program"}, "there is no command '/no/such/program'"),
    "no folder": (plain(cwd="/no/such/folder"), "its folder /no/such/folder does not exist"),
    "no MCP": ({"command": "yes"}, "more than 1,000 lines that are no messages; it printed 'y\\n' to stdout"),
    "not there": ({"url": "http://127.0.0.1:9/mcp"}, "it cannot be reached: no connection to its address"),
}


@pytest.mark.parametrize(("form", "said"), FAILING.values(), ids=FAILING.keys())
async def test_a_server_that_cannot_be_used_is_left_out_with_the_reason(start, form, said):
    servers = start(bad=dict(form))
    assert await names(servers) == []
    (note,) = servers.notes()
    assert note.startswith("the server bad is left out: ")
    assert said in note.replace("y')", "y\\n')").replace("'y'", "'y\\n'")


async def test_one_bad_server_does_not_hide_the_others(start):
    servers = start(bad=plain("die"), good=plain())
    assert "good__add" in await names(servers)


@pytest.mark.parametrize("flag", ["banner", "fragile"])
async def test_servers_that_print_or_die_of_new_questions_are_used_all_the_same(start, flag):
    servers = start(odd=plain(flag))
    assert "odd__add" in await names(servers)
    told = "the server odd prints to stdout what are no messages; these lines are ignored: 'Welcome to the server!'"
    assert servers.notes() == [told] * (flag == "banner")


async def test_nothing_is_started_before_it_is_needed(start, log):
    start(calc=plain())
    await asyncio.sleep(0.2)
    assert starts(log) == []


async def test_a_late_server_is_told_and_its_tools_count_once_it_is_there(start):
    servers = start(wait=0.2, late=plain("slow"), quick=plain())
    await servers.has("quick__add")
    first = await names(servers)
    assert "late__add" not in first
    assert "the server late is still starting; its tools count once it is there" in servers.notes()
    for _ in range(60):
        if "late__add" in await names(servers):
            break
        await asyncio.sleep(0.1)
    assert "late__add" in await names(servers)
    assert servers.notes() == []


async def test_search_finds_by_words_of_name_description_and_parameters(start):
    servers = start(calc=plain())
    assert (await names(servers, "please add these numbers", 3))[0] == "calc__add"
    assert (await names(servers, "what is in the environment", 3))[0] == "calc__env"
    assert len(await names(servers, "answer with megabytes, a long text, all kinds of content", 2)) == 2
    assert await names(servers, "zebra", 3) == []


async def test_of_many_tools_only_so_many_are_taken(start):
    servers = start(calc=plain(alita={"maxTools": 3}))
    assert len(await names(servers)) == 3
    assert servers.notes() == ["the server calc has more than 3 tools; the others are left out"]


async def test_a_server_that_changes_without_end_holds_up_nobody(start):
    servers = start(calc=plain("restless"))
    assert "calc__add" in await names(servers)
    assert (await servers.call("calc__add", {"a": 1, "b": 2})).value == 3


async def test_hidden_characters_leave_a_tool_out(start):
    servers = start(calc=plain("hidden"))
    assert "calc__sly" not in await names(servers)
    assert "a tool of the server calc is left out: calc__sly" in servers.notes()[0]


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
        "the server calc now says something else of its tools echo; they are called once you allow it: "
        "alita mcp enable calc"
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
    assert "something else of its tools echo" in again.notes()[0], "it turned back, into what is no longer trusted"
    await again.aclose()
    (tmp_path / "seen.json").write_text("[")
    damaged = start(calc=plain())
    assert "calc__echo" in await names(damaged)
    assert damaged.notes() == []


KILLED = """
import asyncio, json, os, sys
from pathlib import Path
from mcp_tools.clients.config_files import expand
from mcp_tools.clients.config_parser import parse_document
from mcp_tools.clients.servers import Servers

async def work():
    parsed = parse_document({"mcpServers": json.loads(sys.argv[1])}, Path("mcp.json").absolute(), "user")
    servers = Servers([expand(entry, os.environ, Path.cwd()) for entry in parsed.entries], os.environ)
    await servers.has("deaf__add")
    print((await servers.call("deaf__spawn", {})).text, flush=True)
    await asyncio.sleep(60)

asyncio.run(work())
"""


def test_a_server_that_ignores_the_end_of_its_stdin_ends_after_alita_was_killed(log: Path, tmp_path: Path) -> None:
    """And what it had started ends too."""
    forms = {"deaf": plain("deaf", env={"MCP_LOG": str(log)})}
    command = [sys.executable, "-c", KILLED, json.dumps(forms)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as alita:
        assert alita.stdout is not None
        pids = [int(alita.stdout.readline()), *starts(log)]
        assert all(map(is_alive, pids))
        alita.kill()
    assert [ends(pid, 6.0) for pid in pids] == [True] * len(pids)


async def test_a_cancelled_call_leaves_the_server_in_use(start, log):
    servers = start(calc=plain())
    await servers.has("calc__add")
    call = asyncio.create_task(servers.call("calc__hang", {}))
    await asyncio.sleep(0.1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert (await servers.call("calc__add", {"a": 1, "b": 2})).value == 3
    assert len(starts(log)) == 1


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


async def test_a_server_that_died_meanwhile_is_started_again(start, log):
    servers = start(calc=plain())
    await servers.has("calc__add")
    os.kill(starts(log)[0], 9)
    await asyncio.sleep(0.3)
    assert (await servers.call("calc__add", {"a": 1, "b": 2})).value == 3
    assert len(starts(log)) == 2


async def test_no_descriptor_is_left_open(start):
    servers = start(calc=plain())
    await servers.has("calc__add")
    await servers.aclose()
    before = _descriptors()
    for _ in range(3):
        await servers.has("calc__add")
        await servers.aclose()
        servers.forgive()
    assert _descriptors() <= before


def _descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [
        (-32000, "Connection closed", "gone"),
        (-32600, "Session terminated", "answer"),
        (-32001, "Timed out", "timeout"),
        (-32602, "no\x1b[31m such tool", "answer"),
    ],
)
def test_what_a_protocol_error_means(code, message, kind):
    failure = failure_of(exceptions.MCPError(code, message))
    assert failure.kind == kind
    assert "\x1b" not in failure.message


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
