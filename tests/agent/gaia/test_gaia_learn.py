"""Learning from wrong attempts: the overseer writes records, and `alita gaia learn` says what they are worth."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent.cli.verbs.runs import table_
from agent.gaia.configuration import Selection
from agent.learning.gap_records import GapRecords
from support.bench import Bench
from support.benchmarks import answers, asked, called
from support.openai_server import OpenAIServer, Step

BRIEF = {
    "question_class": "a name",
    "functions": [],
    "approach": "Say it as it is written.",
    "avoid": ["adding words"],
    "answer_format": "one word",
}
RECORD = {
    "situation": "one word is asked for, such as the name of a card",
    "pattern": "words are added to the answer",
    "advice": "give the bare word",
    "same_as": "",
}


class Learner:
    """A model that is right once its question comes with a plan; as overseer it says what went wrong."""

    def __init__(self, server: OpenAIServer) -> None:
        self.server = server
        self.abstractions = [RECORD]
        server.default = self.reply

    def reply(self, body: dict[str, Any]) -> Step:
        system = body["messages"][0]["content"]
        if system.startswith("You plan how"):
            return Step(text=json.dumps(BRIEF))
        if system.startswith("You read the complete trace"):
            return Step(text="At step 1 the answer was given with words that nobody asked for.")
        if system.startswith("You turn the diagnosis"):
            done = len(self.asked("You turn the diagnosis"))
            return Step(text=json.dumps(self.abstractions[min(done, len(self.abstractions)) - 1]))
        question = json.dumps(body["messages"])
        return answers(asked(body)) if "adding words" in question else Step(text="I do not know")

    def asked(self, beginning: str) -> list[dict[str, Any]]:
        return [body for body in self.server.requests if body["messages"][0]["content"].startswith(beginning)]


@pytest.fixture
def learner(openai_server: OpenAIServer) -> Learner:
    return Learner(openai_server)


@pytest.fixture
def bench(tmp_path, learner, monkeypatch):
    monkeypatch.setenv("ALITA_HOME", str(tmp_path / "home"))
    return Bench(tmp_path, learner.server.url, 3)


def kept(bench: Bench) -> GapRecords:
    return GapRecords(bench.settings())


async def test_a_wrong_attempt_becomes_a_row_and_a_record_that_later_questions_are_planned_with(bench, learner):
    await bench.run(learning="grow", selection=Selection(ids=("t0",)))
    [record], [lesson] = kept(bench).all(), bench.records.lessons
    assert (record.pattern, lesson.record) == (RECORD["pattern"], record.id)
    assert lesson.diagnosis.startswith("At step 1")
    assert (lesson.truth, bench.records.attempts[0].resolution) == ("0", "reasoning_gap")
    [row] = table_(bench.output).form
    assert (row["task_id"], row["lesson"]["record"]) == ("t0", record.id)
    bench.output = bench.output.with_name("second.json")
    outcome = await bench.run(learning="use")
    assert {attempt.task_id: attempt.correct for attempt in outcome.attempts} == {"t0": False, "t1": True, "t2": True}
    known = kept(bench).help_of([record.id])[record.id]
    assert (known.shown, known.right, known.others, known.others_right) == (2, 2, 2, 0)


async def test_a_record_that_names_the_question_is_not_taken(bench, learner):
    learner.abstractions = [{**RECORD, "advice": f"say t0-{'answer'}"}, RECORD]
    learner.abstractions[0]["advice"] = "the answer to number 0 is " + json.dumps(bench.dataset.truths["t0"])
    await bench.run(learning="grow")
    assert "names particulars" in learner.asked("You turn the diagnosis")[1]["messages"][1]["content"]
    assert [record.advice for record in kept(bench).all()] == [RECORD["advice"]]


async def test_what_was_not_learned_is_learned_when_it_goes_on(bench, learner):
    learner.server.default = lambda body: (
        Step(status=401) if body["messages"][0]["content"].startswith("You read") else learner.reply(body)
    )
    outcome = await bench.run(learning="grow")
    assert bench.records.lessons == ()
    assert all("--resume tries again" in why for why in outcome.unlearned)
    learner.server.default = learner.reply
    await bench.run(learning="grow", resume=True)
    assert len(bench.records.lessons) == 3


def test_the_effect_is_told_on_the_part_that_was_not_learned_from(tmp_path, learner):
    bench = Bench(tmp_path, learner.server.url, 6)
    done = called("learn", bench.questions, "-o", "l.json", "--concurrency", 1, folder=tmp_path, url=learner.server.url)
    assert done.code == 0, done.err
    assert "+100.0 points on 3 common questions" in done.out
    assert {path.name for path in tmp_path.glob("l.*")} >= {"l.without.json", "l.with.json"}
    assert not [*tmp_path.glob("l.*sqlite*")]
