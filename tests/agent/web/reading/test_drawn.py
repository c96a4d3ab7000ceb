"""What a reader makes of pages that a browser draws."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent.web.chromium import UNSANDBOXED
from agent.web.guard import AddressGuard
from agent.web.http import Http
from agent.web.page import WebProblem
from agent.web.reading.reader import WebReader
from agent.web.reading.renderer import Renderer
from support.public_web import public_client
from support.site.server import Site
from support.web_server import Answer, Asked, WebServer

PROSE = "The ferry to the islands leaves the east quay three times a day, and twice on Sundays in winter. "
LITTLE = "<div id=root></div><p>Ferries of Kell</p>"
CHROMIUM = next((path for name in ("chromium", "google-chrome") if (path := shutil.which(name))), "")
ROUTES = f"""<title>Kell</title><main><h1>Front</h1><p>{PROSE * 5}</p></main><script>
if (location.hash === '#/tides') document.querySelector('main').innerHTML =
    '<h1>Tides</h1><p>High water at 04:12.</p><a href="#/winds">Winds</a><a href="#top">Up</a>';
</script>"""

pytestmark = pytest.mark.skipif(not CHROMIUM, reason="no Chromium here")


@pytest.fixture
async def reader(client: Http, tmp_path: Path) -> AsyncIterator[WebReader]:
    reader = WebReader(client, tmp_path)
    yield reader
    await reader.aclose()


async def test_a_copy_of_a_page_that_is_gone_is_not_drawn(web: WebServer, tmp_path: Path) -> None:
    """A browser would open the address that is dead, and show what stands there now."""
    client = public_client(web)
    snapshot = f"{web.url}/web/20190405060708/{web.at('gone.example')}/town"
    told: dict[str, Any] = {"archived_snapshots": {"closest": {"available": True, "url": snapshot, "status": "200"}}}
    web.page("/town", f"<p>This domain is for sale. {PROSE * 5}</p>", status=404)
    web.route("/wayback/available", lambda _: Answer(200, json.dumps(told)))
    web.page("/web/20190405060708id_/*", f"{LITTLE}<script>go()</script>")
    reader = WebReader(client, tmp_path, archive=web.url)
    page = await reader.read(f"{web.at('gone.example')}/town")
    assert (page.via, page.url, "Ferries of Kell" in page.markdown) == ("archive", snapshot, True)
    assert "2019-04-05" in page.notes[0]
    assert "copies are not drawn" in page.notes[1]
    assert web.paths().count("/town") == 1
    told["archived_snapshots"]["closest"]["url"] = f"{snapshot}/empty"
    web.page("/web/20190405060708id_/*", "<div id=root></div><script>go()</script>")
    with pytest.raises(WebProblem, match="404"):
        await reader.read(f"{web.at('gone.example')}/town")
    await reader.aclose()


@pytest.mark.parametrize(("status", "said"), [(500, "The server is out of order. "), (403, PROSE)])
async def test_a_page_that_is_refused_to_the_browser_is_read_without_it(
    web: WebServer, reader: WebReader, status: int, said: str
) -> None:
    def answer(asked: Asked) -> Answer:
        plain = "alita" in asked.headers["user-agent"]
        body = f"{LITTLE}<script>go()</script>" if plain else f"<p>{said * 9}</p>"
        return Answer(200 if plain else status, body, {"Content-Type": "text/html"})

    web.route("/a", answer)
    page = await reader.read(f"{web.url}/a")
    assert (page.via, "Ferries of Kell" in page.markdown, said in page.markdown) == ("plain", True, False)
    assert f"answered the browser with status {status}" in page.notes[0]


async def test_a_wall_before_the_browser_is_told(web: WebServer, reader: WebReader) -> None:
    """Also one to which scripts lead."""
    web.page("/a", f"{LITTLE}<script>location = '/wall'</script>")
    web.page("/wall", "<p>Our systems have detected unusual traffic from your network.</p>", status=429)
    with pytest.raises(WebProblem) as caught:
        await reader.read(f"{web.url}/a")
    assert caught.value.reason == "captcha"


async def test_scripts_that_lead_nowhere_leave_the_plain_page(web: WebServer, reader: WebReader) -> None:
    """Of its host nobody knows."""
    web.page("/a", f"{LITTLE}<script>location = 'https://nobody.invalid/a'</script>")
    page = await reader.read(f"{web.url}/a")
    assert (page.via, "Ferries of Kell" in page.markdown) == ("plain", True)
    assert "could not be drawn" in page.notes[0]


async def test_a_route_behind_the_sign_of_a_fragment_is_a_page_of_its_own(web: WebServer, reader: WebReader) -> None:
    """The front page, which is longer and is what the server gives, is not taken for it; the server hears nothing."""
    web.page("/", ROUTES)
    page = await reader.read(f"{web.url}/#/tides")
    assert (page.via, page.url, page.links) == ("rendered", f"{web.url}/#/tides", (f"{web.url}/#/winds",))
    assert "High water at 04:12" in page.markdown
    assert PROSE not in page.markdown
    assert set(web.paths()) <= {"/", "/favicon.ico"}


async def test_what_a_stylesheet_hides_is_left_out_unless_something_opens_it(web: WebServer, reader: WebReader) -> None:
    panels = "".join(
        f"<{tag} {by}>{name}</{tag}><section id={name} class=gone>Of the {name}. {PROSE}</section>"
        for name, tag, by in (
            ("fares", "button", "aria-controls=fares"),
            ("boats", "button", "data-bs-target='#boats'"),
            ("winds", "a", "href='#winds'"),
        )
    )
    hidden = "".join(f"<p class={name}>Praise the {name}. {PROSE}</p>" for name in ("gone", "unseen"))
    style = ".gone { display: none } .unseen { visibility: hidden } .seen { visibility: visible }"
    inner = f"<div class=unseen><p class=seen>Inside, but shown. {PROSE}</p></div>"
    deep = f"<div class=gone><p id=deep>Deep. {PROSE}</p></div><button aria-controls=deep>deep</button>"
    web.page(
        "/a",
        f"<style>{style}</style>{LITTLE}<main>{hidden}{panels}{inner}{deep}</main>"
        f"<script>document.querySelector('#root').innerHTML = '<p>{PROSE}</p>'</script>",
    )
    page = await reader.read(f"{web.url}/a")
    assert page.via == "rendered"
    assert "Praise" not in page.markdown
    for kept in (PROSE.strip(), "Of the fares.", "Of the boats.", "Of the winds.", "Inside, but shown.", "Deep."):
        assert kept in page.markdown
    assert "Hidden text of 2" in page.remarks[0]


async def test_a_browser_without_its_own_sandbox_is_told_once(site: Site, tmp_path: Path) -> None:
    chrome = tmp_path / "chrome"
    chrome.write_text(f'#!/bin/sh\ncase "$*" in *--no-sandbox*) exec {CHROMIUM} "$@";; esac\nexit 1\n')
    chrome.chmod(0o755)
    told: list[str] = []
    renderer = Renderer(AddressGuard(allow_private=True), chrome, told.append)
    for _ in range(2):
        assert "Points" in (await renderer.draw(f"{site.url}/points")).html
    assert told == [UNSANDBOXED]
