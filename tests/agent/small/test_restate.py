"""What the weak model is asked about a message, and what a long conversation is shown as."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.conversation import Conversation, Transcript, Turn
from agent.events import Event, Note, Restated
from agent.follow_up import understand
from agent.models.scripted import Script, ScriptedModel
from agent.store.journal import Journal
from support.decisions import Weak, context_with

TALK = Conversation([Turn("What is 68 °F in °C?", "20", "r", "answered")])


class Bench:
    """A context whose model plays a script, and what it told."""

    def __init__(self, folder: Path, script: Script, kind: type[ScriptedModel]) -> None:
        self.script = script
        self.events: list[Event] = []
        self.journal = Journal.create(folder / "run" / "journal.jsonl")
        self.context = context_with(kind(script), journal=self.journal, emit=self.events.append)

    @property
    def notes(self) -> str:
        return "\n".join(event.text for event in self.events if isinstance(event, Note))

    async def understands(self, message: str, conversation: Conversation = TALK) -> str:
        def earlier() -> tuple[Conversation, Transcript]:
            return conversation, Transcript()

        return (await understand(self.context, message, earlier, lambda *_: None, has_files=False)).question


@pytest.fixture
def bench(tmp_path: Path):
    made: list[Bench] = []

    def make(*answers: dict[str, Any], weak: bool = False) -> Bench:
        made.append(Bench(tmp_path / str(len(made)), Script.of(answers), Weak if weak else ScriptedModel))
        return made[-1]

    yield make
    for each in made:
        each.journal._file.close()


def says(question: str) -> dict[str, Any]:
    return {"json": {"question": question}}


async def test_a_message_that_stands_alone_stays_as_it_is(bench):
    question = "How many letters are in 'rhododendron'?"
    weak = bench(says(question), weak=True)
    assert await weak.understands(question) == question
    assert not [event for event in weak.events if isinstance(event, Restated | Note)]


async def test_a_weak_model_is_asked_about_a_message_that_points_back(bench):
    weak = bench(says("What is 70 °F in °C?"), weak=True)
    assert await weak.understands("and 70?") == "What is 70 °F in °C?"
    assert [type(event) for event in weak.events if isinstance(event, Restated)] == [Restated]


@pytest.mark.parametrize(
    ("message", "reply", "told"),
    [
        ("and 70?", "What is 68 °F in °C?", "lost '70'"),
        ("and in 'plum tree'?", "How many letters are in 'azalea'?", "lost 'plum tree'"),
        ("and 70?", "What is 70 °F in °C, times 194?", "brought in 194"),
    ],
    ids=["lost number", "lost text", "number from an example"],
)
async def test_a_weak_model_that_changes_the_data_is_not_followed(bench, message, reply, told):
    weak = bench(says(reply), weak=True)
    assert await weak.understands(message) == message
    assert told in weak.notes


async def test_a_message_that_cannot_be_restated_is_used_as_written(bench):
    weak = bench({"error": "output", "message": "it went wrong", "repeat": True}, weak=True)
    assert await weak.understands("and 70?") == "and 70?"
    assert "the question is used as written: it went wrong" in weak.notes


def long_talk(count: int, size: int = 400) -> Conversation:
    return Conversation([Turn(f"Question {n}?", f"answer {n} " + "x" * size, "r", "answered") for n in range(count)])


async def test_the_newest_turns_that_fit_are_shown(bench):
    weak = bench({"json": {"question": "Which?"}, "when": "Question 59?"}, weak=True)
    assert await weak.understands("and which?", long_talk(60)) == "Which?"
    shown = weak.context.models.model.requests[0][-1]["content"]
    assert "Question 0?" not in shown
    assert len(shown) < 5_000
