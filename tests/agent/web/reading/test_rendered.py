"""Pages that scripts write, drawn by the real Chromium behind our proxy."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.web.guard import AddressGuard
from agent.web.page import WebProblem
from agent.web.reading.renderer import Drawn, Renderer
from support.web_server import Answer, WebServer

PROSE = "The ferry to the islands leaves the east quay three times a day, and twice on Sundays in winter. "


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


@pytest.mark.slow
async def test_many_pages_at_once(web: WebServer, renderer: Renderer) -> None:
    """Dialogs, popups, endless scripts, downloads and readers who give up hold nobody up."""
    shadow = "x.attachShadow({mode: 'open'}).innerHTML = '<p>in the shadow</p>'"
    dialog = "alert(1); window.open('/see'); document.body.append('went on')"
    ticks = "setInterval(() => document.body.append(' more'), 30)"
    web.page("/lively", f"<p>{PROSE}</p><div id=x></div><script>{shadow}; {dialog}; {ticks}</script>")
    web.page("/go", "<script>location = '/see'</script>")
    web.page("/see", f"<p>{PROSE}</p>")
    web.page("/file", b"PK\x03\x04" + bytes(100), headers={"Content-Type": "application/zip"})
    web.route("/slow", lambda _: (web.released.wait(50), Answer(200))[1])
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.gather(*(renderer.draw(f"{web.url}/slow", seconds=40) for _ in range(3))), 1.5)
    tasks = (renderer.draw(f"{web.url}/{name}", seconds=3) for name in ("lively", "go", "file"))
    lively, led, problem = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(lively, Drawn)
    assert all(text in lively.html for text in ("went on", "in the shadow", " more more"))
    assert isinstance(led, Drawn)
    assert led.url == f"{web.url}/see"
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


async def test_a_browser_that_does_not_start_is_told(web: WebServer, tmp_path: Path) -> None:
    broken = tmp_path / "chrome"
    broken.write_text("#!/bin/sh\necho nonsense; sleep 0.2\n")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    renderer = Renderer(AddressGuard(allow_private=True), broken)
    with pytest.raises(WebProblem, match="did not start") as caught:
        await renderer.draw(f"{web.url}/a")
    assert caught.value.reason == "browser"
    assert str(broken) in caught.value.remedy


def _profiles(place: Path) -> list[Path]:
    return list(place.glob("alita-browser-*"))


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

    web.route("/gone", lambda _: signalled(b"from agent.web.reading.renderer import main", signal.SIGKILL))
    web.route("/hangs", lambda _: signalled(b"--user-data-dir", signal.SIGSTOP))
    for path in ("gone", "hangs"):
        with pytest.raises(WebProblem, match="could not be rendered") as caught:
            await renderer.draw(f"{web.url}/{path}", seconds=1)
        assert caught.value.reason == "browser"
        assert _processes(place) == {}
        assert _profiles(place) == []


async def test_a_process_that_does_not_start_is_told_and_leaves_nothing(
    place: Path, renderer: Renderer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such an environment is longer than the system takes."""
    monkeypatch.setenv("LANG", "x" * 300_000)
    with pytest.raises(WebProblem, match="did not start") as caught:
        await renderer.draw("http://127.0.0.1:9/")
    assert caught.value.reason == "browser"
    assert _profiles(place) == []
