"""A trace tells what a run did, from its journal alone, and cannot be used to steer who reads it."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from agent.store.journal import Record
from agent.store.runs import find_run, ids_in, journal_path
from agent.traces.render import render, render_page
from agent.traces.trace import Trace, call_of, read_trace
from support.fibonacci import ANSWER, QUESTION, STORY, decide

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """Parses a page: checks that tags are balanced, and collects attributes and text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(html)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the run that all these tests share."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
async def run_id(desk: Any, kept: Path) -> str:
    if not ids_in(kept):
        answered, create, *others = STORY
        await desk.plays(answered, {**create, "say": "create_tool it is"}, *others).ask(QUESTION)
        shutil.copytree(desk.runs, kept, dirs_exist_ok=True)
    shutil.copytree(kept, desk.runs, dirs_exist_ok=True)
    return find_run(kept)


@pytest.fixture
def trace(desk: Any, run_id: str) -> Trace:
    return read_trace(desk.runs, run_id)


def test_a_run_is_a_tree_of_steps_and_their_calls(trace):
    assert [(step.number, step.action) for step in trace.steps] == [(0, "plan"), (1, "create_tool"), (2, "answer")]
    assert trace.steps[1].why == "create_tool it is"
    kinds = [[call.kind for call in step.calls] for step in trace.steps]
    assert set(kinds[0]) == {"library"}
    assert {"model", "sandbox", "library", "approval"} == set(kinds[1])
    assert kinds[2] == ["model"]
    assert [call.number for call in trace.calls] == sorted(call.number for call in trace.calls)


def test_a_model_call_tells_its_role_its_prompt_and_its_reply(trace):
    call = trace.steps[2].calls[0]
    assert call.title.startswith("coordinator scripted:")
    assert call.given[0].label == "system"
    assert QUESTION in next(p.text for p in reversed(call.given) if p.label == "user")
    assert ANSWER in call.came[0].text
    assert call.usage is not None
    assert call.usage.calls == 1
    assert call.at is not None


def test_the_page_stands_alone_and_needs_no_script(trace):
    html = render_page(trace)
    page = Page(html)
    tags = {tag for tag, _ in page.tags}
    assert not tags & {"script", "link", "img", "iframe", "object", "form", "base"}
    assert "details" in tags
    assert not [a for _, attributes in page.tags for a in attributes if a.startswith("on")]
    assert all(a["href"].startswith("#") for tag, a in page.tags if tag == "a")
    assert not re.search(r"url\(|@import|https?://", html.split("</style>")[0])
    assert "color-scheme: light dark" in html
    for told in (QUESTION, ANSWER, "def nth_fibonacci", "create_tool it is", "coordinator"):
        assert told in page.text


def test_a_page_lets_the_browser_fetch_nothing():
    html = files("agent.traces").joinpath("page.html").read_text(encoding="utf-8")
    policies = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', html)
    assert [policy.split(";")[0] for policy in policies] == ["default-src 'none'"]
    assert "img-src" not in policies[0]


async def test_nothing_in_a_run_becomes_markup_or_steers_the_terminal(desk):
    evil = "</pre></details><script>alert(1)</script><img src=x onerror='a'>\x1b]0;owned\x07\x1b[2J\u202e\u200b"
    question = f"Say {evil}\n└─ 99 model  spoofed"
    lines = [
        {**decide("run_code", code=f"print({evil!r})"), "say": evil[:100]},
        decide("answer", answer=evil, when='<data source="run_python">'),
    ]
    await desk.plays(*lines).ask(question)
    trace = read_trace(desk.runs)
    page = Page(render_page(trace))
    assert not {tag for tag, _ in page.tags} & {"script", "img"}
    assert "<script>alert(1)</script>" in page.text, "it is shown, as text"
    for text in (render_page(trace), render(trace, width=100), render(trace, width=100, full=True)):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202e\u200b]", text)
    outlined = render(trace, width=100, full=True).splitlines()
    assert not [line for line in outlined if line.startswith("└─ 99")], "a text cannot pass for a call"


@pytest.mark.parametrize("cut", [1, 40], ids=["the line feed", "half a line"])
def test_a_journal_that_ends_within_a_line_is_told(desk, run_id, trace, cut):
    path = journal_path(desk.runs, run_id)
    calls = path.read_bytes().rpartition(b'{"step":2,"mark"')[0]
    path.write_bytes(calls[:-cut])
    torn = read_trace(desk.runs, run_id)
    assert torn.flaws == ("the last line of the journal is incomplete: the run was stopped during a write",)
    assert torn.calls == trace.calls[:-1]
    assert "is incomplete" in render(torn, width=100)
    assert "is incomplete" in Page(render_page(torn)).text


def test_a_journal_with_a_damaged_line_is_shown_up_to_it(desk, run_id, trace):
    path = journal_path(desk.runs, run_id)
    lines = path.read_bytes().split(b"\n")
    middle = len(lines) // 2
    lines[middle] = b'{"half":'
    path.write_bytes(b"\n".join(lines))
    torn = read_trace(desk.runs, run_id)
    assert f"line {middle + 1} of the journal is corrupt" in torn.flaws[0]
    assert 0 < len(torn.calls) < len(trace.calls)
    assert torn.calls == trace.calls[: len(torn.calls)]


def test_a_run_without_a_journal_is_shown_as_far_as_it_goes(desk, run_id):
    journal_path(desk.runs, run_id).unlink()
    torn = read_trace(desk.runs, run_id)
    assert (torn.flaws, torn.steps) == (("the run has no journal",), ())
    assert QUESTION in render(torn, width=100)
    assert "contains no calls" in Page(render_page(torn)).text


def record(kind: str, request: dict[str, Any], output: Any, error: dict[str, Any] | None = None) -> Record:
    return Record(1, 1, kind, "k", 0, request, 0.5, output, error)


@pytest.mark.parametrize("kind", ["web", "model", "sandbox", "library", "external", "approval", "conversation"])
def test_a_call_of_a_kind_or_shape_that_is_not_known_is_shown_as_it_stands(kind):
    call = call_of(record(kind, {"strange": "request"}, {"strange": "reply"}))
    assert "request" in call.given[0].text
    assert "reply" in call.came[0].text
    failed = call_of(record(kind, {"strange": "request"}, None, {"type": "X", "message": "broke", "remedy": "mend"}))
    assert (failed.ok, failed.came[0].text) == (False, "broke\nmend")
