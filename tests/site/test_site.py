"""The town's site does what other tests rely on: every page, every form, every trap."""

from __future__ import annotations

import io
import json
import zipfile

import httpx2
import pytest

from support.pdf_bytes import PdfBytes
from support.site import rendering
from support.site.forms import PASSWORD, USER
from support.site.routes import EXACT
from support.site.scripts import BOATS
from support.site.server import Site

PLAIN = sorted(path.name for path in (rendering.FOLDER / "pages").glob("*.html") if "." not in path.stem)
NEEDS_VALUES = {"account.html", "berth.html", "guestbook.html", "login.html", "search.html"}


@pytest.fixture
def visitor(site: Site):
    """Somebody who keeps cookies and does not follow redirects."""
    with httpx2.Client(base_url=site.url, trust_env=False) as client:
        yield client


@pytest.mark.parametrize("name", [name for name in PLAIN if name not in NEEDS_VALUES])
def test_a_page_stands_in_the_frame_with_its_title(site: Site, visitor: httpx2.Client, name: str):
    """Every file of tests/site/pages is served whole, at its name."""
    told = visitor.get("/" if name == "index.html" else "/" + name.removesuffix(".html"))
    assert told.status_code == 200
    assert told.headers["content-type"] == "text/html; charset=utf-8"
    assert "<title>" in told.text
    assert told.text.rstrip().endswith("</html>")
    assert "{{" not in told.text


def test_links_of_the_home_page_lead_somewhere(visitor: httpx2.Client):
    """No dead link."""
    import re

    for path in re.findall('href="(/[^"]*)"', visitor.get("/").text):
        assert visitor.get(path).status_code == 200, path


def test_an_unknown_page_is_not_found(visitor: httpx2.Client):
    """Also where a name would leave the folder."""
    for path in ("/nowhere", "/news/nowhere", "/shop/1", "/../layout", "/%2e%2e/layout", "/permit-form.bare"):
        assert visitor.get(path).status_code == 404, path


def test_requests_are_kept_in_order_until_the_reset(site: Site, visitor: httpx2.Client):
    """What was asked, how, and by whom."""
    visitor.get("/ferry", headers={"X-Told": "yes"})
    visitor.post("/poll", data={"name": "Kittiwake"})
    assert site.paths() == ["/ferry", "/poll"]
    assert site.requests[0].headers["x-told"] == "yes"
    assert site.requests[1].form == {"name": "Kittiwake"}
    assert site.requests[0].session == site.requests[1].session
    site.reset()
    assert (site.requests, site.records["poll"]) == ([], [])


def test_signing_in_belongs_to_the_session(site: Site, visitor: httpx2.Client):
    """A wrong password, the right one, the account, signing out; another visitor is not signed in."""
    assert visitor.get("/account").headers["location"] == "/login"
    wrong = visitor.post("/login", data={"user": USER, "password": "guess"})
    assert wrong.status_code == 401
    assert "Wrong user name" in wrong.text
    assert site.records["login"] == []
    assert visitor.post("/login", data={"user": USER, "password": PASSWORD}).headers["location"] == "/account"
    assert "C-27" in visitor.get("/account/berth").text
    assert httpx2.get(site.url + "/account/berth", trust_env=False).status_code == 303
    visitor.post("/account/phone", data={"phone": "1 <2>"})
    assert "1 &lt;2&gt;" in visitor.get("/account").text
    visitor.get("/logout")
    assert visitor.get("/account/berth").status_code == 303
    assert site.records["login"] == [{"user": USER}]


@pytest.mark.parametrize(
    ("path", "given", "words"),
    [
        ("/booking", {"name": "A", "walk": "Seal bay"}, "B-7392"),
        ("/poll", {"name": "Sea Holly"}, "vote for Sea Holly"),
        ("/newsletter", {"email": "a@b.example"}, "a@b.example"),
        ("/moving", {"name": "<b>", "people": "2"}, "&lt;b&gt;"),
        ("/permit-form", {"plate": "OX 1", "street": "Quay"}, "OX 1"),
    ],
)
def test_a_form_is_noted_and_thanked_for(site: Site, visitor: httpx2.Client, path: str, given: dict, words: str):
    """What was handed in stands in the records and, escaped, in the answer."""
    assert words in visitor.post(path, data=given).text
    assert site.records[path.strip("/").removesuffix("-form")] == [given]


def test_an_empty_form_is_refused(site: Site, visitor: httpx2.Client):
    """Nothing is noted of it."""
    assert visitor.post("/booking", data={"name": ""}).status_code == 400
    assert site.records["booking"] == []


def test_an_uploaded_file_is_noted(site: Site, visitor: httpx2.Client):
    """Its name, size and title; without a file nothing."""
    assert visitor.post("/upload", data={"title": "x"}, files={"photo": ("", b"")}).status_code == 400
    visitor.post("/upload", data={"title": "The quay"}, files={"photo": ("quay.jpg", b"\xff\xd8\xff\r\n--x")})
    assert site.records["upload"] == [{"title": "The quay", "file": "quay.jpg", "bytes": "8"}]


def test_a_guest_book_entry_is_shown(visitor: httpx2.Client):
    """After the one that is always there."""
    visitor.post("/guestbook", data={"name": "Bert", "message": "Fine & dry"}, follow_redirects=True)
    assert visitor.get("/guestbook").text.index("Ottilie") < visitor.get("/guestbook").text.index(
        "Bert: Fine &amp; dry"
    )


def test_news_turn_pages(visitor: httpx2.Client):
    """Each article on one page; no way on after the last."""
    pages = [visitor.get(f"/news?page={number}").text for number in (1, 2, 3)]
    for article in rendering.data("news"):
        assert sum(f'/news/{article["slug"]}"' in page for page in pages) == 1
        assert article["text"][0] in visitor.get(f"/news/{article['slug']}").text
    assert "Older news" in pages[1]
    assert "Older news" not in pages[2]
    assert "Page 1 of 3" in visitor.get("/news?page=99").text


def test_the_search_finds_all_words(site: Site, visitor: httpx2.Client):
    """No hit is told; the query is noted."""
    found = visitor.get("/search", params={"q": "hanna brook"}).text
    assert "1 pages found" in found
    assert '<a href="/lighthouse">' in found
    assert "0 pages found" in visitor.get("/search", params={"q": "<zebra>"}).text
    assert [record["q"] for record in site.records["search"]] == ["hanna brook", "<zebra>"]


def test_the_shop_sells(site: Site, visitor: httpx2.Client):
    """Category and order, a basket of the session, an order; what is sold out has no button."""
    listed = visitor.get("/shop", params={"category": "Clothes", "order": "dear"}).text
    assert listed.index("Oilskin") < listed.index("jumper") < listed.index("boots") < listed.index("cap")
    assert "Barometer" not in listed
    assert "Sold out" in visitor.get("/shop/103").text
    visitor.post("/cart", data={"id": "301", "quantity": "3"})
    assert "Total: 23.40" in visitor.get("/cart").text
    assert "S-89" in visitor.post("/order", data={"address": "5 Quay Street"}).text
    assert site.records["order"] == [{"address": "5 Quay Street", "articles": "3 x Smoked mackerel"}]
    assert visitor.post("/order", data={}).status_code == 400


def test_scripts_are_answered(site: Site, visitor: httpx2.Client):
    """Weather, the leader behind the cookie question, boats twenty at a time, chores."""
    assert visitor.get("/api/weather").json()["hours"][1]["degrees"] == 14
    assert "cookies first" in visitor.get("/api/leader").json()["text"]
    assert "Marit Skye" in visitor.get("/api/leader", headers={"Cookie": "consent=all"}).json()["text"]
    seen, start = [], 0
    while start is not None:
        told = visitor.get(f"/api/boats?from={start}").json()
        seen, start = seen + told["boats"], told["next"]
    assert seen == BOATS
    assert len({boat["name"] for boat in BOATS}) == len(BOATS) == 80
    told = visitor.put("/api/chores", json={"text": "Check the flares", "done": True}).json()
    assert [chore["done"] for chore in told] == [False, True, True]


def test_what_scripts_bring_is_in_no_plain_page(visitor: httpx2.Client):
    """A reader without a browser finds nothing there."""
    assert "14 °C" not in visitor.get("/weather").text
    assert "Wind Rose" not in visitor.get("/boats").text


def test_files_are_what_they_are(visitor: httpx2.Client):
    """A PDF, a table to be kept, an archive that says it is a page, text, two encodings."""
    import pypdfium2

    document = pypdfium2.PdfDocument(visitor.get("/guide.pdf").content)
    assert "Raven Head, 163 m" in document[0].get_textpage().get_text_bounded()
    document.close()
    table = visitor.get("/files/tides-2026.csv")
    assert table.headers["content-disposition"] == 'attachment; filename="tides-2026.csv"'
    assert len(table.text.splitlines()) == 13
    archive = visitor.get("/archive.html")
    assert archive.headers["content-type"].startswith("text/html")
    assert zipfile.ZipFile(io.BytesIO(archive.content)).namelist() == ["readme.txt"]
    assert visitor.get("/notes.txt").headers["content-type"] == "text/plain"
    assert "3,20 €" in visitor.get("/latin").content.decode("windows-1252")
    assert "グレイポイント" in visitor.get("/meta-charset").content.decode("shift_jis")
    assert "charset" not in visitor.get("/meta-charset").headers["content-type"]
    assert "Disallow: /private/" in visitor.get("/robots.txt").text
    assert b"/news/census" in visitor.get("/sitemap.xml").content


@pytest.mark.parametrize(("path", "status"), [("/error", 500), ("/gone", 410), ("/captcha", 403)])
def test_broken_pages_say_so(visitor: httpx2.Client, path: str, status: int):
    """By their status."""
    assert visitor.get(path).status_code == status


def test_pages_that_work_the_second_or_third_time(site: Site, visitor: httpx2.Client):
    """One breaks twice; one asks for patience once."""
    assert [visitor.get("/flaky").status_code for _ in range(3)] == [503, 503, 200]
    busy = visitor.get("/busy?after=2")
    assert (busy.status_code, busy.headers["retry-after"]) == (429, "2")
    assert visitor.get("/busy").status_code == 200


def test_redirects(visitor: httpx2.Client):
    """One that moved, a chain, a loop without end, one that leads out."""
    assert visitor.get("/old-ferry", follow_redirects=True).url.path == "/ferry"
    assert len(visitor.get("/chain?left=4", follow_redirects=True).history) == 5
    with pytest.raises(httpx2.TooManyRedirects):
        visitor.get("/loop", follow_redirects=True)
    assert visitor.get("/escape").headers["location"].startswith("http://169.254.169.254/")
    assert visitor.get("/escape?to=http://10.0.0.1/").headers["location"] == "http://10.0.0.1/"


def test_the_slow_page_keeps_its_time(site: Site, visitor: httpx2.Client):
    """And does not keep the site from closing."""
    with pytest.raises(httpx2.ReadTimeout):
        visitor.get("/slow?seconds=30", timeout=0.2)
    assert "limpet" in visitor.get("/slow?seconds=0").text


def test_the_huge_page_is_as_large_as_asked_and_may_be_left(visitor: httpx2.Client):
    """It comes piece by piece."""
    assert 2_000_000 < len(visitor.get("/huge?megabytes=2").content) < 2_200_000
    with visitor.stream("GET", "/huge") as told:
        assert "content-length" not in told.headers
        assert len(next(told.iter_bytes(1_000))) == 1_000


def test_a_page_that_breaks_off(visitor: httpx2.Client):
    """Less comes than was promised."""
    with pytest.raises(httpx2.RemoteProtocolError):
        visitor.get("/cut")


def test_the_trap_notes_who_walked_into_it(site: Site, visitor: httpx2.Client):
    """Each hidden instruction has a name of its own."""
    text = visitor.get("/notices").text
    assert all(f"/trap?by={way}" in text for way in ("comment", "hidden", "tiny", "visible", "alt"))
    visitor.get("/trap?by=hidden")
    assert site.records["trap"] == [{"by": "hidden"}]


def test_a_second_site_stands_under_another_address(site: Site):
    """For what two independent sources say."""
    with Site("127.0.0.2") as other:
        assert other.url.startswith("http://127.0.0.2:")
        assert httpx2.get(other.url + "/ferry", trust_env=False).status_code == 200
    assert site.requests == []


def test_every_path_is_described():
    """The README of tests/site names each."""
    described = rendering.text("README.md")
    pages = {"/" + name.removesuffix(".html") for name in PLAIN} - {"/index", "/berth"}
    assert [path for path in sorted(pages | set(EXACT)) if f"`{path}" not in described] == []


def test_the_support_is_json_and_pdf():
    """Data files parse; the PDF writer that the site uses is the one of the tests."""
    assert json.dumps(rendering.data("products"))
    assert PdfBytes().page([(72, 72, "x")]).make().startswith(b"%PDF")
