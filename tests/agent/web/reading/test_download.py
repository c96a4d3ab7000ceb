"""Files that are too large for a page are kept whole, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.web.http import Http
from agent.web.page import WebProblem
from agent.web.reading.reader import download_file
from support.pdf_bytes import PdfBytes
from support.web_server import Answer, WebServer

PDF = PdfBytes().page([(72, 700, "Tide table of Kell")]).make()


def _in(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def test_a_file_is_kept_under_its_own_name(web: WebServer, client: Http, tmp_path: Path) -> None:
    web.page("/get", PDF, headers={"Content-Disposition": 'attachment; filename="tides.pdf"'})
    path, url = await download_file(client, f"{web.url}/get", tmp_path / "files")
    assert (path.name, path.read_bytes(), url) == ("tides.pdf", PDF, f"{web.url}/get")


async def test_it_is_told_where_a_file_was_behind_redirects(web: WebServer, client: Http, tmp_path: Path) -> None:
    web.page("/here", b"", status=302, headers={"Location": "/there.pdf"})
    web.page("/there.pdf", PDF, headers={})
    assert (await download_file(client, f"{web.url}/here", tmp_path))[1] == f"{web.url}/there.pdf"


async def test_two_files_of_one_name_do_not_meet(web: WebServer, client: Http, tmp_path: Path) -> None:
    web.page("/a.csv", "a,b\n1,2\n", headers={"Content-Type": "text/csv"})
    kept = await asyncio.gather(*(download_file(client, f"{web.url}/a.csv", tmp_path) for _ in range(5)))
    assert len({path for path, _ in kept}) == 5
    assert {path.read_text() for path, _ in kept} == {"a,b\n1,2\n"}


async def test_too_large_a_file_leaves_nothing(
    web: WebServer, client: Http, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.web.reading.reader._LARGEST_FILE", 2**20)

    def endless() -> Iterator[bytes]:
        for _ in range(200):
            yield bytes(2**20)

    web.route("/a.bin", lambda _: Answer(200, endless()))
    with pytest.raises(WebProblem) as caught:
        await download_file(client, f"{web.url}/a.bin", tmp_path)
    assert caught.value.reason == "too_large"
    assert _in(tmp_path) == []
    assert web.sent < 20 * 2**20


async def test_a_page_is_no_file(web: WebServer, client: Http, tmp_path: Path) -> None:
    web.page("/a.pdf", "<html><p>Log in</p></html>")
    with pytest.raises(WebProblem, match="is a page") as caught:
        await download_file(client, f"{web.url}/a.pdf", tmp_path)
    assert caught.value.reason == "mismatch"
    assert _in(tmp_path) == []


async def test_a_download_that_breaks_is_begun_anew(web: WebServer, client: Http, tmp_path: Path) -> None:
    web.route("/a.pdf", answers=[Answer(200, PDF[:100], cut=True), Answer(200, PDF)])
    path, _ = await download_file(client, f"{web.url}/a.pdf", tmp_path)
    assert path.read_bytes() == PDF
    assert _in(tmp_path) == [path]


async def test_a_download_that_is_given_up_leaves_nothing(web: WebServer, client: Http, tmp_path: Path) -> None:
    def slow() -> Iterator[bytes]:
        while not web.released.wait(0.02):
            yield bytes(1000)

    web.route("/a.bin", lambda _: Answer(200, slow()))
    task = asyncio.create_task(download_file(client, f"{web.url}/a.bin", tmp_path))
    await asyncio.sleep(0.4)
    assert len(_in(tmp_path)) == 2  # the name that it has taken, and what has come
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert _in(tmp_path) == []
