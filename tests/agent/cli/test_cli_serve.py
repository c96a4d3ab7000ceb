"""`alita serve` as its clients meet it: a process on stdio or HTTP, with the real library, sandbox and agent."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from agent.cli.verbs.serve import serve
from mcp_tools.errors import UsageError
from mcp_tools.library.library import Library
from mcp_tools.tool import Status, Tool
from support.busy import falls_idle
from support.fibonacci import CREATION, QUESTION, STORY, decide, write_script
from support.openai_server import OpenAIServer, Step

ALITA = str(Path(sys.executable).with_name("alita"))


@pytest.fixture
def library(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    """The library that the process serves."""
    folder = home / "data" / "generated_tools"
    monkeypatch.setenv("ALITA_TOOLS_DIR", str(folder))
    opened = Library(folder, home / "data")
    opened.register(tool("double", "return n * 2"))
    opened.register(tool("spin", "while True: pass"))
    opened.register(tool("noisy", "print('noise'); return n"))
    opened.register(tool("stays", "import os, time; os._exit = lambda code: time.sleep(10**6); return n"))
    opened.register(tool("forges", "import os; os.write(4, b'junk'); return n"))
    yield opened
    opened.close()


def tool(name: str, body: str) -> Tool:
    number = {"type": "integer"}
    return Tool(
        name,
        "Return a number.",
        {"type": "object", "properties": {"n": number}, "required": ["n"], "additionalProperties": False},
        {"type": "object", "properties": {"result": number}, "required": ["result"]},
        f'def {name}(n: int) -> int:\n    """Return a number."""\n    {body}\n',
        status=Status.VERIFIED,
    )


def on_stdio(*flags: str) -> StdioServerParameters:
    return StdioServerParameters(command=ALITA, args=["serve", *flags], env=dict(os.environ))


class Process:
    """`alita serve`, spoken to line by line."""

    def __init__(self, *flags: str) -> None:
        self.child = subprocess.Popen(
            [ALITA, "serve", *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def say(self, line: bytes | dict[str, Any]) -> None:
        assert self.child.stdin
        self.child.stdin.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
        self.child.stdin.flush()

    def begin(self) -> None:
        client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        self.say({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client})
        assert self.hear()["id"] == 0
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def call(self, number: int, name: str, **arguments: Any) -> None:
        params = {"name": name, "arguments": arguments}
        self.say({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})

    def hear(self) -> dict[str, Any]:
        assert self.child.stdout
        found: dict[str, Any] = json.loads(self.child.stdout.readline())
        return found

    def below(self) -> list[int]:
        """Every process that this one started, and theirs."""
        return _children(self.child.pid)

    def end(self) -> tuple[int, bytes, bytes]:
        out, err = self.child.communicate(timeout=20)
        return self.child.returncode, out, err


def _children(pid: int) -> list[int]:
    with contextlib.suppress(OSError):
        own = [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
        return [*own, *(below for one in own for below in _children(one))]
    return []


def _is_gone(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


@contextlib.contextmanager
def serving(*flags: str) -> Iterator[Process]:
    process = Process(*flags)
    try:
        yield process
    finally:
        process.child.kill()
        process.child.communicate()


async def test_programs_read_a_folder_that_is_served_and_those_of_ask_change_a_copy(
    library: Library, tmp_path: Path, openai_server: OpenAIServer
) -> None:
    folder, secret = tmp_path / "notes", tmp_path / "secret.txt"
    folder.mkdir()
    (folder / "a.txt").write_text("tea 3")
    secret.write_text("tea 99")
    (folder / "out").symlink_to(secret)
    length = 'import pathlib\ndef count(path: str) -> int:\n    """Count."""\n    return len(open(path).read())\n'
    library.register(
        replace(
            tool("count", "return n"),
            input_schema={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
            source=length,
            provenance={"capabilities": {"read": True}},
        )
    )

    def reply(body: dict[str, Any]) -> Step:
        told = body["messages"]
        if told[-1]["role"] == "tool":
            return Step(text="It is changed.")
        place = str(told[-1]["content"]).partition("folder: ")[2].split("\n")[0]
        return Step(tools=[("run_python", {"code": f"open({place + '/a.txt'!r}, 'w').write('tea 4')"})])

    openai_server.default = reply
    flags = ("--model", "tiny-1", "--base-url", openai_server.url, "--folder", str(folder), "--write")
    async with Client(on_stdio(*flags), mode="legacy") as client:

        async def run(path: Path) -> dict[str, Any]:
            source = f"print(open({str(path)!r}).read())"
            return (await client.call_tool("run_code", {"source": source})).structured_content or {}

        described = {one.name: one.description for one in (await client.list_tools()).tools}
        assert f"It may read {folder}." in (described["run_code"] or "")
        assert (await run(folder / "a.txt"))["stdout"] == "tea 3\n"
        assert "stdout" not in await run(secret)
        assert "stdout" not in await run(folder / "out")
        counted = await client.call_tool("count", {"path": str(folder / "a.txt")})
        assert counted.structured_content == {"result": 5}
        assert (await client.call_tool("count", {"path": str(folder / "out")})).is_error
        asked = (await client.call_tool("ask", {"question": "Write one more tea."})).structured_content or {}
    assert (folder / "a.txt").read_text() == "tea 3"
    assert asked["answer"] == "It is changed."
    assert [change["path"] for change in asked["changes"]] == ["a.txt"]
    await asyncio.to_thread(subprocess.run, [ALITA, "changes", "--apply"], check=True)
    assert (folder / "a.txt").read_text() == "tea 4"


async def test_a_client_lists_calls_and_hears_over_stdio(library: Library) -> None:
    heard = asyncio.Event()

    async def handler(message: object) -> None:
        if type(message).__name__ == "ToolListChangedNotification":
            heard.set()

    async with Client(on_stdio(), mode="legacy", message_handler=handler) as client:
        assert client.protocol_version == "2025-11-25"
        names = [one.name for one in (await client.list_tools()).tools]
        assert {"double", "search_tools", "ask"} <= set(names)
        assert (await client.call_tool("double", {"n": 21})).structured_content == {"result": 42}
        assert (await client.call_tool("noisy", {"n": 1})).structured_content == {"result": 1}
        results = await asyncio.gather(*(client.call_tool("double", {"n": n}) for n in range(32)))
        assert [one.structured_content for one in results] == [{"result": n * 2} for n in range(32)]
        library.register(tool("late", "return n"))
        async with asyncio.timeout(10):
            await heard.wait()
        assert "late" in [one.name for one in (await client.list_tools()).tools]


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
HOURS = [(45, 40, 5), (40, 40, 0), (30, 40, 0), (41, 40, 1)]


async def test_proposed_code_gets_what_the_user_permits(home: Path, library: Library) -> None:
    """Without a model: packages and time that nobody allowed are refused; the plain tool is there in a new session."""
    examples = [{"arguments": {"worked": one, "contract": two}, "result": result} for one, two, result in HOURS]
    package = f'# /// script\n# dependencies = ["sympy"]\n# ///\nimport sympy\n\n\n{PROPOSED}'
    time_limit = f"# /// script\n# [tool.alita]\n# seconds = 900\n# ///\n{PROPOSED}"
    heard = asyncio.Event()

    async def handler(message: object) -> None:
        if type(message).__name__ == "ToolListChangedNotification":
            heard.set()

    async with Client(on_stdio(), mode="legacy", message_handler=handler) as client:
        for code, reason in ((package, "sympy"), (time_limit, "900 seconds")):
            refused = await client.call_tool("propose_tool", {"code": code, "examples": examples})
            assert reason in str(refused.content), refused
            assert "registered" not in str(refused.content)
        kept = await client.call_tool("propose_tool", {"code": PROPOSED, "examples": examples})
        assert (kept.structured_content or {})["status"] == "registered", kept
        async with asyncio.timeout(10):
            await heard.wait()
    with on_http() as served:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {served.token}"}, timeout=30) as http,
            Client(streamable_http_client(served.url, http_client=http), mode="auto") as client,
        ):
            found = await client.call_tool("search_tools", {"query": "overtime hours"})
            assert "overtime" in [one["name"] for one in (found.structured_content or {})["tools"]]
            called = await client.call_tool("overtime", {"worked": 50, "contract": 38})
            again = await client.call_tool("propose_tool", {"code": PROPOSED, "examples": examples})
    assert called.structured_content == {"result": 12}
    assert (again.structured_content or {})["status"] == "same"


async def test_questions_wait_for_each_other_and_their_tools_are_served(home: Path, library: Library) -> None:
    """`create_tool` leads to a tool, finds the one that is there, or says why there is none."""
    rather = [decide("create_tool", when="no function 'run_python'"), decide("run_code", code="print(1)")]
    model = write_script(home / "script.jsonl", [*rather, *CREATION, *STORY, {"text": "no", "repeat": True}])
    told: list[str | None] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async with Client(on_stdio("--model", model, "--no-cache"), mode="auto") as client:
        made, found = await asyncio.gather(
            *(client.call_tool("create_tool", {"question": QUESTION}, progress_callback=progress) for _ in range(2))
        )
        asked = await client.call_tool("ask", {"question": QUESTION})
        none = await client.call_tool("create_tool", {"question": "Who is it?"})
        assert (await client.call_tool("nth_fibonacci", {"n": 10})).structured_content == {"result": 55}
    assert (made.structured_content or {}).get("created") == ["nth_fibonacci"]
    assert (found.structured_content or {}).get("reused") == ["nth_fibonacci"]
    assert (asked.structured_content or {}).get("answer") == "365435296162"
    assert any("nth_fibonacci" in str(line) for line in told)
    assert none.is_error
    assert "no tool was proved and kept (the model gave no valid action" in str(none.content)


def test_at_eof_it_ends_cleanly_with_a_call_under_way_and_leaves_no_process(library: Library) -> None:
    """Nor one of calls that stay behind their answers."""
    with serving() as process:
        process.begin()
        for name in ("stays", "forges", "stays"):
            process.call(3, name, n=2)
            result = process.hear()["result"]
            assert result.get("isError", False) == (name == "forges"), result
        process.call(2, "spin", n=1)
        time.sleep(0.5)
        below = process.below()
        assert below
        started = time.monotonic()
        assert process.child.stdin
        process.child.stdin.close()
        process.child.stdin = None
        code, out, err = process.end()
        assert code == 0
        assert [json.loads(line)["id"] for line in out.splitlines()] == [2], "its end is told, and nothing else"
        assert b"Traceback" not in err
        assert time.monotonic() - started < 20
        assert all(map(_is_gone, below))


def test_requests_may_come_from_a_file(home: Path, library: Library) -> None:
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = [
        {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "double", "arguments": {"n": 4}}},
    ]
    path = home / "requests.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with path.open("rb") as file:
        done = subprocess.run([ALITA, "serve"], stdin=file, capture_output=True, timeout=30, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["id"] for one in answers] == [0, 1]


def test_lines_that_are_no_messages_are_refused_and_the_next_one_is_answered_and_written_down(
    home: Path, library: Library
) -> None:
    """Also when its client closes its end at once, as a script does."""
    with serving() as process:
        process.begin()
        process.say(b"no json\n")
        assert process.hear()["error"]["code"] == -32700
        process.say(b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"x":"' + b"y" * 5_000_000 + b'"}}\n')
        refused = process.hear()
        assert (refused["id"], refused["error"]["code"]) == (7, -32600)
        process.say(b"\n\xff\xfe\n")
        assert process.hear()["error"]["code"] == -32700
        process.say(b'{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"\\ud800"}}\n')
        refused = process.hear()
        assert (refused["id"], refused["error"]["code"]) == (9, -32600), "who asked must not wait"
        process.call(8, "double", n=2)
        code, out, _ = process.end()
    assert code == 0
    assert json.loads(out)["result"]["structuredContent"] == {"result": 4}
    path = home / "data" / "audit" / "calls.jsonl"
    line = json.loads(path.read_text().splitlines()[-1])
    assert (line["tool"], line["outcome"], line["client"]) == ("double", "ok", "t 1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"http": "nonsense"}, "is not a valid address"),
        ({"http": "127.0.0.1:99999"}, "is not a valid address"),
        ({"http": "0.0.0.0:0"}, "a token is required"),
        ({"http": "0.0.0.0:0", "no_token": True}, "a token is required"),
        ({"no_token": True}, "need --http"),
        ({"http": "127.0.0.1:0", "token_file": Path("/nowhere")}, "cannot be read"),
        ({"tools": " "}, "is empty"),
    ],
)
def test_flags_that_cannot_be_meant_are_refused(library: Library, wanted: dict[str, Any], said: str) -> None:
    try:
        with pytest.raises(UsageError, match=said):
            serve(**wanted)
    finally:
        gc.enable()


def test_a_taken_port_is_told(library: Library) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        test_flags_that_cannot_be_meant_are_refused(
            library, {"http": address, "no_token": True}, f"Cannot listen on {address}: Address already in use"
        )


class Served:
    """`alita serve --http`."""

    def __init__(self) -> None:
        command = [ALITA, "serve", "--http", "127.0.0.1:0"]
        self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        assert self.child.stderr
        self.url = self.child.stderr.readline().decode().split()[-1]
        told = self.child.stderr.readline().decode()
        assert "Authorization: Bearer " in told
        self.token = told.split()[-1]


@contextlib.contextmanager
def on_http() -> Iterator[Served]:
    served = Served()
    try:
        yield served
    finally:
        served.child.terminate()
        served.child.communicate(timeout=20)
    assert served.child.returncode == 0


async def test_a_client_lists_calls_hears_and_gives_up_over_http(library: Library) -> None:
    """With the token that was made up; it ends at SIGTERM."""
    heard, ready = asyncio.Event(), asyncio.Event()

    async def follow(client: Client) -> None:
        async with client.listen(tools_list_changed=True) as events:
            ready.set()
            async for _ in events:
                heard.set()

    with on_http() as served:
        assert len(served.token) >= 32
        assert httpx2.post(served.url, content="{}").status_code == 401
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {served.token}"}, timeout=30) as http,
            Client(streamable_http_client(served.url, http_client=http), mode="auto") as client,
        ):
            assert client.protocol_version == "2026-07-28"
            assert "double" in [one.name for one in (await client.list_tools()).tools]
            assert (await client.call_tool("double", {"n": 21})).structured_content == {"result": 42}
            following = asyncio.create_task(follow(client))
            await ready.wait()
            library.register(tool("late", "return n"))
            async with asyncio.timeout(10):
                await heard.wait()
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            with pytest.raises(MCPError):
                await client.call_tool("spin", {"n": 1}, read_timeout_seconds=0.5)
            assert await falls_idle(served.child.pid)
