"""What a reader makes of pages that a browser draws."""

from __future__ import annotations

import asyncio
import json
import shutil
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent.web.http import Http
from agent.web.page import Page, WebProblem
from agent.web.reading.reader import WebReader
from support.public_web import public_client
from support.web_server import Answer, Asked, WebServer

PROSE = "The ferry to the islands leaves the east quay three times a day, and twice on Sundays in winter. "
LITTLE = "<div id=root></div><p>Ferries of Kell</p>"
CHROMIUM = next((path for name in ("chromium", "google-chrome") if (path := shutil.which(name))), "")
APP = """<html><head><title>Ferries</title></head><body><div id="root"></div><script>
setTimeout(async () => {
  const text = await (await fetch('/data')).text();
  document.getElementById('root').innerHTML = '<h1>Ferries</h1><p>' + text + '</p><a href="/next">next</a>';
}, 200)</script></body></html>"""
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


async def test_a_copy_of_a_page_that_is_gone_is_not_drawn(
    web: WebServer, trusted: ssl.SSLContext, tmp_path: Path
) -> None:
    """A browser would open the address that is dead, and show what stands there now."""
    client = public_client(web, trusted)
    snapshot = f"{web.url}/web/20190405060708/{web.at('gone.example')}/town"
    told: dict[str, Any] = {"archived_snapshots": {"closest": {"available": True, "url": snapshot, "status": "200"}}}
    web.page("/town", f"<p>This domain is for sale. {PROSE * 5}</p>", status=404)
    web.route("/wayback/available", lambda _: Answer(200, json.dumps(told)))
    web.page("/web/20190405060708id_/*", f"{LITTLE}<script>go()</script>")
    reader = WebReader(client, tmp_path, archive=web.url)
    page = await reader.read(f"{web.at('gone.example')}/town")
    assert (page.via, page.url, "Ferries of Kell" in page.markdown) == ("archive", snapshot, True)
    assert "2019-04-05" in page.notes[0]
    assert "copies are not rendered" in page.notes[1]
    assert web.paths().count("/town") == 1
    await reader.aclose()


async def test_what_the_browser_cannot_show_is_read_without_it(web: WebServer, reader: WebReader) -> None:
    """A page that is refused to it, or that leads nowhere, is the plain one; a wall to which scripts lead is told."""

    def answer(asked: Asked) -> Answer:
        plain = "alita" in asked.headers["user-agent"]
        body = f"{LITTLE}<script>go()</script>" if plain else f"<p>{PROSE * 9}</p>"
        return Answer(200 if plain else 403, body, {"Content-Type": "text/html"})

    web.route("/refused", answer)
    web.page("/walled", f"{LITTLE}<script>location = '/wall'</script>")
    web.page("/wall", "<p>Our systems have detected unusual traffic from your network.</p>", status=429)
    web.page("/lost", f"{LITTLE}<script>location = 'https://nobody.invalid/a'</script>")
    refused, wall, lost = await asyncio.gather(
        *(reader.read(f"{web.url}/{name}") for name in ("refused", "walled", "lost")), return_exceptions=True
    )
    assert isinstance(wall, WebProblem)
    assert wall.reason == "captcha"
    for page, why in ((refused, "returned status 403 to the browser"), (lost, "could not be rendered")):
        assert isinstance(page, Page)
        assert (page.via, "Ferries of Kell" in page.markdown, PROSE in page.markdown) == ("plain", True, False)
        assert why in page.notes[0]


async def test_what_scripts_and_styles_show_is_read(web: WebServer, reader: WebReader) -> None:
    """A page that scripts write; a route behind the sign of a fragment; what a stylesheet hides.

    The front page, which is longer and is what the server gives, is not taken for that of a route: the server never
    hears of it. What is hidden is left out unless something opens it.
    """
    web.page("/app", APP)
    web.page("/data", PROSE * 3)
    web.page("/next", "<p>next</p>")
    web.page("/", ROUTES)
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
        "/styled",
        f"<style>{style}</style>{LITTLE}<main>{hidden}{panels}{inner}{deep}</main>"
        f"<script>document.querySelector('#root').innerHTML = '<p>{PROSE}</p>'</script>",
    )
    app, tides, styled = await asyncio.gather(
        *(reader.read(web.url + path) for path in ("/app", "/#/tides", "/styled"))
    )
    assert {page.via for page in (app, tides, styled)} == {"rendered"}
    assert (app.url, app.title, app.links) == (f"{web.url}/app", "Ferries", (f"{web.url}/next",))
    assert "leaves the east quay" in app.markdown
    assert (tides.url, tides.links) == (f"{web.url}/#/tides", (f"{web.url}/#/winds",))
    assert "High water at 04:12" in tides.markdown
    assert PROSE not in tides.markdown
    assert not any("tides" in path for path in web.paths())
    assert "Praise" not in styled.markdown
    for kept in (PROSE.strip(), "Of the fares.", "Of the boats.", "Of the winds.", "Inside, but shown.", "Deep."):
        assert kept in styled.markdown
    assert "Hidden text of 2" in styled.remarks[0]
