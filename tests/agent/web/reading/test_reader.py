"""Addresses are read for what they are: pages, files, walls, pages that are gone, videos."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.web.http import MAX_PAGE_BYTES, Http
from agent.web.page import WebProblem
from agent.web.reading.reader import WebReader
from support.pdf_bytes import PdfBytes
from support.public_web import public_client
from support.web_server import Answer, WebServer

PROSE = "The bridge over the sound was opened in 1931 and carries two lanes, a tram and a path for walkers. "
PDF = PdfBytes().page([(72, 700, "Tide table of Kell")]).page([(72, 700, "High water at 04:12")]).make()


@pytest.fixture
async def reader(web: WebServer, client: Http, tmp_path: Path) -> AsyncIterator[WebReader]:
    reader = WebReader(
        client,
        tmp_path / "pages",
        chrome=Path("/nowhere/chrome"),
        youtube=web.url,
        archive=web.url,
    )
    yield reader
    await reader.aclose()


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def _fails(reader: WebReader, url: str) -> WebProblem:
    with pytest.raises(WebProblem) as caught:
        await reader.read(url)
    assert caught.value.remedy
    return caught.value


async def test_a_page(web: WebServer, reader: WebReader, tmp_path: Path) -> None:
    web.page("/go", "", status=302, headers={"Location": "/a"})
    web.page("/a", f"<title>Bridges</title><article><p>{PROSE * 3}<a href=/b>more</a></p></article>")
    page = await reader.read(f"{web.url}/go#part")
    assert (page.url, page.title, page.kind, page.via, page.path) == (f"{web.url}/a", "Bridges", "html", "plain", None)
    assert page.links == (f"{web.url}/b",)
    assert "[more](link 1)" in page.markdown
    assert page.fetched.endswith("+00:00")
    assert list((tmp_path / "pages").iterdir()) == []


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (PDF, "pdf", "High water at 04:12"),
        (b"name,crowns\nrope,12\nlamp,40\noil,3\n", "csv", "| lamp | 40 |"),
        (b'{"a": [1, 2], "b": "kell"}', "json", "kell"),
        (b"# Notes\n\nThe *tide* turns.\n", "txt", "turns"),
    ],
    ids=["pdf", "csv", "json", "txt"],
)
async def test_a_file_is_read_by_its_content_and_kept(
    web: WebServer, reader: WebReader, body: bytes, kind: str, words: str
) -> None:
    web.page("/data/file", body, headers={"Content-Type": "application/octet-stream"})
    page = await reader.read(f"{web.url}/data/file")
    assert (page.kind, page.title) == (kind, "file")
    assert words in page.markdown
    assert page.path is not None
    assert page.path.read_bytes() == body


async def test_a_file_that_is_too_large_for_a_page_is_kept_on_disk(web: WebServer, reader: WebReader) -> None:
    rows = 1_200_000
    web.page(
        "/tides.csv", b"day,crowns\n" + b"2026-11-22,407.25,kell dock\n" * rows, headers={"Content-Type": "text/csv"}
    )
    web.page("/get", b"", status=302, headers={"Location": "/tides.csv"})
    page = await reader.read(f"{web.url}/get")
    assert page.url == f"{web.url}/tides.csv"
    assert page.path is not None
    assert page.path.stat().st_size > MAX_PAGE_BYTES
    assert (page.kind, "kell dock" in page.markdown, len(page.markdown) < 500_000) == ("csv", True, True)


async def test_a_download_that_breaks_is_begun_anew_and_one_that_is_given_up_leaves_nothing(
    web: WebServer, reader: WebReader, tmp_path: Path
) -> None:
    def slow() -> Iterator[bytes]:
        while not web.released.wait(0.02):
            yield bytes(1000)

    web.route("/a.pdf", answers=[Answer(200, PDF[:100], cut=True), Answer(200, PDF)])
    page = await reader.read(f"{web.url}/a.pdf")
    assert page.path is not None
    assert page.path.read_bytes() == PDF
    page.path.unlink()
    web.route("/a.bin", lambda _: Answer(200, slow()))
    task = asyncio.create_task(reader.read(f"{web.url}/a.bin"))
    for _ in range(500):
        await asyncio.sleep(0.02)
        if len(_files(tmp_path)) == 2:  # the name that it has taken, and what has come
            break
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert _files(tmp_path) == []


async def test_too_large_a_file_leaves_nothing(
    web: WebServer, reader: WebReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.web.reading.reader._MAX_FILE_BYTES", 2**20)
    web.route("/a.bin", lambda _: Answer(200, (bytes(2**20) for _ in range(200))))
    assert (await _fails(reader, f"{web.url}/a.bin")).reason == "too_large"
    assert (_files(tmp_path), web.sent < 20 * 2**20) == ([], True)


async def test_a_page_that_is_too_large_is_told_and_not_kept(web: WebServer, reader: WebReader, tmp_path: Path) -> None:
    web.page("/all", b"<!doctype html><html><body><p>Kell</p>" + b"<p>tide</p>" * 3_400_000)
    with pytest.raises(WebProblem) as caught:
        await reader.read(f"{web.url}/all")
    assert caught.value.reason == "too_large"
    assert _files(tmp_path) == []


@pytest.mark.parametrize(
    "body", [b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 4, b"PAR1" + bytes(50)], ids=["elf", "parquet"]
)
async def test_binaries_that_nobody_can_read_are_a_mismatch(web: WebServer, reader: WebReader, body: bytes) -> None:
    web.page("/page.html", body)
    problem = await _fails(reader, f"{web.url}/page.html")
    assert problem.reason == "mismatch"
    assert "page.html" in problem.message


WALLS = {
    "cloudflare": (
        403,
        "captcha",
        "<title>Just a moment...</title><p>Checking if you are a human.</p>"
        '<script src="https://challenges.cloudflare.com/turnstile/v0/api.js"></script>',
    ),
    "recaptcha": (
        200,
        "captcha",
        "<h1>Security check</h1><p>Please confirm that you are not a robot.</p><div class='g-recaptcha'></div>"
        '<script src="https://www.google.com/recaptcha/api.js"></script>',
    ),
    "traffic": (429, "captcha", "<p>Our systems have detected unusual traffic from your network.</p>"),
    "paywall": (
        200,
        "paywall",
        f"<article><p>{PROSE}</p><div>Subscribe now to continue reading this article.</div></article>",
    ),
    "long paywall": (
        200,
        "paywall",
        '<script type="application/ld+json">{"isAccessibleForFree": false}</script>'
        f"<article><p>{PROSE * 40}</p><p>Already a subscriber? Log in.</p></article>",
    ),
    "members": (402, "paywall", "<p>This story is for subscribers only.</p>"),
    "login": (401, "paywall", "<h1>Members</h1><form><input name=u><input type=password name=p></form>"),
    "login page": (200, "paywall", "<p>Please log in to view this page.</p><form><input type='password'></form>"),
}  # fmt: skip


async def test_a_wall_is_a_problem_and_no_content(web: WebServer, reader: WebReader) -> None:
    for name, (status, reason, html) in WALLS.items():
        web.page("/a", html, status=status)
        assert (await _fails(reader, f"{web.url}/a")).reason == reason, name


async def test_a_page_that_leads_to_a_login_wants_one(web: WebServer, reader: WebReader) -> None:
    web.page("/login", "<h1>Sign in</h1><form>User <input name=u> Password <input type=password name=p></form>")
    web.page("/account", "", status=302, headers={"Location": "/login?next=account"})
    problem = await _fails(reader, f"{web.url}/account")
    assert (problem.reason, f"{web.url}/account requires a login" in problem.message) == ("paywall", True)
    assert "Sign in" in (await reader.read(f"{web.url}/login")).markdown


async def test_a_challenge_is_told_by_its_header(web: WebServer, reader: WebReader) -> None:
    web.page("/a", "", status=503, headers={"cf-mitigated": "challenge"})
    assert (await _fails(reader, f"{web.url}/a")).reason == "captcha"
    assert len(web.paths()) == 1


NO_WALLS = {
    "about captchas": f"<article><h1>How captchas work</h1><p>{PROSE * 30} They ask: are you a robot?</p></article>",
    "form with captcha": f"<article><p>{PROSE * 3}</p></article><form>Comment <div class='g-recaptcha'></div></form>"
    '<script src="https://www.google.com/recaptcha/api.js"></script>',
    "login box": f"<article><p>{PROSE * 3}</p></article><form>Log in <input type=password></form>",
    "newsletter": f"<p>{PROSE * 30}</p><p>Subscribe to our newsletter to read more such stories.</p>",
}


async def test_pages_that_only_have_such_a_thing_are_read(web: WebServer, reader: WebReader) -> None:
    for name, html in NO_WALLS.items():
        web.page("/a", html)
        assert "opened in 1931" in (await reader.read(f"{web.url}/a")).markdown, name


async def test_a_page_of_scripts_without_a_browser_says_what_is_missing(web: WebServer, reader: WebReader) -> None:
    web.page("/some", "<p>Loading the tides of Kell</p><script>go()</script>")
    page = await reader.read(f"{web.url}/some")
    assert "Loading the tides" in page.markdown
    assert "Content that scripts add is missing" in page.notes[0]
    assert "/nowhere/chrome" in page.notes[0]
    web.page("/none", "<div id=root></div><script>go()</script>")
    assert (await _fails(reader, f"{web.url}/none")).reason == "browser"


async def test_a_page_that_is_gone_comes_from_the_archive(
    web: WebServer, trusted: ssl.SSLContext, tmp_path: Path
) -> None:
    url = f"{web.at('gone.example')}/town?x=1"
    web.page("/town", "<p>gone</p>", status=410)
    snapshot = f"{web.url}/web/20190405060708/{url}"
    told = {
        "archived_snapshots": {
            "closest": {"available": True, "url": snapshot, "timestamp": "20190405060708", "status": "200"}
        }
    }
    web.route("/wayback/available", lambda _: Answer(200, json.dumps(told)))
    web.page("/robots.txt", "User-agent: *\nDisallow: /web/", headers={})
    web.page("/web/20190405060708id_/*", f"<title>Old</title><article><p>{PROSE * 2}<a href=/b>b</a></p></article>")
    reader = WebReader(public_client(web, trusted), tmp_path, archive=web.url)
    page = await reader.read(url)
    assert (page.via, page.url, page.title) == ("archive", snapshot, "Old")
    assert page.links == (f"{web.at('gone.example')}/b",)
    assert "410" in page.notes[0]
    assert "2019-04-05" in page.notes[0]
    asked = next(one.path for one in web.requests if one.path.startswith("/wayback"))
    assert "gone.example%3A" in asked
    assert "timestamp=20" in asked
    await reader.aclose()


@pytest.mark.parametrize(
    "told",
    [
        {"archived_snapshots": {}},
        "x",
        {"archived_snapshots": {"closest": {"available": True, "url": "http://169.254.169.254/web/2019/x"}}},
    ],
    ids=["nothing", "no answer", "a private address"],
)
async def test_what_the_archive_does_not_have_stays_gone(
    web: WebServer, trusted: ssl.SSLContext, tmp_path: Path, told: Any
) -> None:
    web.route("/wayback/available", lambda _: Answer(200, json.dumps(told)))
    reader = WebReader(public_client(web, trusted), tmp_path, archive=web.url)
    problem = await _fails(reader, f"{web.at('gone.example')}/town")
    assert (problem.reason, "404" in problem.message) == ("http", True)
    await reader.aclose()


async def test_the_archive_never_hears_of_private_addresses(web: WebServer, reader: WebReader) -> None:
    assert (await _fails(reader, f"{web.url}/secret-plans")).reason == "http"
    assert (await _fails(reader, "http://intranet/secret-plans")).reason == "dns"
    assert (await _fails(reader, "http://wiki.corp/secret-plans")).reason == "dns"
    assert not any(path.startswith("/wayback") for path in web.paths())
