"""browse in a run: from a decision to the finding, recorded, replayed without a browser, and without one at all."""

from __future__ import annotations

import json
import re

import pytest

from agent.actions.browse import begins_at
from agent.consent.text_origins import Origins
from agent.events import BrowserStepped, FileRead, LeakBlocked, Note
from support.browser import CHROMIUM
from support.fibonacci import decide
from support.openai_server import Step

NEEDS_CHROMIUM = pytest.mark.skipif(not CHROMIUM, reason="no Chromium: apt-get install chromium")


def use(*actions, when=""):
    """What browser-use's model answers."""
    value = {"evaluation_previous_goal": "", "memory": "", "next_goal": "", "action": list(actions)}
    return {"role": "browser", "json": value, **({"when": when} if when else {})}


QUESTION = "When does the pool of the old town close, says the picture? Answer with a comma-separated list."


@NEEDS_CHROMIUM
async def test_a_site_is_operated_and_a_replay_starts_no_browser(desk, site):
    """Under a guard against leaks, for which a task that repeats the question is no page that quotes it.

    A question about a picture gets the text that is on the screen.
    """
    names = "reading room, " * 7
    desk.plays(
        decide("answer", answer=f"{names}15:40 [1]", when="15:40"),
        decide("browse", url=site.url + "/sign", task=QUESTION),
        SEEN,
    )
    answer = await desk.ask(QUESTION, allow_private=True, leak_guard=True)
    assert desk.of(LeakBlocked) == []
    assert (answer.text, answer.status, answer.steps) == (f"{names}15:40", "answered", 1)
    assert [(source.number, source.url) for source in answer.sources] == [(1, f"{site.url}/sign")]
    steps = desk.of(BrowserStepped)
    assert [step.url for step in steps] == [site.url + "/sign"]
    (desk.runs / answer.run_id / "browser" / "1" / "step-1.png").unlink()
    desk.flags["chrome"] = "/bin/false"
    again = await desk.replay(answer.run_id)
    assert (again.text, again.usage) == (answer.text, answer.usage)
    assert desk.of(BrowserStepped) == steps


def names_of(body):
    """The functions that a request offers: those of the coordinator have `browse` among them."""
    return {tool["function"]["name"] for tool in body.get("tools", [])}


SEEN = use({"done": {"text": "There is a sign.", "success": True, "files_to_display": []}})


@NEEDS_CHROMIUM
async def test_a_model_that_sees_operates_by_sight_and_can_read_what_was_downloaded(desk, site, openai_server):
    def reply(body):
        told = body["messages"][-1]["content"]
        if "browse" in names_of(body):
            return decided(json.dumps(body["messages"]))
        text = told if isinstance(told, str) else "".join(part.get("text", "") for part in told)
        link = re.search(r"\[(\d+)\]<a[^\[]*Tides 2026 \(CSV\)", text)
        is_done = len([path for path in site.paths() if path.endswith(".csv")]) > 0
        done = {"done": {"text": "Downloaded.", "success": True, "files_to_display": []}}
        return Step(text=json.dumps(use(done if is_done else {"click": {"index": int(link[1])}})["json"]))

    def decided(told):
        if "read_file tides-2026.csv" in told:
            return Step(text="read")
        if re.search(r"Downloaded: /\S+/browser/1/tides-2026\.csv", told):
            return Step(tools=[("read", {"source": "tides-2026.csv"})])
        where = {"url": site.url + "/tides", "task": "Download the tides of 2026 as CSV."}
        return Step(tools=[("browse", where)])

    openai_server.default = reply
    flags = {"model": "tiny-1", "vision": "tiny-1", "base_url": openai_server.url, "api_key": "k"}
    answer = await desk.ask("How high is the highest tide?", allow_private=True, **flags)
    assert (answer.text, answer.steps) == ("read", 2)
    operated = openai_server.requests[1]
    system, page = operated["messages"]
    assert len(system["content"]) < 2_000
    assert "screenshot" in system["content"]
    assert page["content"][-1]["type"] == "image_url"
    assert "todo" not in json.dumps(operated["messages"])
    shown = [body["messages"][-1]["content"] for body in openai_server.requests if "browse" in names_of(body)]
    assert any(isinstance(one, list) and one[1]["text"] == f"the screen at {site.url}/tides:" for one in shown)
    assert "base64" not in (desk.runs / answer.run_id / "journal.jsonl").read_text()
    assert [event.name for event in desk.of(FileRead)] == ["tides-2026.csv", "tides-2026.csv"]


async def test_a_known_leak_is_not_opened(desk):
    url = "https://huggingface.co/datasets/someone/gaia-mirror"
    desk.plays(decide("answer", answer="unknown", when="is not opened"), decide("browse", url=url, task="Look it up."))
    answer = await desk.ask("Who won?", chrome="/bin/false", leak_guard=True)
    assert answer.text == "unknown"
    assert {blocked.address for blocked in desk.of(LeakBlocked)} == {url}


async def test_a_page_of_another_host_is_neither_operated_nor_read_instead(desk, site):
    browse = decide("browse", url=site.url + "/harbour", task="How many tonnes of squid?")
    desk.plays(decide("answer", answer="unknown", when="is not on one of the hosts"), browse)
    answer = await desk.ask("How many tonnes?", allow_private=True, browser_hosts="shop.example")
    assert answer.text == "unknown"
    assert site.requests == []


async def test_without_an_address_the_model_is_told_to_search(desk):
    desk.plays(decide("answer", answer="nobody", when="search for it first"), decide("browse", url="", task="Look."))
    answer = await desk.ask("Who won?")
    assert answer.text == "nobody"
    assert any("needs the address" in event.text for event in desk.of(Note))


@pytest.mark.parametrize(
    ("url", "question", "begins"),
    [
        ("", "Log in to shop.example/login, please.", "https://shop.example/login"),
        ("", "See http://127.0.0.1:80/a?b=c.", "http://127.0.0.1:80/a?b=c"),
        ("127.0.0.1:8000/x", "Look.", "http://127.0.0.1:8000/x"),
        ("https://a.example/", "See https://b.example/", "https://a.example/"),
        ("", 'Mail ann@shop.example "now".', ""),
        ("", "Who won?", ""),
    ],
)
def test_the_address_is_the_decisions_or_the_first_that_is_named(url, question, begins):
    assert begins_at(url, "", {"question": question}, Origins(question)) == begins
