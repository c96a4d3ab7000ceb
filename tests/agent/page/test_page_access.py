"""Who comes through the door of the page, and to what: the routes of Gradio behind it are a stand-in."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.types import Receive, Scope, Send

from agent.page import access
from agent.page.access import PageAccess
from agent.page.visitors import Visitors
from mcp_tools.errors import UsageError
from mcp_tools.serving.http import listen_options

TOKEN = "a-token-that-is-long-enough"
TAB, OTHER = "47wuw8j2bwf", "9xk2mm1c0qa"


@dataclass
class Behind:
    """Notes what comes through; an upload is answered as Gradio answers it, and one that breaks off leaves a piece."""

    uploads: Path
    came: list[tuple[str, bytes]] = field(default_factory=list)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = b""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                (self.uploads / "tmp1").write_bytes(body)
                raise ConnectionError("the client went away")
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        self.came.append((scope["path"], body))
        answer = json.dumps(["/up/load/table.csv"]) if scope["path"].endswith("/upload") else "{}"
        headers = [(b"access-control-allow-origin", b"*"), (b"access-control-allow-credentials", b"true")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer.encode()})


class House:
    """The door, and browsers in front of it."""

    def __init__(self, uploads: Path, *, token: str = TOKEN) -> None:
        self.uploads, self.visitors = uploads, Visitors()
        self.behind = Behind(uploads)
        door = listen_options("127.0.0.1:7860", token=token, token_file=None, no_token=not token, host_names=())
        self._page = PageAccess(self.behind, door, self.visitors, uploads)

    def stranger(self, **more: Any) -> httpx2.AsyncClient:
        transport = httpx2.ASGITransport(app=self._page)
        return httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:7860", **more)

    async def visitor(self) -> httpx2.AsyncClient:
        client = self.stranger()
        answer = await client.get("/", params={"token": TOKEN})
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        return client


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def joining(tab: str = TAB, *data: Any) -> dict[str, Any]:
    return {"session_hash": tab, "fn_index": 0, "data": list(data)}


@pytest.mark.parametrize("path", ["/config", "/gradio_api/queue/data?session_hash=abcdefgh", "/outputs/x"])
async def test_without_the_token_there_is_only_a_form(house: House, path: str) -> None:
    async with house.stranger() as client:
        assert (await client.get(path)).status_code == 401
        form = await client.get("/")
        assert (form.status_code, "Token" in form.text) == (401, True)
        assert (await client.get("/", params={"token": "wrong"})).status_code == 401
        assert (await client.post("/enter", data={"token": "wrong"})).status_code == 401
        assert not client.cookies
        assert (await client.post("/enter", data={"token": TOKEN})).status_code == 303
        assert (await client.get("/config")).status_code == 200
    assert [path for path, _ in house.behind.came] == ["/config"]


async def test_the_cookie_is_of_no_use_to_scripts_and_other_sites(house: House) -> None:
    async with house.stranger() as client:
        cookie = (await client.get("/", params={"token": TOKEN})).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert TOKEN not in cookie


async def test_on_this_machine_the_token_may_be_left_out_and_nowhere_else(tmp_path: Path) -> None:
    house = House(tmp_path, token="")
    async with house.stranger() as client:
        assert (await client.get("/")).status_code == 303
        assert (await client.get("/")).status_code == 200
    with pytest.raises(UsageError, match="a token is required"):
        listen_options("0.0.0.0:7860", token="", token_file=None, no_token=True, host_names=())


@pytest.mark.parametrize(
    ("address", "names", "is_local"),
    [
        ("127.0.0.1:0", (), True),
        ("localhost:0", ("LOCALHOST",), True),
        ("127.0.0.1:0", ("alita.example.org",), False),
        ("0.0.0.0:0", (), False),
        ("192.0.2.7:0", ("localhost",), False),
    ],
)
def test_a_page_behind_a_proxy_is_open_to_others(address: str, names: tuple[str, ...], is_local: bool) -> None:
    door = listen_options(address, token=TOKEN, token_file=None, no_token=False, host_names=names)
    assert door.is_local == is_local


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({"origin": "http://evil.example"}, 403, id="another site"),
        pytest.param({"origin": "http://127.0.0.1:8888"}, 403, id="another port"),
        pytest.param({"origin": "null"}, 403, id="a sandboxed frame"),
        pytest.param({"sec-fetch-site": "cross-site"}, 403, id="a picture elsewhere"),
        pytest.param({"sec-fetch-site": "same-site"}, 403, id="another port, no origin"),
        pytest.param({"host": "rebound.example"}, 421, id="a name that leads here"),
        pytest.param({"origin": "http://127.0.0.1:7860", "sec-fetch-site": "same-origin"}, 200, id="the page"),
    ],
)
async def test_another_origin_is_refused(house: House, headers: dict[str, str], status: int) -> None:
    client = await house.visitor()
    answer = await client.post("/gradio_api/queue/join", json=joining(), headers=headers)
    assert answer.status_code == status
    assert len(house.behind.came) == (status == 200)
    assert not [name for name in answer.headers if name.startswith("access-control-")]


async def test_frames_of_other_pages_let_nobody_in(tmp_path: Path) -> None:
    """Each would be a visitor, and 200 of them would end the runs of the user."""
    house = House(tmp_path, token="")
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    async with house.stranger() as client:
        for kind in ("iframe", "frame", "object", "embed"):
            assert (await client.get("/", headers={**link, "sec-fetch-dest": kind})).status_code == 403
        assert not house.visitors.by_cookie
        assert (await client.get("/", headers={**link, "sec-fetch-dest": "document"})).status_code == 303


@pytest.mark.parametrize(
    "path",
    [
        *("/gradio_api/proxy=http://127.0.0.1:22/", "/gradio_api/vibe-code/", "/monitoring/summary", "/monitoring/x"),
        *("/gradio_api/file=/etc/passwd", "/gradio_api/file=../../etc/passwd", "/gradio_api/file/etc/passwd"),
        *("/gradio_api/file=http://127.0.0.1/", "/file=/etc/passwd", "/docs", "/openapi.json", "/login"),
        *("/gradio_api/call/ask", "/gradio_api/deep_link", "/gradio_api/runs", "/gradio_api/component_server"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_other_routes_of_gradio_are_closed(house: House, method: str, path: str) -> None:
    client = await house.visitor()
    assert (await client.request(method, path)).status_code in {403, 404}
    assert house.behind.came == []


async def test_visitors_have_neither_each_others_tabs_nor_files(house: House) -> None:
    first, second = await house.visitor(), await house.visitor()
    sent = await first.post("/gradio_api/upload", files={"files": ("table.csv", b"a,b\n")})
    assert sent.json() == ["/up/load/table.csv"]
    named = {"text": "", "files": [{"path": "/up/load/table.csv", "meta": {}}]}
    join, stream, file = "/gradio_api/queue/join", "/gradio_api/queue/data", "/gradio_api/file=/up/load/table.csv"
    assert (await first.post(join, json=joining(TAB, named))).status_code == 200
    assert (await first.get(stream, params={"session_hash": TAB})).status_code == 200
    assert (await first.get(file)).status_code == 200
    assert (await second.post(join, json=joining(TAB))).status_code == 403
    assert (await second.get(stream, params={"session_hash": TAB})).status_code == 403
    assert (await second.get(f"/gradio_api/heartbeat/{TAB}")).status_code == 403
    assert (await second.post(join, json=joining(OTHER, named))).status_code == 403
    assert (await second.get(file)).status_code == 404


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "http://169.254.169.254/latest", "", None, [], {}, "/up/load/table.csv/../../../etc/passwd"],
    ids=str,
)
async def test_a_message_names_no_file_that_was_not_sent(house: House, path: object) -> None:
    client = await house.visitor()
    await client.post("/gradio_api/upload", files={"files": ("table.csv", b"a,b\n")})
    for hidden in ({"path": path}, [{"files": [{"path": path, "url": "/x"}]}]):
        answer = await client.post("/gradio_api/queue/join", json=joining(TAB, hidden))
        assert answer.status_code == 403


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"[" * 100_000, 400), (b"[]", 400), (b"\xff", 400), (b'{"data": []}', 403), (b" " * 1_000_001, 413)],
    ids=["deep", "a list", "no text", "no tab", "too long"],
)
async def test_what_is_no_message_is_refused(house: House, body: bytes, status: int) -> None:
    client = await house.visitor()
    assert (await client.post("/gradio_api/queue/join", content=body)).status_code == status
    assert house.behind.came == []


async def _pieces(count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield b"x" * 1_000


async def test_an_upload_is_ended_while_it_comes(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "MOST_UPLOADED", 5_000)
    monkeypatch.setattr(access, "MOST_KEPT", 8_000)
    client = await house.visitor()

    async def send(count: int, **headers: str) -> int:
        return (await client.post("/gradio_api/upload", content=_pieces(count), headers=headers)).status_code

    assert await send(1, **{"content-length": "2000000000"}) == 413  # said before a byte of it is read
    assert (await client.post("/gradio_api/upload", headers={"content-length": "-1"})).status_code == 413
    assert await send(6) == 413
    assert (house.behind.came, list(house.uploads.iterdir())) == ([], [])
    assert await send(2) == 200
    assert await send(2) == 413, "what came before counts"


async def test_a_file_of_a_run_is_shown_only_to_its_visitor_and_never_as_a_page(house: House, tmp_path: Path) -> None:
    first, second = await house.visitor(), await house.visitor()
    owner = next(iter(house.visitors.by_cookie.values()))
    made: Callable[[str], Path] = lambda name: tmp_path / name  # noqa: E731
    made("page.html").write_text("<script>alert(1)</script>")
    made("chart.png").write_bytes(b"\x89PNG")
    made("link.txt").symlink_to("/etc/passwd")
    page, chart, link = (owner.offer(made(name)) for name in ("page.html", "chart.png", "link.txt"))
    answer = await first.get(page)
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert (answer.headers["content-security-policy"], answer.headers["x-content-type-options"]) == (
        "default-src 'none'; sandbox",
        "nosniff",
    )
    assert (await first.get(chart)).headers["content-type"] == "image/png"
    assert (await first.get(link)).status_code == 404
    assert (await second.get(page)).status_code == 404


async def test_a_tab_that_is_forgotten_is_told(house: House) -> None:
    left: list[str] = []
    house.visitors.left = left.append
    client = await house.visitor()
    for number in range(101):
        await client.get("/gradio_api/queue/data", params={"session_hash": f"tab-number-{number}"})
    assert left == ["tab-number-0"]


async def test_every_answer_is_confined(house: House) -> None:
    client = await house.visitor()
    answer = await client.get("/config")
    policy = answer.headers["content-security-policy"]
    assert "script-src-attr 'none'" in policy
    assert "connect-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert (answer.headers["x-frame-options"], answer.headers["referrer-policy"]) == ("DENY", "no-referrer")
