"""Pages of the site as HTML: a file of tests/site/pages in the common frame, with its placeholders filled."""

from __future__ import annotations

import html
from functools import cache
from pathlib import Path

from support.site.server import Reply

FOLDER = Path(__file__).parents[2] / "site"


@cache
def text(name: str) -> str:
    """Read a file of tests/site."""
    return (FOLDER / name).read_text(encoding="utf-8")


def escaped(value: object) -> str:
    """Escape text for HTML."""
    return html.escape(str(value))


def has_page(name: str) -> bool:
    """Return True if a static page exists."""
    return name.replace("-", "").isalnum() and (FOLDER / "pages" / f"{name}.html").exists()


def page(name: str, *, status: int = 200, **values: str) -> Reply:
    """Render a page from its file. Values are already HTML."""
    head, body = text(f"pages/{name}.html").split("<!-- body -->\n", 1)
    return framed(head, body, status=status, **values)


def message(title: str, words: str, *, status: int = 200) -> Reply:
    """Render a page with a heading and a paragraph."""
    body = f"<h1>{escaped(title)}</h1>\n<p>{words}</p>\n"
    return framed(f"<title>{escaped(title)}</title>", body, status=status)


def framed(head: str, body: str, *, status: int = 200, **values: str) -> Reply:
    """Render a body in the site's frame."""
    for name, value in values.items():
        body = body.replace("{{" + name + "}}", value)
    frame = text("layout.html").replace("{{head}}", head.strip())
    return Reply(frame.replace("{{body}}", body.strip()), status=status)


def redirect(path: str, status: int = 303) -> Reply:
    return Reply(status=status, headers={"Location": path})
