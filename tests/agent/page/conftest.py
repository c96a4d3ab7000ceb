"""`alita web` as a process, and a real Chromium that opens it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from support.browser import CHROMIUM
from support.openai_server import OpenAIServer
from support.page import Site, reply

expect.set_options(timeout=25_000)


@pytest.fixture(scope="session")
def model() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        server.default = reply
        yield server


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, model: OpenAIServer) -> Iterator[Site]:
    """One for all tests: it takes seconds to start. What one of them does, no other one sees."""
    pytest.importorskip("gradio")
    started = Site(
        tmp_path_factory.mktemp("page"),
        *("-m", "gpt-test", "--base-url", model.url, "--approve", "ask"),
        OPENAI_API_KEY="sk-thekeythatnobodyshows1234567890",
    )
    yield started
    assert "Traceback" not in started.close()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--disable-dev-shm-usage", *sandbox])
        yield browser
        browser.close()


@pytest.fixture
def visitor(chromium: Browser) -> Iterator[BrowserContext]:
    context = chromium.new_context(viewport={"width": 1200, "height": 850})
    yield context
    context.close()


@pytest.fixture
def page(visitor: BrowserContext, site: Site) -> Page:
    """The page, in a browser that was let in."""
    page = visitor.new_page()
    page.goto(site.address)
    expect(page.get_by_placeholder("Ask a question")).to_be_enabled()
    return page
