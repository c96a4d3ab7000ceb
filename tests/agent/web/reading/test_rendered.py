"""Pages that scripts write, drawn by the real Chromium behind our proxy."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.web.guard import AddressGuard
from agent.web.http import Http
from agent.web.page import WebProblem
from agent.web.reading.reader import WebReader
from agent.web.reading.renderer import Drawn, Renderer
from support.web_server import Answer, WebServer

PROSE = "The ferry to the islands leaves the east quay three times a day, and twice on Sundays in winter. "
APP = """<html><head><title>Ferries</title></head><body><div id="root"></div><script>
setTimeout(async () => {
  const text = await (await fetch('/data')).text();
  document.getElementById('root').innerHTML = '<h1>Ferries</h1><p>' + text + '</p><a href="/next">next</a>';
}, 200)</script></body></html>"""


def _chromium_missing() -> bool:
    return not any(shutil.which(name) for name in ("chromium", "google-chrome"))


pytestmark = pytest.mark.skipif(_chromium_missing(), reason="no Chromium here")


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where a test's browsers keep their profiles; no process of theirs outlives it."""
    with tempfile.TemporaryDirectory(prefix="ad-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)
        for _ in range(50):
            if not (left := _processes(Path(folder))):
                return
            asyncio.run(asyncio.sleep(0.1))
        pytest.fail(f"processes are left: {left}")


def _processes(place: Path) -> dict[str, bytes]:
    """The processes of drawing in a place, by their numbers, with their commands; other tests may draw, too."""
    mark = f"{place}/alita-browser-".encode()
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (process / "cmdline").read_bytes()
            if mark in command or mark in (process / "environ").read_bytes():
                found[process.name] = command
    return found


@pytest.fixture
def renderer() -> Renderer:
    return Renderer(AddressGuard(allow_private=True))


async def test_a_page_that_scripts_write_is_read(web: WebServer, client: Http, tmp_path: Path) -> None:
    web.page("/app", APP)
    web.page("/data", PROSE * 3)
    web.page("/next", "<p>next</p>")
    reader = WebReader(client, tmp_path)
    page = await reader.read(f"{web.url}/app")
    assert (page.via, page.url, page.title) == ("rendered", f"{web.url}/app", "Ferries")
    assert "leaves the east quay" in page.markdown
    assert page.links == (f"{web.url}/next",)
    await reader.aclose()


@pytest.mark.slow
async def test_many_pages_at_once(web: WebServer, renderer: Renderer) -> None:
    """Dialogs, popups, endless scripts, downloads and readers who give up hold nobody up."""
    web.page(
        "/dialog", f"<p>{PROSE}</p><script>alert(1); window.open('/see'); document.body.append('went on')</script>"
    )
    shadow = "x.attachShadow({mode: 'open'}).innerHTML = '<p>in the shadow</p>'"
    web.page("/shadow", f"<p>{PROSE}</p><div id=x></div><script>{shadow}</script>")
    web.page("/go", "<script>location = '/see'</script>")
    web.page("/see", f"<p>{PROSE}</p>")
    web.page("/ticks", f"<p>{PROSE}</p><script>setInterval(() => document.body.append(' more'), 30)</script>")
    web.page("/file", b"PK\x03\x04" + bytes(100), headers={"Content-Type": "application/zip"})
    web.route("/slow", lambda _: (web.released.wait(50), Answer(200))[1])
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.gather(*(renderer.draw(f"{web.url}/slow", seconds=40) for _ in range(3))), 1.5)
    names = ("dialog", "shadow", "go", "ticks", "file")
    tasks = (renderer.draw(f"{web.url}/{name}", seconds=3 if name == "ticks" else 12) for name in names)
    *pages, problem = await asyncio.gather(*tasks, return_exceptions=True)
    drawn = {name: page for name, page in zip(names, pages, strict=False) if isinstance(page, Drawn)}
    assert "went on" in drawn["dialog"].html
    assert "in the shadow" in drawn["shadow"].html
    assert " more more" in drawn["ticks"].html
    assert drawn["go"].url == f"{web.url}/see"
    assert isinstance(problem, WebProblem)
    assert (problem.reason, f"{web.url}/file" in problem.message) == ("browser", True)
    web.released.set()


async def test_scripts_reach_no_private_address(web: WebServer) -> None:
    """Not by fetch, frame, picture, web socket, another name for it, or by leading the page there."""
    with WebServer() as inner:
        inner.page("/*", "secret")
        target = f"127.0.0.1:{inner.port}"
        hosts = ("127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f.1", "127.0.0.1.", "inner.example")
        tries = "".join(f"fetch('http://{host}:{inner.port}/', {{mode: 'no-cors'}}).catch(() => 0);" for host in hosts)
        tries += f"new WebSocket('ws://{target}/ws'); navigator.sendBeacon('http://{target}/b');"
        seen = f"<iframe src='http://{target}/frame'></iframe><img src='http://{target}/img'>"
        web.page("/page", f"<p>{PROSE}</p>{seen}<script>{tries}</script>")
        web.page("/lead", f"<script>location = 'http://{target}/led'</script>")

        async def resolve(host: str, port: int) -> list[str]:
            return ["127.0.0.1"]

        guard = AddressGuard(resolve=resolve)
        strict = guard.addresses

        async def addresses(host: str, port: int) -> list[str]:
            return ["127.0.0.1"] if host == "door.example" else await strict(host, port)

        guard.addresses = addresses  # type: ignore[method-assign]  # there is no public address to serve at
        renderer = Renderer(guard)
        drawn = await renderer.draw(f"{web.at('door.example')}/page")
        assert "leaves the east quay" in drawn.html
        with pytest.raises(WebProblem) as caught:
            await renderer.draw(f"{web.at('door.example')}/lead")
        assert caught.value.reason == "private_address"
        assert inner.requests == []


@pytest.mark.parametrize("script", ["exit 1", "echo nonsense; sleep 0.2"])
async def test_a_browser_that_does_not_start_is_told(web: WebServer, tmp_path: Path, script: str) -> None:
    broken = tmp_path / "chrome"
    broken.write_text(f"#!/bin/sh\n{script}\n")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    renderer = Renderer(AddressGuard(allow_private=True), broken)
    with pytest.raises(WebProblem, match="does not start") as caught:
        await renderer.draw(f"{web.url}/a")
    assert caught.value.reason == "browser"
    assert str(broken) in caught.value.remedy


def _environment(number: str) -> bytes:
    try:
        return Path(f"/proc/{number}/environ").read_bytes()
    except OSError:
        return b""


def _profiles(place: Path) -> list[Path]:
    return list(place.glob("alita-browser-*"))


async def test_whoever_is_killed_takes_the_browser_along(web: WebServer, renderer: Renderer, place: Path) -> None:
    """The process that asked for the page dies without a word; no key of its environment was in the browser's.

    Whoever draws next removes the profile.
    """
    web.page("/a", f"<p>{PROSE}</p>")
    web.route("/slow", lambda _: (web.released.wait(50), Answer(200))[1])
    code = (
        "import asyncio, sys\nfrom agent.web.guard import AddressGuard\n"
        "from agent.web.reading.renderer import Renderer\n"
        "asyncio.run(Renderer(AddressGuard(allow_private=True)).draw(sys.argv[1], seconds=60))"
    )
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", code, f"{web.url}/slow"), env={**os.environ, "OPENAI_API_KEY": "key-in-clear"}
    )
    for _ in range(300):
        await asyncio.sleep(0.1)
        if web.paths():
            break
    numbers = _processes(place)
    assert len(numbers) > 3
    assert not any(b"key-in-clear" in _environment(number) for number in numbers)
    process.kill()
    await process.wait()
    assert len(_profiles(place)) == 1
    await renderer.draw(f"{web.url}/a")
    assert _profiles(place) == []
    web.released.set()


@pytest.mark.slow
async def test_a_browser_or_a_process_that_hangs_or_dies_is_told_and_leaves_nothing(
    web: WebServer, renderer: Renderer, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.web.reading.renderer._START_SECONDS", 4.0)

    def signalled(word: bytes, number: int) -> Answer:
        for process, command in _processes(place).items():
            if word in command and b"--type=" not in command:
                os.kill(int(process), number)
        return Answer(200)

    web.route("/killed", lambda _: signalled(b"--user-data-dir", signal.SIGKILL))
    web.route("/gone", lambda _: signalled(b"from agent.web.reading.renderer import main", signal.SIGKILL))
    web.route("/hangs", lambda _: signalled(b"--user-data-dir", signal.SIGSTOP))
    web.route("/still", lambda _: signalled(b"from agent.web.reading.renderer import main", signal.SIGSTOP))
    for path in ("killed", "gone", "hangs", "still"):
        with pytest.raises(WebProblem, match="could not be drawn") as caught:
            await renderer.draw(f"{web.url}/{path}", seconds=1)
        assert caught.value.reason == "browser"
        assert _processes(place) == {}
        assert _profiles(place) == []


async def test_a_process_that_does_not_start_is_told_and_leaves_nothing(
    place: Path, renderer: Renderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such an environment is longer than the system takes."""
    monkeypatch.setenv("LANG", "x" * 300_000)
    with pytest.raises(WebProblem, match="does not start") as caught:
        await renderer.draw("http://127.0.0.1:9/")
    assert caught.value.reason == "browser"
    assert _profiles(place) == []


async def test_every_error_of_drawing_is_a_reply(renderer: Renderer) -> None:
    """This address cannot be sent to the browser."""
    with pytest.raises(WebProblem, match="could not be drawn") as caught:
        await asyncio.wait_for(renderer.draw("http://127.0.0.1:9/\ud800"), 20)
    assert caught.value.reason == "browser"
