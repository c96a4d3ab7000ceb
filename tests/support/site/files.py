"""What is no HTML page, or is one in another encoding."""

from __future__ import annotations

import base64
import zipfile
from io import BytesIO

from support.pdf_bytes import PdfBytes
from support.site import rendering
from support.site.server import Reply, Request, Site

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


def guide(site: Site, request: Request) -> Reply:
    """A PDF of two pages."""
    first = [
        (72, 720, "Walking guide to Tarn Island"),
        (72, 690, "The cliff path is 11.2 km long and takes about four hours."),
        (72, 670, "Its highest point is Raven Head, 163 m above the sea."),
    ]
    second = [
        (72, 720, "Seal bay"),
        (72, 690, "The path to Seal bay is closed from 1 October to 15 December, when the seals have young."),
    ]
    made = PdfBytes().page(first).page(second).titled("Walking guide to Tarn Island").make()
    return Reply(made, kind="application/pdf")


def tides(site: Site, request: Request) -> Reply:
    """A table to be kept."""
    name = request.path.rpartition("/")[2]
    year = name[6:10]
    rows = [f"{year}-{month:02}-01,{(month * 97) % 12:02}:{(month * 31) % 60:02},{4 + month % 5 * 0.3:.1f}"
            for month in range(1, 13)]  # fmt: skip
    site.record("download", {"file": name})
    body = "\n".join(["date,high water,metres", *rows, ""])
    return Reply(body, kind="text/csv", headers={"Content-Disposition": f'attachment; filename="{name}"'})


def binary(site: Site, request: Request) -> Reply:
    """An archive that says it is a page."""
    made = BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("readme.txt", "The archive of Oxmere holds 9,310 letters.")
    return Reply(made.getvalue())


def notes(site: Site, request: Request) -> Reply:
    """Plain text."""
    return Reply("Notes of the harbour master\n\nThe dredger comes on 3 September.\n", kind="text/plain")


def latin(site: Site, request: Request) -> Reply:
    """A page whose header names its encoding."""
    told = rendering.message("Café Søstrene", "Le café de la côte est fermé le lundi. Prix d’un thé : 3,20 €.")
    assert isinstance(told.body, str)
    body = told.body.replace('<meta charset="utf-8">', "").encode("windows-1252")
    return Reply(body, kind="text/html; charset=windows-1252")


def meta_charset(site: Site, request: Request) -> Reply:
    """A page that names its encoding only inside."""
    told = rendering.message("灯台", "グレイポイントの灯台は一八七四年に建てられました。高さは三十七メートルです。")
    assert isinstance(told.body, str)
    return Reply(told.body.replace("utf-8", "shift_jis").encode("shift_jis"), kind="text/html")


def pixel(site: Site, request: Request) -> Reply:
    """The smallest picture."""
    return Reply(PIXEL, kind="image/png")


def robots(site: Site, request: Request) -> Reply:
    """What robots may not read."""
    words = f"User-agent: *\nDisallow: /private/\nSitemap: {site.url}/sitemap.xml\n"
    return Reply(words, kind="text/plain")


def sitemap(site: Site, request: Request) -> Reply:
    """The pages that are worth reading."""
    paths = ["/", "/ferry", "/harbour", "/lighthouse", "/museum", "/council", "/guide.pdf", "/notices", "/imprint"]
    paths += [f"/news/{a['slug']}" for a in rendering.data("news")]
    listed = "".join(f"<url><loc>{site.url}{path}</loc></url>" for path in paths)
    words = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{listed}</urlset>'
    return Reply(f'<?xml version="1.0" encoding="UTF-8"?>{words}', kind="application/xml")
