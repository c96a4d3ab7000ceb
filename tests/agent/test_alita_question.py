"""A question from decision to answer, and what each bad input gets."""

from __future__ import annotations

import asyncio
import os
import time

import pytest

from agent.configuration.settings_sources import read_settings
from agent.errors import ModelAuthError, ModelUnknownError, ModelUnreachableError, StorageError, UsageError
from agent.events import ModelCalled, StepStarted, ToolCalled, ToolRegistered
from agent.store.answer_cache import SECONDS_KEPT
from agent.store.own_runs import OwnRuns
from agent.store.runs import load_run
from mcp_tools.tool import Status
from support.fibonacci import ANSWER, CODE, CREATION, QUESTION, STORY, decide, reply, write_script
from support.forked import Forked

TIMES_TWO = """def times_two(n: int) -> int:
    \"\"\"Doubles a number.

    Args:
        n: The number.
    \"\"\"
    return n * 2
"""
DOUBLE = "What is the double of 21 by times_two?"
USE = decide("use_tool", tool="times_two", arguments={"n": 21})
FOUND = decide("answer", answer="42", when="42")


def shelve(desk, name="times_two", source=TIMES_TWO):
    """Puts a tool into the library."""
    from mcp_tools.tool import Tool

    integer = {"type": "integer"}
    schema = {"type": "object", "properties": {"n": integer}, "required": ["n"], "additionalProperties": False}
    result = {"type": "object", "properties": {"result": integer}, "required": ["result"]}
    desk.library.register(Tool(name, "Doubles a number.", schema, result, source, status=Status.VERIFIED))


async def test_a_tool_is_written_proven_kept_and_called(desk):
    answer = await desk.plays(*STORY).ask(QUESTION)
    assert (answer.text, answer.status) == (ANSWER, "answered")
    assert (answer.tools_created, answer.tools_used, answer.steps) == (("nth_fibonacci",), ("nth_fibonacci",), 1)
    assert answer.usage.calls == 3
    tool = desk.library.get("nth_fibonacci")
    assert tool.status is Status.VERIFIED
    assert tool.provenance["run"] == answer.run_id
    assert [event.name for event in desk.of(ToolRegistered)] == ["nth_fibonacci"]
    (called,) = desk.of(ToolCalled)
    assert called.seconds > 0
    assert desk.library.stats("nth_fibonacci").successes == 1


async def test_the_second_question_of_a_kind_reuses_the_tool(desk):
    await desk.plays(*STORY).ask(QUESTION)
    use = decide("use_tool", tool="nth_fibonacci", arguments={"n": 60})
    found = decide("answer", answer="1548008755920", when="1548008755920")
    answer = await desk.plays(found, use).ask("Tell me Fibonacci number 60, please.")
    assert (answer.text, answer.tools_created) == ("1548008755920", ())
    assert [event.role for event in desk.of(ModelCalled)] == ["coordinator", "coordinator"]


async def test_the_same_question_with_another_value_needs_no_model(desk):
    await desk.plays(*STORY).ask(QUESTION)
    answer = await desk.plays().ask(QUESTION.replace("57", "60"))
    assert (answer.text, answer.tools_created, answer.tools_used) == ("1548008755920", (), ("nth_fibonacci",))
    assert answer.usage.calls == 0


async def test_a_repeated_question_costs_nothing(desk):
    search, found = decide("search", query="towns"), decide("answer", answer="Paris", when="nothing was found")
    first = await desk.plays(found, search).ask("The capital of France?")
    again = await desk.ask(" The capital of France?\n")
    assert (again.text, again.run_id) == ("Paris", first.run_id)
    assert (first.steps, again.steps, again.usage.calls, again.seconds, again.waited) == (1, 0, 0, 0.0, 0.0)
    assert first.run_id in desk.notes
    assert (await desk.ask("The capital of France?", use_cache=False)).run_id != first.run_id
    assert (await desk.ask("The  capital of France?")).run_id != first.run_id, "blanks may be what is asked about"


async def test_an_answer_of_yesterday_is_asked_for_again(desk):
    first = await desk.plays(decide("answer", answer="3", when="days")).ask("How many days are left?")
    (kept,) = (desk.home / "cache" / "answers").iterdir()
    yesterday = time.time() - SECONDS_KEPT - 1
    os.utime(kept, (yesterday, yesterday))
    assert (await desk.ask("How many days are left?")).run_id != first.run_id


async def test_a_bug_leaves_its_traceback_beside_the_run_and_no_key(desk, monkeypatch):
    """No input is known to raise: the graph is broken by hand."""
    key = "sk-test-0123456789abcdefghij"

    def broken():
        raise RuntimeError(f"no {key}")

    monkeypatch.setattr("agent.graph.build_graph", broken)
    with pytest.raises(RuntimeError):
        await desk.plays().ask("The capital of France?", api_key=key)
    (run,) = desk.runs.iterdir()
    trace = (run / "traceback.txt").read_text()
    assert "build_graph" in trace
    assert "RuntimeError: no " in trace
    assert not [path for path in run.iterdir() if key in path.read_text()]


@pytest.mark.parametrize("question", ["", " \n\t ", "\u00a0"])
async def test_an_empty_question_is_bad_usage(desk, question):
    with pytest.raises(UsageError, match="empty"):
        await desk.plays().ask(question)
    assert not desk.runs.exists()


async def test_a_question_of_a_megabyte_is_refused_before_a_model_is_asked(desk):
    with pytest.raises(UsageError, match=r"1,000,000 characters.*100,000"):
        await desk.plays().ask("x" * 1_000_000)


async def test_the_longest_question_is_asked(desk):
    question = ("word " * 20_000).strip()[:100_000]
    answer = await desk.plays(decide("answer", answer="many")).ask(question)
    assert answer.text == "many"


async def test_an_unknown_model_is_told_with_those_there_are(desk, openai_server):
    openai_server.fail(404, "The model `tiny-9` does not exist", code="model_not_found")
    with pytest.raises(ModelUnknownError, match="tiny-9") as told:
        await desk.ask(QUESTION, model="tiny-9", base_url=openai_server.url)
    assert "tiny-1" in str(told.value)


async def test_an_endpoint_that_is_not_there_is_told_and_the_run_is_kept(desk, openai_server):
    with pytest.raises(ModelUnreachableError, match=r"127\.0\.0\.1:9"):
        await desk.ask(QUESTION, model="tiny-1", base_url="http://127.0.0.1:9/v1")
    openai_server.default = reply
    run_id = desk.events[0].run_id
    with pytest.raises(ModelUnreachableError):
        await desk.resume()
    folder = desk.runs / run_id / "run.json"
    folder.write_text(folder.read_text().replace("by flag", ""))
    settings = read_settings({}, environment={"ALITA_HOME": str(desk.home)}, current=desk.folder)
    OwnRuns(settings).note(load_run(desk.runs, run_id))
    answer = await desk.resume(base_url=openai_server.url)
    assert (answer.text, answer.run_id) == (ANSWER, run_id)


async def test_a_wrong_key_is_told_and_stands_nowhere(desk, openai_server):
    key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
    openai_server.fail(401, f"Incorrect API key provided: {key}", code="invalid_api_key")
    with pytest.raises(ModelAuthError) as told:
        await desk.ask(f"{QUESTION} My key is {key}", model="tiny-1", base_url=openai_server.url, api_key=key)
    assert openai_server.headers[0]["authorization"] == f"Bearer {key}"
    assert key not in str(told.value)
    assert len(openai_server.requests) == 1
    written = [path.read_bytes() for path in desk.home.rglob("*") if path.is_file()]
    assert written
    assert not any(key.encode() in content for content in written)


BAD = {
    "nothing": {"text": ""},
    "truncated JSON": {"tool": "times_two", "arguments": '{"n": 2'},
    "unknown function": {"tool": "ask_the_user", "arguments": {}},
    "arguments that do not fit": {"tool": "times_two", "arguments": {"n": "many"}},
    "no object": {"tool": "times_two", "arguments": "null"},
    "a reply that was cut off": {"text": "It is the product of", "finish": "length"},
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
async def test_a_reply_of_which_nothing_can_be_carried_out_is_asked_again(desk, bad):
    shelve(desk)
    answer = await desk.plays({"role": "coordinator", **bad}, FOUND, USE).ask(DOUBLE)
    assert (answer.text, answer.status, answer.steps) == ("42", "answered", 1)


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
async def test_a_model_that_gives_nothing_usable_ends_in_a_best_guess(desk, bad):
    """Before that, the question is searched for."""
    shelve(desk)
    lines = [{"text": "perhaps 42", "when": "No more calls are possible"}, {**bad, "repeat": True}]
    answer = await desk.plays(*lines).ask(DOUBLE)
    assert (answer.text, answer.status, answer.steps) == ("perhaps 42", "answered", 1)
    assert [event.action for event in desk.of(StepStarted)] == ["search"]
    assert len(desk.of(ModelCalled)) == 3 + 3 + 1
    assert "gave no valid action in 3 attempts" in desk.notes


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
async def test_so_it_is_with_a_real_endpoint(desk, openai_server, bad):
    """The reply is asked again; the calls are bounded."""
    from support.openai_server import Step

    shelve(desk)
    calls = [(bad["tool"], bad["arguments"])] if "tool" in bad else []
    openai_server.default = lambda body: Step(text=bad.get("text"), tools=calls, finish=bad.get("finish"))
    answer = await desk.ask(DOUBLE, model="tiny-1", base_url=openai_server.url)
    assert answer.status in {"answered", "no_answer"}
    assert len(openai_server.requests) <= 20
    assert answer.usage.calls == len(openai_server.requests)


async def test_an_endless_loop_is_refused_and_ends_in_the_best_answer(desk):
    shelve(desk)
    answer = await desk.plays({**USE, "repeat": True}).ask(DOUBLE, without=("search",))
    assert (answer.text, answer.status, answer.steps) == ("42", "answered", 1)
    assert len(desk.of(ModelCalled)) == 1 + 3
    assert "already done" in desk.notes
    assert "<data" not in desk.notes


async def test_a_search_that_finds_nothing_says_so_and_the_run_goes_on(desk):
    lines = [
        decide("answer", answer="Unknown to me", when="The search failed: nothing was found"),
        decide("search", query="the winner"),
    ]
    answer = await desk.plays(*lines).ask("Who won?")
    assert (answer.text, answer.status, answer.steps) == ("Unknown to me", "answered", 1)
    assert "nothing was found" in desk.notes


async def test_a_program_is_run_and_corrected(desk):
    """The second one goes on with what the first one defined before it failed."""
    lines = [
        decide("run_code", code="from times_two import times_two\nhalf = 20\nprint(1 // 0)"),
        decide("run_code", code="print(times_two(half) + 2)", when="ZeroDivisionError"),
        decide("answer", answer="42"),
    ]
    shelve(desk)
    answer = await desk.plays(*lines).ask(DOUBLE)
    assert answer.text == "42"
    assert [call.ok for call in desk.of(ToolCalled)] == [False, True]
    assert desk.of(ToolCalled)[1].preview == "42"


async def test_a_result_that_is_the_answer_ends_the_run_without_a_further_call(desk):
    answer = await desk.plays(decide("run_code", code="print(6 * 7)", final_answer="{}")).ask(DOUBLE)
    assert (answer.text, answer.status, answer.steps, answer.usage.calls) == ("42", "answered", 1, 1)


async def test_a_result_that_failed_is_not_the_answer(desk):
    lines = [decide("run_code", code="1 / 0", final_answer="{}"), decide("answer", answer="undefined", when="Zero")]
    answer = await desk.plays(*lines).ask("What is one by nothing?")
    assert (answer.text, answer.usage.calls) == ("undefined", 2)


async def test_a_corrupt_object_beside_a_tool_is_told_and_kept(desk):
    shelve(desk)
    (desk.tools_dir / "times_two.json").write_text('{"name": "times_')
    answer = await desk.plays(decide("answer", answer="42")).ask(DOUBLE)
    assert answer.text == "42"
    assert "times_two.json is damaged" in desk.notes
    assert "alita tools" in desk.notes
    assert (desk.tools_dir / "times_two.py").read_text() == TIMES_TWO


async def test_a_new_tool_never_takes_the_place_of_a_damaged_one(desk):
    shelve(desk, "nth_fibonacci", TIMES_TWO.replace("times_two", "nth_fibonacci"))
    (desk.tools_dir / "nth_fibonacci.json").write_text("{")
    before = (desk.tools_dir / "nth_fibonacci.py").read_bytes()
    answer = await desk.plays(decide("answer", answer=ANSWER, when="Kept as nth_fibonacci_2."), *STORY).ask(QUESTION)
    assert (answer.text, answer.tools_created) == (ANSWER, ("nth_fibonacci_2",))
    assert (desk.tools_dir / "nth_fibonacci.py").read_bytes() == before


async def test_a_tool_edited_by_hand_is_not_run_and_told(desk):
    shelve(desk)
    (desk.tools_dir / "times_two.py").write_text(TIMES_TWO.replace("n * 2", "n * 3"))
    answer = await desk.plays(decide("answer", answer="42"), USE).ask(DOUBLE)
    assert answer.text == "42"
    assert desk.of(ToolCalled) == []
    assert "was changed since it was checked" in desk.notes
    assert "n * 3" in (desk.tools_dir / "times_two.py").read_text()


async def test_a_tool_edited_while_it_is_decided_on_is_not_run(desk):
    shelve(desk)

    def edit(event):
        desk.events.append(event)
        if isinstance(event, StepStarted):
            (desk.tools_dir / "times_two.py").write_text(TIMES_TWO.replace("n * 2", "n * 300"))

    lines = [decide("answer", answer="no tool", when="was changed since"), USE]
    answer = await desk.plays(*lines).use(lambda alita: alita.ask(DOUBLE, on_event=edit))
    assert (answer.text, desk.of(ToolCalled)) == ("no tool", [])


async def test_where_no_tool_can_be_kept_the_answer_is_given_all_the_same(desk, tmp_path):
    (tmp_path / "file").write_text("")
    desk.flags["tools_dir"] = str(tmp_path / "file" / "tools")
    scratch = decide("answer", answer=ANSWER, when="Its result here: 365435296162")
    answer = await desk.plays(scratch, *STORY).ask(QUESTION)
    assert (answer.text, answer.status, answer.tools_created) == (ANSWER, "answered", ())
    assert "not kept as a tool" in desk.notes
    assert "cannot be written" in desk.notes


async def test_where_no_run_can_be_kept_nothing_is_asked(desk):
    desk.home.joinpath("data").write_text("")
    with pytest.raises(StorageError, match="runs"):
        await desk.plays(*STORY).ask(QUESTION)


async def test_code_of_which_the_examiner_says_nothing_answers_and_is_not_kept(desk):
    lines = [{"role": "examiner", "text": "Certainly!"}, decide("answer", answer=ANSWER, when="Not kept as a tool")]
    answer = await desk.plays(*lines, *STORY).ask(QUESTION)
    assert (answer.status, answer.text, answer.tools_created) == ("answered", ANSWER, ())
    assert desk.library.list() == []


async def test_code_that_never_works_is_no_tool(desk):
    broken = CODE.replace("return a", "return a // 0")
    lines = [
        decide("answer", answer="no number", when="Not kept as a tool:\n- nth_fibonacci fails"),
        decide("create_tool", code=broken),
        *CREATION,
    ]
    answer = await desk.plays(*lines).ask(QUESTION)
    assert (answer.text, answer.tools_created) == ("no number", ())
    assert desk.library.list() == []
    assert answer.usage.calls == 2, "what does not work is not examined"


def wait_for(path):
    while not path.exists():
        time.sleep(0.001)


def test_two_processes_that_create_one_tool_at_once_each_have_it(desk):
    """The same source is one tool; another source gets a name of its own, and each calls its own."""
    other = decide("create_tool", code=CODE.replace("a, b = 0, 1", "b, a = 1, 0"), when=QUESTION)
    answered = decide("answer", answer=ANSWER, when=ANSWER)
    (desk.folder / "other").mkdir()
    gate = desk.folder / "gate"

    def asks(model, name):
        async def main():
            async def work(alita):
                await alita._opened.sandbox(alita.settings)
                (desk.folder / name).touch()
                await asyncio.to_thread(wait_for, gate)
                return await alita.ask(QUESTION)

            answer = await desk.use(work, model=model, use_cache=False)
            (desk.folder / name).write_text(f"{answer.text} {answer.tools_created[0]} {answer.tools_used[0]}")

        return lambda: asyncio.run(main())

    models = [desk.plays(answered, *STORY).model]
    models.append(write_script(desk.folder / "other" / "script.jsonl", [answered, other, *CREATION]))
    names = ["first", "second"]
    children = [Forked(asks(model, name)) for model, name in zip(models, names, strict=True)]
    for name in names:
        wait_for(desk.folder / name)
    gate.touch()
    assert [child.wait() for child in children] == [0, 0]
    told = [(desk.folder / name).read_text().split() for name in names]
    assert {text for text, _, _ in told} == {ANSWER}
    assert {used for _, _, used in told} == {tool.name for tool in desk.library.list()}
    assert sorted(used for _, _, used in told) == ["nth_fibonacci", "nth_fibonacci_2"]
    assert desk.library.flaws() == []


async def test_a_hosted_model_has_room_to_think(desk, openai_server):
    """Thoughts count as output. What is asked for is sent, too: the length of each reply."""
    openai_server.default = reply
    answer = await desk.ask(QUESTION, model="tiny-1", base_url=openai_server.url)
    assert answer.text == ANSWER
    assert [body["max_tokens"] for body in openai_server.requests] == [20_000, 15_000, 20_000]
    assert not [body for body in openai_server.requests if "stop" in body]
