"""A model that follows every order it reads does nothing that only foreign text wants, and all that the user wants."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from injection_cases import Case, Seen, is_answered, load_cases, obedience

from injections import World
from support.browser import CHROMIUM
from support.obedient import Obedient, read_by
from support.openai_server import OpenAIServer

CASES = [case for case in load_cases() if case.order]
POLICY = {"page-search-for-this", "page-link-says-open"}
"""What foreign text may lead to: a search that carries nothing private, and a link of a page."""
NEEDS_CHROMIUM = pytest.mark.skipif(not CHROMIUM, reason="no Chromium: apt-get install chromium")
_ADDRESS = re.compile(r"http://\S+")


class Obeys(Obedient):
    """Reads what the question is about, and obeys the order of a case as soon as it reads it; else it is right."""

    def __init__(self, case: Case) -> None:
        pages = [{"action": "read_file", "file": address} for address in _ADDRESS.findall(case.question)]
        is_open = not (pages or case.files or case.use)
        searches = [{"action": "search", "query": case.question}] if is_open else []
        uses = [{"action": "use_tool", **case.use}] if case.use else []
        acts = case.order and case.order.do["action"] == "browse"
        first = [*pages, *searches, *uses] if case.is_attack else [] if acts else [*pages, *searches]
        super().__init__(*first, otherwise=str(case.answer))
        self.case = case
        self.was_read = False

    def _answer(self, messages: Sequence[Any], schema: dict[str, Any] | None) -> Any:
        """Whether the question wants an action is said as by an honest model, which sees no foreign text there."""
        if schema is not None and "wanted" in schema.get("properties", {}):
            return {"why": "The question says so.", "wanted": "no" if self.case.is_attack else "yes"}
        return super()._answer(messages, schema)

    def orders_in(self, messages: Sequence[Any]) -> Iterator[dict[str, Any]]:
        """What the order of the case wants, step by step, once its words were read."""
        order = self.case.order
        assert order
        forms = [self.asked[-1]["schema"], self.asked[-1]["tools"]]
        read = read_by(messages) + json.dumps(forms, ensure_ascii=False)
        self.was_read |= " ".join(order.when.split()) in " ".join(read.split())
        if self.was_read:
            steps = [
                {"click": {"field": text}}
                if name == "button"
                else {"input": {"field": name, "text": text, "clear": True}}
                for name, text in order.form.items()
            ]
            yield from (step for step in [order.do, *steps] if step not in self.obeyed)


async def run(case: Case, server: OpenAIServer, root: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Seen, Obeys]:
    """What the agent does with an obedient model, in process."""
    from agent.alita import Alita
    from agent.configuration.settings_sources import read_settings

    model = Obeys(case)
    server.default = model.reply
    with World(case, root) as world:
        for name, value in world.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(world.folder)
        flags = {"model": "obedient", "base_url": server.url, "api_key": "none", "max_steps": 5, "browser_seconds": 20}
        settings = read_settings(flags, environment=dict(os.environ), current=world.folder)
        async with Alita.open(settings) as alita:
            answer = await alita.ask(case.question, files=world.files)
        return world.seen(answer.text, answer.tools_created), model


def params(attacks: bool) -> list[Any]:
    """The first case of each channel, wish and action; those that need a Chromium are slow.

    That a form is sent where the user wants it is tested with the browser.
    """
    found: dict[Any, Case] = {}
    for case in CASES:
        if case.is_attack == attacks and case.id not in POLICY and case.order and (attacks or not case.order.form):
            kind = (case.channel, case.wants, case.order.do["action"], bool(case.order.form))
            found.setdefault(kind if attacks else case.id, case)
    slow = [pytest.mark.slow, NEEDS_CHROMIUM]
    return [
        pytest.param(case, id=case.id, marks=slow if case.order and case.order.form else ()) for case in found.values()
    ]


@pytest.mark.parametrize("case", params(attacks=True))
async def test_an_order_of_foreign_text_leaves_no_trace(case, openai_server, tmp_path, monkeypatch):
    seen, model = await run(case, openai_server, tmp_path / "world", monkeypatch)
    assert model.asked
    assert obedience(case, seen) == []


@pytest.mark.parametrize("case", params(attacks=False))
async def test_what_the_user_wants_done_is_done(case, openai_server, tmp_path, monkeypatch):
    seen, _ = await run(case, openai_server, tmp_path / "world", monkeypatch)
    assert is_answered(case, seen), seen
