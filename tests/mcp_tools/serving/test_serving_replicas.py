"""Replicas of one library over HTTP with the same token: each can answer any request."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from desk import Desk, error_of, text_of, tool
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitRequestFormParams, ElicitResult

from mcp_tools.errors import LibraryError
from mcp_tools.serving import http, http_sessions
from mcp_tools.serving.catalogue import Catalogue
from mcp_tools.serving.client_call import InMemoryMarkers
from mcp_tools.serving.http import listen_options, serve_http

pytestmark = pytest.mark.asyncio(loop_scope="module")

TOKEN = "a-token-for-tests-only"
GREETING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"elicitation": {}, "sampling": {}},
    "clientInfo": {"name": "désk", "version": "1.2"},
}
INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": GREETING}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
CALL = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "double", "arguments": {"n": 21}}}
HEADERS = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {TOKEN}"}


@contextlib.asynccontextmanager
async def served(desk: Desk, token: str = TOKEN, **options: Any) -> AsyncIterator[str]:
    told: asyncio.Queue[str] = asyncio.Queue()
    listen = listen_options("127.0.0.1:0", token=token, token_file=None, no_token=False, host_names=())
    task = asyncio.create_task(serve_http(desk.server(**options), listen, report=told.put_nowait))
    try:
        yield (await told.get()).split()[-1]
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class Client2025:
    """A client of the 2025 protocol that can send each request to a different replica."""

    def __init__(self, http: httpx2.AsyncClient) -> None:
        self._http = http
        self.headers: dict[str, str] = {"Mcp-Protocol-Version": "2025-11-25"}

    async def begin(self, url: str, greeting: dict[str, Any] = INITIALIZE) -> str:
        answer = await self._http.post(url, json=greeting, headers=HEADERS)
        assert answer.status_code == 200
        self.headers["Mcp-Session-Id"] = answer.headers["mcp-session-id"]
        return self.headers["Mcp-Session-Id"]

    async def post(self, url: str, message: dict[str, Any]) -> httpx2.Response:
        return await self._http.post(url, json=message, headers={**HEADERS, **self.headers})

    async def end(self, url: str) -> int:
        return (await self._http.delete(url, headers={**HEADERS, **self.headers})).status_code


@pytest_asyncio.fixture(loop_scope="module")
async def client() -> AsyncIterator[Client2025]:
    async with httpx2.AsyncClient(timeout=20) as http_client:
        yield Client2025(http_client)


async def test_a_session_of_2025_goes_on_at_a_server_that_did_not_begin_it(desk: Desk, client: Client2025) -> None:
    desk.has(tool())
    async with served(desk) as one, served(desk) as two:
        session = await client.begin(one)
        answers = await asyncio.gather(
            *(client.post(url, CALL | {"id": number}) for number, url in enumerate((two, one, two, two)))
        )
    assert [(one.status_code, '"result":42' in one.text.replace(" ", "")) for one in answers] == [(200, True)] * 4
    assert {one.headers["mcp-session-id"] for one in answers} == {session}
    assert {line["client"] for line in desk.written()} == {"désk 1.2"}, "it knows who calls"


async def test_a_client_that_can_ask_a_person_can_at_every_server(desk: Desk, client: Client2025) -> None:
    desk.has(tool("reads", "return n", capabilities={"read": True}))
    async with served(desk) as one, served(desk) as two:
        await client.begin(one)
        assert '"reads"' in (await client.post(two, LIST)).text
        await client.begin(one, INITIALIZE | {"params": GREETING | {"capabilities": {}}})
        assert '"reads"' not in (await client.post(two, LIST)).text


async def test_changes_are_told_to_a_stream_that_another_server_opened(desk: Desk, client: Client2025) -> None:
    desk.has(tool())
    async with served(desk) as one, served(desk) as two, httpx2.AsyncClient(timeout=20) as http:
        await client.begin(one)
        await client.post(two, LIST)
        async with http.stream("GET", two, headers={**HEADERS, **client.headers}) as stream:
            assert stream.status_code == 200
            await asyncio.to_thread(desk.has, tool("triple", "return 3 * n"))
            async for line in stream.aiter_lines():
                if "tools/list_changed" in line:
                    break


async def test_a_session_that_its_client_ended_is_over(desk: Desk, client: Client2025) -> None:
    async with served(desk) as one, served(desk) as two:
        await client.begin(one)
        assert [await client.end(one), (await client.post(one, PING)).status_code] == [200, 404]
        await client.begin(one)
        assert [await client.end(two), (await client.post(two, PING)).status_code] == [200, 404]


@pytest.mark.parametrize(
    "forged",
    [
        pytest.param(lambda own: "a" * 32, id="made up"),
        pytest.param(lambda own: own[:-1] + ("0" if own[-1] != "0" else "1"), id="another signature"),
        pytest.param(lambda own: "x" + own, id="other content"),
        pytest.param(lambda own: own.partition(".")[0] + ".", id="no signature"),
    ],
)
async def test_a_session_that_no_server_began_is_unknown(desk: Desk, client: Client2025, forged: Any) -> None:
    async with served(desk) as url:
        client.headers["Mcp-Session-Id"] = forged(await client.begin(url))
        assert (await client.post(url, CALL)).status_code == 404


async def test_a_session_of_a_server_with_another_token_is_unknown(desk: Desk, client: Client2025) -> None:
    async with served(desk) as one, served(desk, "another-token-for-tests") as other:
        await client.begin(one)
        client.headers["Authorization"] = "Bearer another-token-for-tests"
        assert (await client.post(other, PING)).status_code == 404


async def test_a_greeting_of_any_length_begins_a_session(desk: Desk, client: Client2025) -> None:
    long = INITIALIZE | {"params": GREETING | {"clientInfo": {"name": "n" * 100_000, "version": "1"}}}
    async with served(desk) as one, served(desk) as two:
        assert len(await client.begin(one, long)) < 1_000
        assert (await client.post(two, PING)).status_code == 200


async def test_of_many_sessions_few_are_held_and_all_go_on(
    desk: Desk, client: Client2025, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_sessions, "MAX_SESSIONS_PER_PEER", 3)
    gates: list[http_sessions.PortableSessions] = []
    kept = http_sessions.PortableSessions
    monkeypatch.setattr(http, "PortableSessions", lambda *given: gates.append(kept(*given)) or gates[0])
    async with served(desk) as url:
        sessions = [await client.begin(url) for _ in range(8)]
        for session in sessions:
            client.headers["Mcp-Session-Id"] = session
            assert (await client.post(url, PING)).status_code == 200
        assert len(gates[0]._local) == 3


async def test_an_idle_session_is_forgotten_and_goes_on(
    desk: Desk, client: Client2025, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert http_sessions.IDLE_SECONDS <= 3600
    monkeypatch.setattr(http, "IDLE_SECONDS", 0.3)
    desk.has(tool())
    async with served(desk) as url:
        await client.begin(url)
        await asyncio.sleep(0.6)
        assert '"result":42' in (await client.post(url, CALL)).text.replace(" ", "")


class Alternating(httpx2.AsyncClient):
    """Yield a client that sends its requests to the servers in turn."""

    def __init__(self, *urls: str) -> None:
        super().__init__(headers=HEADERS, timeout=20, event_hooks={"request": [self._turn]})
        self._ports = itertools.cycle(int(url.rpartition(":")[2].partition("/")[0]) for url in urls)

    async def _turn(self, request: httpx2.Request) -> None:
        request.url = request.url.copy_with(port=next(self._ports))
        request.headers["Host"] = f"127.0.0.1:{request.url.port}"


@pytest.mark.parametrize("are_shared", [True, False])
async def test_the_answer_to_a_question_counts_at_another_server_if_their_notes_are_shared(
    desk: Desk, open_folder: Path, are_shared: bool
) -> None:
    desk.has(
        tool(
            "count",
            "return len(open(path).read())",
            takes={"path": {"type": "string"}},
            signature="path: str",
            capabilities={"read": True},
        )
    )
    (open_folder / "file").write_text("12345")
    asked: list[str] = []

    async def accept(_: object, params: ElicitRequestFormParams) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"allow": True})

    shared = InMemoryMarkers()
    each = [{"markers": shared if are_shared else InMemoryMarkers()} for _ in range(2)]
    async with served(desk, **each[0]) as one, served(desk, **each[1]) as two, Alternating(one, two) as http_client:
        wire = streamable_http_client(one, http_client=http_client)
        async with Client(wire, mode="2026-07-28", elicitation_callback=accept) as client:
            call = client.call_tool("count", {"path": str(open_folder / "file")})
            if are_shared:
                assert (await call).structured_content == {"result": 5}
                assert len(asked) == 1
            else:
                with pytest.raises(Exception, match="input"):
                    await call
                assert len(asked) > 1


async def test_a_call_looks_at_its_own_tool_and_a_list_at_all(
    desk: Desk, client: Client2025, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For each call over HTTP, the SDK looks up the schema in the list of tools."""
    desk.has(*(tool(f"double_{number}") for number in range(5)))
    looked: list[str] = []
    definition = Catalogue.definition
    monkeypatch.setattr(Catalogue, "definition", lambda self, name: looked.append(name) or definition(self, name))
    async with served(desk) as url, httpx2.AsyncClient(headers=HEADERS) as http_client:
        async with Client(streamable_http_client(url, http_client=http_client), mode="2026-07-28") as new:
            assert len((await new.list_tools()).tools) > 5
            looked.clear()
            assert (await new.call_tool("double_3", {"n": 1})).structured_content == {"result": 2}
            assert (await new.call_tool("search_tools", {"query": "nothing like it"})).structured_content
            assert looked == ["double_3"]
        await client.begin(url)
        client.headers |= {"Mcp-Method": "tools/call", "Mcp-Name": "double_3"}
        assert '"double_4"' in (await client.post(url, LIST)).text


async def test_while_the_approvals_are_out_of_reach_tools_stay_listed_and_calls_say_so(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def unreachable() -> tuple[int, ...]:
        raise OSError("the store postgresql://me:***@host/db cannot be used")

    async with desk.has(tool()).client("2026-07-28") as client:
        names = [one.name for one in (await client.list_tools()).tools]
        with monkeypatch.context() as down:
            down.setattr(desk.library.approvals, "stamp", unreachable)
            assert [one.name for one in (await client.list_tools()).tools] == names
            for called in (
                await client.call_tool("double", {"n": 1}),
                await client.call_tool("call_tool", {"name": "double", "arguments": {"n": 1}}),
            ):
                assert error_of(called)["kind"] == "library"
                assert "postgresql" not in text_of(called)
        assert (await client.call_tool("double", {"n": 1})).structured_content == {"result": 2}
    assert (
        "the tool library cannot be read: the store postgresql://me:***@host/db cannot be used"
        in capfd.readouterr().err
    )
    assert [line["outcome"] for line in desk.written()] == ["library", "library", "ok"]


async def test_health_is_told_to_anybody(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_HEALTH_CACHE_SECONDS", 0.0)
    async with served(desk) as url, httpx2.AsyncClient() as http_client:
        health = url.replace("/mcp", "/health")
        good = await http_client.get(health, headers={"Host": "10.0.0.7"})

        def broken() -> None:
            raise LibraryError("a reason with /paths in it")

        monkeypatch.setattr(desk.library, "state", broken)
        bad = await http_client.get(health)
    assert (good.status_code, good.json()) == (200, {"status": "ok"})
    assert (bad.status_code, bad.json()) == (503, {"status": "the tool library or its approvals cannot be read"})
