"""Requests of code go through the channel of its call, and hostile code cannot abuse it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mcp_tools.errors import AlitaError
from mcp_tools.hosts import HostError, HostRequest, recorded
from mcp_tools.sandbox.protocol import Job, Limits, Outcome
from mcp_tools.sandbox.warm import WarmSandbox

pytestmark = pytest.mark.asyncio(loop_scope="module")
RESPONSE = {"status": 200, "url": "https://a.example/", "headers": [["content-type", "text/plain"]], "binary": False}
FRAME = "import json, os, time\ndef frame(body):\n    body = json.dumps(body).encode()\n"
FRAME += "    os.write(4, b'alita1' + len(body).to_bytes(8, 'big') + body)\n"
GET = {"method": "GET", "url": "https://a.example/", "headers": [], "body": ""}


class Outside:
    """Records requests without sending them."""

    def __init__(self, answer: Callable[[HostRequest], Awaitable[Any]] | None = None) -> None:
        self.requests: list[HostRequest] = []
        self._answer = answer

    async def carry(self, request: HostRequest) -> Any:
        self.requests.append(request)
        return {**RESPONSE, "body": "hello"} if self._answer is None else await self._answer(request)


async def call(sandbox: WarmSandbox, body: str, outside: Outside | None = None, **more: Any) -> Outcome:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    source = f"{more.pop('head', '')}\ndef f() -> object:\n{lines}\n"
    limits = Limits(**{"wall_seconds": 10, **more})
    return await sandbox.run(Job(source, "f", limits=limits), carry=outside.carry if outside else None)


async def test_ordinary_code_sends_requests(sandbox: WarmSandbox) -> None:
    outside = Outside()
    outcome = await call(
        sandbox,
        "from urllib.request import Request, build_opener, urlopen, HTTPCookieProcessor\n"
        "sent = Request('https://a.example/x?y=z', data=b'abc', headers={'X-Own': '1'}, method='PUT')\n"
        "with urlopen(sent) as r:\n"
        "    found = [r.status, r.reason, r.headers['Content-Type'], r.read().decode(), r.geturl()]\n"
        "return found + [build_opener(HTTPCookieProcessor()).open('http://b.example').read(2).decode()]",
        outside,
    )
    assert outcome.value == [200, "OK", "text/plain", "hello", "https://a.example/", "he"], outcome.problem
    put, get = outside.requests
    assert (put.method, put.url, put.body) == ("PUT", "https://a.example/x?y=z", b"abc")
    assert dict(put.headers)["x-own"] == "1"
    assert (get.method, get.url, outcome.requests, len(outcome.exchanges)) == ("GET", "http://b.example", 2, 2)


async def test_a_status_and_a_refusal_are_errors_as_in_ordinary_code(sandbox: WarmSandbox) -> None:
    async def answer(request: HostRequest) -> Any:
        if "no" in request.url:
            raise HostError("b.example is not a declared host")
        return {**RESPONSE, "status": 404, "body": "gone", "binary": False}

    code = "from urllib.request import urlopen\nfrom urllib.error import HTTPError, URLError\n"
    code += "try:\n    urlopen('https://a.example')\nexcept HTTPError as e:\n    found = [e.code, e.read().decode()]\n"
    code += "try:\n    urlopen('https://a.example/no')\nexcept URLError as e:\n    return [*found, str(e.reason)]"
    outcome = await call(sandbox, code, Outside(answer))
    assert outcome.value == [404, "gone", "b.example is not a declared host"], outcome.problem
    failed = await call(
        sandbox, "import urllib.request\nurllib.request.urlopen('https://a.example/no')", Outside(answer)
    )
    assert failed.problem is not None
    assert "not a declared host" in failed.problem.message


async def test_without_a_carrier_there_is_no_network(sandbox: WarmSandbox) -> None:
    plain = await call(sandbox, "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:1')")
    assert plain.problem is not None
    assert plain.problem.kind == "denied"
    forged = await call(sandbox, f"frame({{'ask': 1, 'request': {GET}}})\nreturn 1", head=FRAME)
    assert forged.problem is not None
    assert forged.problem.kind == "result"


async def test_sockets_stay_closed_with_a_carrier(sandbox: WarmSandbox) -> None:
    code = "import socket\nsocket.create_connection(('127.0.0.1', 1), timeout=2)"
    outcome = await call(sandbox, code, Outside())
    assert outcome.problem is not None
    assert outcome.problem.kind == "denied"


@pytest.mark.parametrize(
    "request_",
    [
        "None",
        "[]",
        "{}",
        "{**GET, 'method': 'CONNECT'}",
        "{**GET, 'headers': [['X', 'a\\r\\nb']]}",
        "{**GET, 'body': 1}",
    ],
)
async def test_a_forged_request_is_read_strictly(sandbox: WarmSandbox, request_: str) -> None:
    outside = Outside()
    code = f"frame({{'ask': 1, 'request': {request_}}})\nsize = int.from_bytes(os.read(3, 8), 'big')\n"
    outcome = await call(sandbox, f"{code}return json.loads(os.read(3, size))", outside, head=f"{FRAME}GET = {GET}\n")
    assert outcome.value.keys() == {"answer", "error"}, outcome.problem
    assert outside.requests == []


@pytest.mark.parametrize(
    "code",
    [
        "frame({'ask': 'x', 'request': GET})\ntime.sleep(50)",
        "frame({'ask': True, 'request': GET})\ntime.sleep(50)",
        "frame({'ask': 1, 'request': GET, 'more': 1})\ntime.sleep(50)",
        "frame({'ask': 1, 'request': GET, 'called': {}})\ntime.sleep(50)",
        "frame({'ok': True, 'value': 1, 'ask': 1})\ntime.sleep(50)",
        "frame({'ok': True, 'value': 1, 'called': {'other': [1, 0]}})\ntime.sleep(50)",
        "frame({'ask': 1, 'request': {**GET, 'url': 'wait'}})\nframe({'ask': 1, 'request': GET})\ntime.sleep(50)",
        "for n in range(10**6):\n    frame({'ask': n, 'request': {**GET, 'url': 'wait'}})\ntime.sleep(50)",
        "for n in range(10**6):\n    frame({'ask': n, 'request': {**GET, 'url': 'large'}})\n    time.sleep(0.01)",
        "frame({'ok': True, 'value': 1})\nframe({'ask': 1, 'request': GET})\ntime.sleep(50)",
    ],
    ids=[
        "number",
        "bool",
        "members",
        "counts",
        "report",
        "counts of no module",
        "again",
        "flood",
        "unread",
        "after the report",
    ],
)
async def test_meddling_with_requests_ends_the_call(sandbox: WarmSandbox, code: str) -> None:
    async def answer(request: HostRequest) -> Any:
        if request.url == "wait":
            await asyncio.sleep(60)
        return {**RESPONSE, "body": "x" * 10_000_000 if request.url == "large" else "x"}

    started = time.monotonic()
    outcome = await call(sandbox, code, Outside(answer), head=f"{FRAME}GET = {GET}\n")
    assert outcome.problem is not None
    assert outcome.problem.kind == "result"
    assert time.monotonic() - started < 40


async def test_the_clock_of_a_call_stands_still_while_a_request_is_carried(sandbox: WarmSandbox) -> None:
    async def slow(_: HostRequest) -> Any:
        await asyncio.sleep(1.5)
        return {**RESPONSE, "body": "late"}

    code = "from urllib.request import urlopen\nreturn urlopen('https://a.example').read().decode()"
    outcome = await call(sandbox, code, Outside(slow), wall_seconds=1.4)
    assert outcome.value == "late", outcome.problem
    spinning = f"{code.replace('return', 'x =')}\nwhile True: pass"
    outcome = await call(sandbox, spinning, Outside(), wall_seconds=1.0)
    assert outcome.problem is not None
    assert outcome.problem.kind == "wall_time"
    behind = "import threading\ndef spin():\n    while True: pass\nthreading.Thread(target=spin, daemon=True).start()\n"

    async def never(_: HostRequest) -> Any:
        await asyncio.sleep(60)

    outcome = await call(sandbox, behind + code, Outside(never), cpu_seconds=1.0)
    assert outcome.problem is not None
    assert outcome.problem.kind == "cpu_time"


async def test_a_request_that_is_left_behind_ends_with_the_call(sandbox: WarmSandbox) -> None:
    ended = asyncio.Event()

    async def never(_: HostRequest) -> Any:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    code = "import threading, time\nfrom urllib.request import urlopen\n"
    code += (
        "threading.Thread(target=urlopen, args=('https://a.example',), daemon=True).start()\ntime.sleep(0.3)\nreturn 1"
    )
    outcome = await call(sandbox, code, Outside(never))
    assert (outcome.value, outcome.requests, ended.is_set()) == (1, 0, True), outcome.problem


async def test_a_call_that_was_cancelled_starts_no_further_request(sandbox: WarmSandbox) -> None:
    several = asyncio.Event()

    async def answer(request: HostRequest) -> Any:
        if len(outside.requests) > 5:
            several.set()
        try:
            if "slow" in request.url:
                await asyncio.sleep(60)
        except asyncio.CancelledError:
            await asyncio.sleep(0.3)  # the process may write further requests meanwhile
            raise
        return {**RESPONSE, "body": "x"}

    outside = Outside(answer)
    code = "frame({'ask': 0, 'request': {**GET, 'url': 'https://slow.example/'}})\n"
    code += "for number in range(1, 10**6):\n    frame({'ask': number, 'request': GET})\n    time.sleep(0.001)"
    running = asyncio.create_task(call(sandbox, code, outside, head=f"{FRAME}GET = {GET}\n"))
    await several.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    before = len(outside.requests)
    await asyncio.sleep(0.2)
    assert len(outside.requests) == before


async def test_a_bug_of_the_carrier_is_raised(sandbox: WarmSandbox) -> None:
    async def broken(_: HostRequest) -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await call(sandbox, "from urllib.request import urlopen\nurlopen('https://a.example')", Outside(broken))


async def test_recorded_responses_take_the_place_of_the_network(sandbox: WarmSandbox) -> None:
    """An unrecorded request is reported even if the code hides its failure."""
    ask = "from urllib.request import urlopen\nreturn urlopen('https://a.example').read().decode()"
    first = await call(sandbox, ask, Outside())
    again = await sandbox.run(
        Job(f"def f():\n    {ask.replace(chr(10), chr(10) + '    ')}", "f"), carry=recorded(first.exchanges)
    )
    assert (first.value, again.value) == ("hello", "hello")
    hiding = (
        "from urllib.request import urlopen\ntry:\n    urlopen('https://a.example/x')\nexcept OSError:\n    return 7"
    )
    request = {**first.exchanges[0]["request"], "url": "https://a.example/x"}
    odd = [
        {"request": request, "response": one}
        for one in (1, {}, {**RESPONSE, "body": 1}, {**RESPONSE, "headers": [[1]]})
    ]
    for kept in (first.exchanges, (), None, "x", [1, {"request": {"headers": 1}, "response": RESPONSE}], odd):
        source = f"def f():\n    {hiding.replace(chr(10), chr(10) + '    ')}"
        hidden = await sandbox.run(Job(source, "f"), carry=recorded(kept))
        assert hidden.problem is not None
        assert (hidden.ok, hidden.value, hidden.problem.kind) == (False, None, "not_recorded")


async def test_no_cookie_is_kept_with_what_hosts_answered(sandbox: WarmSandbox) -> None:
    async def signed_in(_: HostRequest) -> Any:
        return {**RESPONSE, "headers": [["set-cookie", "session=s3cret; Path=/"]], "body": "hello"}

    outside = Outside(signed_in)
    code = (
        "from urllib.request import HTTPCookieProcessor, build_opener\nopener = build_opener(HTTPCookieProcessor())\n"
    )
    code += "return [opener.open('https://a.example/').read().decode() for _ in range(2)]"
    first = await call(sandbox, code, outside)
    assert dict(outside.requests[1].headers)["cookie"] == "session=s3cret"
    assert "s3cret" not in str(first.exchanges)
    job = Job(f"def f():\n    {code.replace(chr(10), chr(10) + '    ')}", "f")
    again = await sandbox.run(job, carry=recorded(first.exchanges))
    assert (first.value, again.value) == (["hello"] * 2, ["hello"] * 2), again.problem


async def test_large_exchanges_are_not_kept(sandbox: WarmSandbox) -> None:
    async def large(_: HostRequest) -> Any:
        return {**RESPONSE, "body": "x" * 150_000}

    code = "from urllib.request import urlopen\nreturn [len(urlopen('https://a.example').read()) for _ in range(2)]"
    outcome = await call(sandbox, code, Outside(large))
    assert (outcome.value, outcome.requests, outcome.exchanges) == ([150_000] * 2, 2, ())


async def test_a_later_block_without_hosts_sends_nothing(sandbox: WarmSandbox) -> None:
    """Requests from code of an earlier block are judged by the rules of the current block."""
    asked: list[bool] = []
    allowed = True

    async def host(name: str, arguments: dict[str, Any]) -> Any:
        asked.append(allowed)
        if not allowed:
            raise AlitaError("This program declares no hosts.")
        return await Outside().carry(HostRequest.read(arguments))

    session = sandbox.session(functions=["fetch(method, url, headers, body)"], host=host)
    code = "import urllib.request\nprint(urllib.request.urlopen('https://a.example').read().decode())"
    limits = Limits(wall_seconds=20)
    first = await session.run(code, limits=limits, hosts=True)
    allowed = False
    second = await session.run(code, limits=limits)
    await session.aclose()
    assert (first.stdout, asked) == ("hello\n", [True, False])
    assert second.problem is not None
    assert "declares no hosts" in second.problem.message


WAYS = {
    "requests": "import requests\nr = requests.post(URL, params={'k': '{key:W}'}, json={'a': 1})\nr.raise_for_status()",
    "session": "import requests\nwith requests.Session() as s:\n    r = s.post(URL + '?k=1', data='{\"a\": 1}')",
    "loaded": "r = requests.post(URL + '?k=1', json={'a': 1})",
    "httpx": "import httpx\nr = httpx.post(URL, params={'k': '{key:W}'}, json={'a': 1}).raise_for_status()",
    "async": "import httpx, asyncio\nasync def go():\n    async with httpx.AsyncClient() as c:\n"
    "        return await c.post(URL + '?k=1', content=b'{\"a\": 1}')\nr = asyncio.run(go())",
}


@pytest.mark.parametrize("way", WAYS)
async def test_requests_and_httpx_send_requests_too(sandbox: WarmSandbox, way: str) -> None:
    outside = Outside()

    async def host(_: str, arguments: dict[str, Any]) -> Any:
        request = HostRequest.read(arguments)
        if "no" in request.url:
            raise HostError("not a declared host")
        return await outside.carry(request)

    session = sandbox.session(functions=["fetch(method, url, headers, body)"], host=host)
    failing = "\ntry:\n    {0}.get('https://no.example')\nexcept {0}.{1} as e:\n    print(e)"
    failing = failing.format(
        *(("requests", "RequestException") if "httpx" not in WAYS[way] else ("httpx", "HTTPError"))
    )
    shown = "\nprint(r.status_code, r.text, r.headers['Content-Type'])"
    code = f"URL = 'https://a.example/x'\n{WAYS[way]}{shown}{failing}"
    if way == "loaded":
        await session.run("import requests", limits=Limits(wall_seconds=20))
    outcome = await session.run(code, limits=Limits(wall_seconds=20, memory_mb=512), hosts=True)
    await session.aclose()
    assert outcome.stdout == "200 hello text/plain\nnot a declared host\n", outcome
    (request,) = outside.requests
    assert (request.method, request.body.replace(b" ", b"")) == ("POST", b'{"a":1}')
    assert request.url.startswith("https://a.example/x?k=")
