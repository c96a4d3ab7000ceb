"""A conversation with a capable model: one growing list of messages, with its files and its Python process."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent.alita import Alita
from agent.answer import Answer
from agent.configuration.settings_sources import read_settings
from agent.conversation import Conversation, Turn
from agent.events import Note, Restated, StepStarted
from agent.store.retention import export, prune
from support.openai_server import OpenAIServer, Step

SALES = "region,product,amount\nnorth,tea,3\nsouth,coffee,4\nsouth,tea,5\n"


class Chat:
    """A conversation in one process, with a model that plays a script."""

    def __init__(self, desk: Any, server: OpenAIServer) -> None:
        self.desk, self.server = desk, server
        self.conversation = Conversation()
        self.events: list[Any] = []
        self.alita: Alita

    @contextlib.asynccontextmanager
    async def opened(self) -> AsyncIterator[Chat]:
        given = {**self.desk.flags, "tools_dir": str(self.desk.tools_dir)}
        given |= {"model": "tiny-1", "base_url": self.server.url, "api_key": "k"}
        settings = read_settings(given, environment={"ALITA_HOME": str(self.desk.home)}, current=self.desk.folder)
        async with Alita.open(settings) as self.alita:
            yield self

    async def ask(self, question: str, *steps: Step, files: tuple[Path, ...] = ()) -> Answer:
        for step in steps:
            self.server.steps.append(step)
        self.events.clear()
        answer = await self.alita.ask(
            question, files=files, conversation=self.conversation, on_event=self.events.append
        )
        self.conversation.add(Turn.of(question, answer))
        return answer

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages of the last request."""
        return self.server.requests[-1]["messages"]

    @property
    def question(self) -> str:
        """The last question, as the model saw it."""
        texts = [message["content"] for message in self.messages if message["role"] == "user"]
        return texts[-1] if isinstance(texts[-1], str) else texts[-1][0]["text"]

    @property
    def notes(self) -> str:
        return "\n".join(event.text for event in self.events if isinstance(event, Note))


@pytest.fixture
def chat(desk: Any, openai_server: OpenAIServer) -> Chat:
    return Chat(desk, openai_server)


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    path = tmp_path / "sales.csv"
    path.write_text(SALES)
    return path


def program(code: str, **more: Any) -> Step:
    return Step(tools=[("run_python", {"code": code, **more})])


async def test_earlier_turns_are_sent_again_as_they_were_and_no_call_rewrites_the_message(chat, sales):
    async with chat.opened():
        await chat.ask("Which region sold coffee?", Step(text="South."), files=(sales,))
        first = chat.messages
        answer = await chat.ask("and tea?", Step(text="North and south."))
    assert chat.messages[: len(first)] == first
    assert chat.messages[len(first) :] == [
        {"role": "assistant", "content": "South."},
        {"role": "user", "content": "and tea?"},
    ]
    assert (answer.usage.calls, answer.restated) == (1, None)
    assert not [event for event in chat.events if isinstance(event, Restated)]


async def test_a_file_of_an_earlier_turn_can_be_read_and_opened_by_programs(chat, sales):
    code = f"import csv\nprint(sum(int(row['amount']) for row in csv.DictReader(open({str(sales)!r}))))"
    async with chat.opened():
        await chat.ask("Which region sold coffee?", Step(text="South."), files=(sales,))
        again = await chat.ask("Read it.", Step(tools=[("read", {"source": "sales.csv"})]), Step(text="done"))
        total = await chat.ask("The total?", program(code, final_answer="{}"))
    assert (again.text, total.text) == ("done", "12")
    shown = [message for message in chat.messages if message["role"] == "user"]
    assert sum("south,coffee,4" in str(message["content"]) for message in shown) == 1, "the file is shown once"


async def test_a_new_process_is_told_which_variables_are_gone(chat):
    async with chat.opened():
        await chat.ask("Keep it.", program("kept = 41\ndef f(): pass"), Step(text="kept"))
    async with chat.opened():
        await chat.ask("One more?", Step(text="no"))
    assert "Python was restarted, so these variables are gone: kept, f." in chat.question
    assert "Python was restarted" in chat.notes


DOUBLE = '''def double_it(number: int) -> int:
    """Double a number.

    Args:
        number: Any integer.

    Returns:
        Twice the number.

    >>> double_it(4)
    8
    """
    return 2 * number
'''


async def test_a_tool_is_made_in_a_second_turn_before_any_program_ran(chat):
    """The run's folder for programs is there although nothing was kept in it yet."""
    make = Step(tools=[("create_tool", {"code": DOUBLE, "arguments": {"number": 21}, "final_answer": "{}"})])
    async with chat.opened():
        await chat.ask("What is the capital of Peru?", Step(text="Lima."))
        answer = await chat.ask(
            "Make a tool that doubles; double 21.", make, Step(text='{"tests": []}'), Step(text="no")
        )
    assert answer.text == "42"


@pytest.mark.parametrize(
    ("change", "remark"),
    [
        (
            lambda path: path.write_text(SALES + "east,salt,9\n"),
            "sales.csv has changed since it was attached: SHA-256 ",
        ),
        (lambda path: path.unlink(), " no longer exists and cannot be read."),
    ],
    ids=["changed", "gone"],
)
async def test_a_file_that_changed_or_went_is_told(chat, sales, change, remark):
    async with chat.opened():
        await chat.ask("Which region sold coffee?", Step(text="South."), files=(sales,))
        change(sales)
        await chat.ask("And salt?", Step(text="?"))
    assert remark in chat.question
    assert remark in chat.notes
    assert ("east" in chat.question) == sales.exists()


async def test_a_replay_and_a_resumed_run_know_the_conversation(chat, sales):
    async with chat.opened():
        await chat.ask("Which region sold coffee?", Step(text="South."), files=(sales,))
        answer = await chat.ask("and tea?", Step(text="North and south."))
        again = await chat.alita.replay(answer.run_id)
        assert (again.text, again.usage) == (answer.text, answer.usage)
        chat.server.default = lambda _: Step(status=400, body={"error": {"message": "the script is used up"}})
        with pytest.raises(Exception, match="used up"):
            await chat.ask("and salt?")
        chat.server.default = None
        chat.server.steps.append(Step(text="None."))
        resumed = await chat.alita.resume()
    assert resumed.text == "None."
    assert [m["content"] for m in chat.messages if m["role"] == "assistant"] == ["South.", "North and south."]


async def test_an_answer_from_the_cache_belongs_to_the_turns_before_it(chat):
    async with chat.opened():
        await chat.ask("The capital of Peru?", Step(text="Lima"))
        await chat.ask("and its river?", Step(text="Rímac"))
        chat.conversation.drop_last()
        again = await chat.ask("and its river?")
        assert (again.text, again.usage.calls) == ("Rímac", 0)
        chat.conversation = Conversation()
        await chat.ask("The capital of Chile?", Step(text="Santiago"))
        other = await chat.ask("and its river?", Step(text="Mapocho"))
    assert other.text == "Mapocho"


async def test_a_turn_that_was_stopped_shows_its_calls_and_which_ran(chat):
    both = [("run_python", {"code": "import time\nbegun = 2\ntime.sleep(30)"}), ("run_python", {"code": "later = 3"})]
    async with chat.opened():
        chat.server.steps += [program("kept = 1\nprint(kept)"), Step(tools=both)]
        task = asyncio.create_task(chat.alita.ask("Work.", conversation=chat.conversation, on_event=chat.events.append))
        async with asyncio.timeout(30):
            while sum(isinstance(event, StepStarted) for event in chat.events) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            await asyncio.sleep(0.5)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        chat.conversation.add(Turn.of("Work.", chat.alita.newest))
        await chat.ask("Go on.", program("print(kept, begun)"), Step(text="fine"))
    told = [m["content"] for m in chat.messages if m["role"] in ("tool", "assistant") and m["content"]]
    assert told[0] == "1"
    assert "stopped this while it ran" in told[1]
    assert "Not done" in told[2]
    assert told[3] == "[The user stopped this.]"
    assert "1 2" in told[4]


async def test_a_conversation_that_is_too_long_is_shortened_then_summarised(chat):
    """The model takes so many characters, and says so."""
    room = 20_000

    def reply(body: dict[str, Any]) -> Step:
        messages = body["messages"]
        if len(json.dumps(messages)) > room:
            error = {"message": "maximum context length", "code": "context_length_exceeded"}
            return Step(status=400, body={"error": error})
        last = str(messages[-1]["content"])
        if messages[-1]["role"] == "user" and last.startswith("Print"):
            return program("print('x' * 3000)")
        return Step(text="SUMMARY" if "Sum it up" in last else "fine")

    chat.server.default = reply
    async with chat.opened():
        for number in range(4):
            await chat.ask(f"Print {number}.")
        assert max(len(m["content"]) for m in chat.messages if m["role"] == "tool") > 3_000
        room = 8_000
        await chat.ask("And now?")
        assert "summarised" not in chat.notes
        assert max(len(m["content"]) for m in chat.messages[:-1] if m["role"] == "tool") < 600
        assert "Print 0." in json.dumps(chat.messages)
        room = 4_500
        await chat.ask("And then?")
        assert "earlier turns summarised to make room" in chat.notes
        await chat.ask("And at last?")
    assert "SUMMARY" in chat.messages[1]["content"]
    assert "earlier_programs.py" in chat.messages[1]["content"]
    assert "Print 0." not in json.dumps(chat.messages)
    assert chat.messages[-1]["content"] == "And at last?"


async def test_a_chat_holds_the_conversation_for_programs(chat, sales):
    async with chat.opened():
        talk = chat.alita.chat()
        chat.server.steps += [Step(text="South."), Step(text="North and south.")]
        await talk.ask("Which region sold coffee?", files=[sales])
        events = [event async for event in talk.stream("and tea?")]
    assert events[-1].answer.text == "North and south."
    assert [turn.answer for turn in talk.conversation.turns] == ["South.", "North and south."]
    assert [m["content"] for m in chat.messages if m["role"] == "assistant"] == ["South."]


async def test_an_undone_turn_leaves_no_trace_in_what_the_model_sees(chat, sales, tmp_path):
    later = tmp_path / "later.txt"
    later.write_text("a later file")
    async with chat.opened():
        await chat.ask("Keep it.", program("kept = 41"), Step(text="kept"), files=(sales,))
        await chat.ask("Wrong turn.", program("kept = 0"), Step(text="oops"), files=(later,))
        copies = list(chat.desk.home.glob("**/given/*/later.txt"))
        undone = await chat.alita.undo(chat.conversation)
        await chat.ask("And now?", Step(text="fine"))
    sent = json.dumps(chat.messages)
    assert undone is not None
    assert (undone.question, [turn.question for turn in chat.conversation.turns]) == (
        "Wrong turn.",
        ["Keep it.", "And now?"],
    )
    assert not [text for text in ("Wrong turn", "oops", "later", "kept = 0") if text in sent]
    assert "kept = 41" in sent
    assert "these variables are gone: kept" in chat.question, "the program that was undone had changed it"
    assert [path.exists() for path in copies] == [False]


async def test_a_message_that_is_sent_meanwhile_reaches_the_next_decision_and_a_replay(chat):
    def reply(body: dict[str, Any]) -> Step:
        if len(chat.server.requests) == 1:
            assert chat.alita.say("in French")
            return program("print(1)")
        return Step(text="un")

    chat.server.default = reply
    async with chat.opened():
        answer = await chat.ask("Say it.")
        assert chat.messages[-1] == {"role": "user", "content": "Meanwhile, the user says:\nin French"}
        assert chat.alita.running.unheard == []
        assert (await chat.alita.replay(answer.run_id)).text == "un"
        assert not chat.alita.say("too late")


async def test_a_later_turn_keeps_the_run_that_holds_its_files(chat, sales, tmp_path):
    async with chat.opened():
        first = await chat.ask("Which region sold coffee?", Step(text="South."), files=(sales,))
        second = await chat.ask("and tea?", Step(text="North."))
    found = prune(chat.alita.settings, keep=1, dry_run=True)
    assert found.kept[first.run_id] == f"the run {second.run_id} keeps its files there"
    assert export(chat.desk.runs, second.run_id, tmp_path / "run.tar.gz") == [second.run_id, first.run_id]
