"""The brief before a question and the new plans on its way, in runs with a capable model."""

from __future__ import annotations

import json
from contextlib import closing
from typing import Any

import pytest

from agent.configuration.settings import Settings
from agent.configuration.settings_sources import read_settings
from agent.learning.gap_records import GapRecord, GapRecords
from agent.learning.planner import kind_of
from support.openai_server import OpenAIServer, Step

BRIEF = {
    "question_class": "a count over a period",
    "functions": ["run_python"],
    "approach": "Count both ends.",
    "avoid": ["leaving out the last day"],
    "answer_format": "a whole number",
}
PLAN = {"known": ["it is a month"], "to_find": ["the number"], "plan": ["compute it"]}
QUESTION = "How many days are from 3 May 2021 to 9 June 2021, both included?"
RECORD = GapRecord(
    "calculation", "days of a period are counted", "the last day is left out", "say whether both ends count"
)


class Talk:
    """A model that returns a plan if the request has a schema, else the next scripted turn."""

    def __init__(self, desk: Any, server: OpenAIServer) -> None:
        self.desk, self.server = desk, server
        desk.flags |= {"model": "tiny-1", "base_url": server.url, "api_key": "k"}

    def plays(self, *turns: Step) -> None:
        def reply(body: dict[str, Any]) -> Step:
            if not body.get("tools"):
                return Step(text=json.dumps(PLAN if "take stock" in body["messages"][0]["content"] else BRIEF))
            return turns[min(sum(one["role"] == "assistant" for one in body["messages"]), len(turns) - 1)]

        self.server.default = reply

    @property
    def planned(self) -> list[dict[str, Any]]:
        return [body for body in self.server.requests if not body.get("tools")]

    @property
    def decisions(self) -> list[dict[str, Any]]:
        return [body for body in self.server.requests if body.get("tools")]


@pytest.fixture
def talk(desk: Any, openai_server: OpenAIServer) -> Talk:
    return Talk(desk, openai_server)


def settings_of(desk: Any) -> Settings:
    return read_settings({}, environment={"ALITA_HOME": str(desk.home)}, current=desk.folder)


def kept(desk: Any, record: GapRecord = RECORD, question: str = "another one") -> GapRecord:
    records = GapRecords(settings_of(desk))
    added = records.add(record, question)
    records.close()
    return added


def program(code: str, **more: Any) -> Step:
    return Step(tools=[("run_python", {"code": code, **more})])


DONE = program("print(38)", final_answer="{}")


async def test_without_records_nothing_is_planned_and_no_call_is_made(talk):
    talk.plays(DONE)
    answer = await talk.desk.ask(QUESTION)
    assert (answer.text, answer.usage.calls) == ("38", 1)


async def test_a_brief_from_records_that_fit_stands_with_the_question(talk):
    kept(talk.desk)
    talk.plays(DONE)
    answer = await talk.desk.ask(QUESTION)
    assert answer.text == "38"
    assert RECORD.pattern in talk.planned[0]["messages"][1]["content"]
    assert "leaving out the last day" in talk.decisions[0]["messages"][1]["content"]


async def test_a_record_is_never_shown_to_the_question_that_it_came_from(talk):
    kept(talk.desk, question=f"  {QUESTION.upper()} ")
    talk.plays(DONE)
    await talk.desk.ask(QUESTION)
    assert talk.planned == []


@pytest.mark.parametrize("gaps", ["off", "reviewed"])
async def test_the_user_says_which_records_the_planner_sees(talk, gaps):
    kept(talk.desk)
    talk.plays(DONE)
    await talk.desk.ask(QUESTION, gaps=gaps)
    assert talk.planned == []


async def test_a_replay_plans_the_same_from_the_journal(talk):
    kept(talk.desk)
    talk.plays(DONE)
    answer = await talk.desk.ask(QUESTION)
    with closing(GapRecords(settings_of(talk.desk))) as records:
        records.delete(records.all()[0].id)
    calls = len(talk.server.requests)
    again = await talk.desk.replay(answer.run_id)
    assert (again.text, len(talk.server.requests)) == ("38", calls)


async def test_every_few_steps_a_new_plan_is_made_without_the_old_one(talk):
    talk.plays(*(program(f"print({n})") for n in range(5)), DONE)
    answer = await talk.desk.ask(QUESTION, replan_steps=2)
    assert answer.text == "38"
    assert len(talk.planned) == 2
    assert "compute it" not in json.dumps(talk.planned[1])  # the first plan
    assert json.dumps(talk.decisions[-1]).count("A new plan") == 2


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("sales.XLSX", "table"),
        ("log.jsonl", "table"),
        ("cells.parquet", "table"),
        ("mail.eml", "document"),
        ("notes.txt", "document"),
        ("drawing.svg", "picture"),
        ("talk.m4a", "sound or film"),
        ("all.tar", "archive"),
        ("sum.py", "program"),
        ("facts.json", "data file"),
        ("unknown.xyz", "data file"),
    ],
)
def test_the_first_file_determines_the_kind_of_a_question(name: str, kind: str) -> None:
    assert kind_of("How many?", [name, "other.pdf"]) == kind
