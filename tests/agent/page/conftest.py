"""`alita web` as a process, and a real Chromium that opens it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from mcp_tools.library.library import Library
from mcp_tools.tool import Tool
from support.browser import CHROMIUM
from support.openai_server import OpenAIServer
from support.page import Site, reply

expect.set_options(timeout=25_000)
ATTACK = "<img src=x onerror=\"document.title='taken'\">"
DOUBLE = Tool(
    "double_number",
    "Double a number.",
    {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False},
    {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]},
    'def double_number(n: int) -> int:\n    """Double a number."""\n    return n * 2\n',
)


SHOW = Tool(
    "show_parts",
    f"Show what it was given. {ATTACK}",
    {
        "type": "object",
        "properties": {
            f"part {ATTACK}": {"type": "string", "description": f"A part. {ATTACK}", "default": ATTACK},
            "way": {"enum": ["up", "down", ATTACK], "default": "down"},
            "points": {"type": "array", "items": {"type": "integer"}, "default": [1, 2]},
            "deep": {"type": "boolean"},
            "place": {"type": "object"},
        },
        "required": ["points"],
    },
    {"type": "object", "properties": {"result": {"type": "object"}}, "required": ["result"]},
    f'def show_parts(**given: object) -> dict:\n    """Show what it was given. {ATTACK}"""\n    return given\n',
)


@pytest.fixture(scope="session")
def model() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        server.default = reply
        yield server


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, model: OpenAIServer) -> Iterator[Site]:
    """One for all tests: it takes seconds to start. What one of them does, no other one sees."""
    pytest.importorskip("gradio")
    folder = tmp_path_factory.mktemp("page")
    with closing(Library(folder / "tools", folder / "home" / "data")) as library:
        library.register(DOUBLE)
        library.register(replace(DOUBLE, source=DOUBLE.source.replace("n * 2", "n + n")), replace=True)
        library.register(SHOW)
    started = Site(
        folder,
        *("-m", "gpt-test", "--base-url", model.url, "--approve", "ask"),
        ALITA_TOOLS_DIR=str(folder / "tools"),
        OPENAI_API_KEY="sk-thekeythatnobodyshows1234567890",
    )
    yield started
    assert "Traceback" not in started.close()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Of one file: while it is open, its event loop keeps other tests from having one."""
    if CHROMIUM is None:
        pytest.skip("there is no Chromium")
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--disable-dev-shm-usage", *sandbox])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def visitor(chromium: Browser) -> Iterator[BrowserContext]:
    """One browser, which keeps what it loaded: each of its tabs has a conversation of its own."""
    context = chromium.new_context(viewport={"width": 1200, "height": 850})
    yield context
    context.close()


@pytest.fixture
def page(visitor: BrowserContext, site: Site) -> Iterator[Page]:
    """A new tab of the page, in a browser that was let in."""
    page = visitor.new_page()
    page.goto(site.address)
    expect(page.get_by_placeholder("Ask a question")).to_be_enabled()
    yield page
    page.close()
