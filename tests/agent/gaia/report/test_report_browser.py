"""The page of a report in a real browser: it is filtered, opened with keys, and nothing in it acts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.gaia.attempt import Task
from agent.gaia.report.html import as_html
from agent.gaia.report.opened import report_of
from agent.store.redact import Redactor
from support.attempts import attempt
from support.browser import CHROMIUM, Page, browser_page
from support.played_run import CODE

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium")
EVIL = "</script><script>document.title='owned'</script><img src='http://127.0.0.1:9/x' onerror='document.title=1'>"
SHOWN = "document.querySelectorAll('#list > details').length"
COUNT = "document.getElementById('count').textContent"


@pytest.fixture
def page(tmp_path: Path, run_id: str) -> Iterator[Page]:
    selected = [Task(f"q{n}", f"What is {n}?", 1 + n % 3, "a.pdf" if n % 2 else "") for n in range(1, 251)]
    selected[0] = Task("q1", EVIL, 1, "a.pdf")
    attempts = [attempt(f"q{n}", n % 5 == 0, level=1 + n % 3, seconds=float(n)) for n in range(1, 250)]
    attempts[0] = attempt("q1", False, answer=EVIL, run_id=run_id)
    attempts[1] = attempt("q2", None, status="error", error="the endpoint broke", cost=None)
    path = tmp_path / "report.html"
    path.write_text(as_html(report_of(attempts, selected, name="l.jsonl"), tmp_path / "runs", Redactor()))
    with browser_page(tmp_path) as opened:
        opened.open(path)
        opened.wait(f"{SHOWN} > 0")
        yield opened


def choose(page: Page, **chosen: Any) -> None:
    for name, value in chosen.items():
        page.js(f"document.forms.filters.elements.{name}.value = {value!r}")
    page.js("document.getElementById('count').textContent = ''")
    page.js("document.forms.filters.dispatchEvent(new Event('input', {bubbles: true}))")
    page.wait(f"{COUNT} !== ''")


def test_the_page_works_in_a_browser(page):
    """One browser for all of it: starting one takes a second."""
    assert page.js(COUNT) == "250 of 250 shown, 49 of them right"
    assert page.js(SHOWN) == 100
    page.js("document.getElementById('more').click()")
    page.js("document.getElementById('more').click()")
    assert page.js(SHOWN) == 250
    assert page.js("document.getElementById('more').hidden")

    choose(page, level="3", type="pdf", outcome="right")
    expected = sum(n % 3 == 2 and n % 2 == 1 and n % 5 == 0 for n in range(1, 250))
    assert page.js(COUNT) == f"{expected} of 250 shown, {expected} of them right"
    choose(page, level="", type="", outcome="", status="error")
    assert page.js(SHOWN) == 1
    choose(page, status="missing")
    assert page.js(SHOWN) == 1
    choose(page, status="", text="endpoint BROKE")
    assert page.js(COUNT) == "1 of 250 shown, 0 of them right"
    page.js("document.querySelector('#list summary').click()")
    page.wait("document.querySelector('#list .body') !== null")
    assert "cost unknown" in page.js("document.querySelector('#list .body').textContent")
    choose(page, text="", sort="seconds")
    assert page.js("document.querySelector('#list .title').textContent") == "What is 249?"

    page.js("document.activeElement.blur()")
    page.press("/")
    assert page.js("document.activeElement.name") == "text"
    page.js("document.getElementById('count').textContent = ''")
    page.js("document.forms.filters.reset()")
    page.wait(f"{COUNT}.startsWith('250 of')")

    page.js("document.querySelector('#list > details > summary').focus()")
    page.press("Enter", "\r")
    page.wait("document.querySelectorAll('#list .event').length === 6")
    body = page.js("document.querySelector('#list .body').textContent")
    assert f"Tool created: weekly{CODE}" in body
    widths = page.js("[...document.querySelectorAll('.track i')].map((bar) => bar.getBoundingClientRect().width)")
    assert all(width >= 2 for width in widths)

    before = page.js("getComputedStyle(document.body).backgroundColor")
    page.js("document.getElementById('theme').click()")
    assert page.js("getComputedStyle(document.body).backgroundColor") != before
    for width in (1400, 400):
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        assert page.js("document.documentElement.scrollWidth") <= width

    assert page.js("document.title") == "l.jsonl"
    assert page.js("document.querySelectorAll('img, #list script').length") == 0
    assert page.complaints == []
    assert [url for url in page.requests if not url.startswith("file:")] == []
    page.js("new Image().src = 'http://127.0.0.1:9/leak'")
    page.wait("true")
    assert any("Content Security Policy" in text for text in page.complaints)
