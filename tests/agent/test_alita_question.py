"""A question from decision to answer, and what each bad input gets."""

from __future__ import annotations

import pytest

from agent.configuration.settings_sources import read_settings
from agent.configuration.stored_keys import StoredKeys
from agent.errors import ModelAuthError, ModelUnknownError, ModelUnreachableError, StorageError, UsageError
from agent.events import ModelCalled, StepStarted, ToolCalled, ToolRegistered
from agent.store.own_runs import OwnRuns
from agent.store.runs import load_run
from mcp_tools.tool import Status
from support.fibonacci import ANSWER, CODE, CREATION, QUESTION, STORY, decide, reply

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


async def test_an_empty_question_is_bad_usage(desk):
    with pytest.raises(UsageError, match="empty"):
        await desk.plays().ask(" \n\u00a0")
    assert not desk.runs.exists()


async def test_a_question_of_a_megabyte_is_refused_before_a_model_is_asked(desk):
    with pytest.raises(UsageError, match=r"1,000,000 characters.*100,000"):
        await desk.plays().ask("x" * 1_000_000)


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


async def test_a_key_in_an_error_of_others_stands_nowhere(desk, openai_server):
    """Nor is it shown: a server behind the endpoint may know another key of the user."""
    StoredKeys(desk.home / "config").keep("WEATHER@a.example", "weather-4711-s3cret")
    openai_server.fail(404, "the route for weather-4711-s3cret is gone")
    with pytest.raises(ModelUnknownError) as told:
        await desk.ask(QUESTION, model="tiny-1", base_url=openai_server.url, api_key="k")
    assert "4711" not in str(told.value)
    files = [path for path in desk.home.rglob("*") if path.is_file() and path.name != "keys.json"]
    assert any(path.name == "run.json" for path in files)
    assert not any(b"weather-4711" in path.read_bytes() for path in files)


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


async def test_a_model_that_gives_nothing_usable_ends_in_a_best_guess(desk):
    """Before that, the question is searched for."""
    shelve(desk)
    lines = [{"text": "perhaps 42", "when": "No more calls are possible"}, {"text": "", "repeat": True}]
    answer = await desk.plays(*lines).ask(DOUBLE)
    assert (answer.text, answer.status, answer.steps) == ("perhaps 42", "answered", 1)
    assert [event.action for event in desk.of(StepStarted)] == ["search"]
    assert len(desk.of(ModelCalled)) == 3 + 3 + 1
    assert "gave no valid action in 3 attempts" in desk.notes


async def test_an_endless_loop_is_refused_and_ends_in_the_best_answer(desk):
    shelve(desk)
    answer = await desk.plays({**USE, "repeat": True}).ask(DOUBLE, without=("search",))
    assert (answer.text, answer.status, answer.steps) == ("42", "answered", 1)
    assert len(desk.of(ModelCalled)) == 1 + 3
    assert "already done" in desk.notes
    assert "<data" not in desk.notes


async def test_a_corrupt_object_beside_a_tool_is_told_and_kept(desk):
    shelve(desk)
    (desk.tools_dir / "times_two.json").write_text('{"name": "times_')
    answer = await desk.plays(decide("answer", answer="42")).ask(DOUBLE)
    assert answer.text == "42"
    assert "times_two.json is invalid" in desk.notes
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
    assert "has changed since it was checked" in desk.notes
    assert "n * 3" in (desk.tools_dir / "times_two.py").read_text()


async def test_a_tool_edited_while_it_is_decided_on_is_not_run(desk):
    shelve(desk)

    def edit(event):
        desk.events.append(event)
        if isinstance(event, StepStarted):
            (desk.tools_dir / "times_two.py").write_text(TIMES_TWO.replace("n * 2", "n * 300"))

    lines = [decide("answer", answer="no tool", when="has changed since"), USE]
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


async def test_code_of_which_the_examiner_says_nothing_answers_and_waits_for_approval(desk):
    lines = [{"role": "examiner", "text": "Certainly!"}, decide("answer", answer=ANSWER, when="Kept as a draft")]
    answer = await desk.plays(*lines, *STORY).ask(QUESTION)
    assert (answer.status, answer.text, answer.tools_created) == ("answered", ANSWER, ())
    assert [tool.status for tool in desk.library.list()] == ["draft"]


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
