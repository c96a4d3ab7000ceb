"""A question that is asked for the sake of its tool ends with one, new or found; replayed and resumed alike."""

from agent.conversation import Conversation, Turn
from agent.events import RunStarted, StepStarted
from support.fibonacci import ANSWER, CODE, CREATION, QUESTION, STORY, decide

CREATES = [decide("create_tool"), *CREATION]
UNWILLING = [decide("answer", answer="365"), decide("run_code", code="print(365)"), *CREATES]
"""A model that would answer and compute before it creates anything."""


async def test_a_tool_is_created_where_the_model_would_not_create_one(desk):
    answer = await desk.plays(*UNWILLING).ask(QUESTION, purpose="create")
    assert (answer.text, answer.tools_created, answer.status) == (ANSWER, ("nth_fibonacci",), "answered")
    assert answer.usage.calls == 4
    assert [event.action for event in desk.of(StepStarted)] == ["create_tool", "answer"]


async def test_the_tool_of_the_library_that_fits_is_found_instead(desk):
    await desk.plays(*STORY).ask(QUESTION)
    answer = await desk.plays().ask(QUESTION, purpose="create")
    assert (answer.text, answer.tools_created, answer.tools_used) == (ANSWER, (), ("nth_fibonacci",))


async def test_a_follow_up_is_no_way_around_it(desk):
    await desk.plays(decide("answer", answer=ANSWER, when=QUESTION)).ask(QUESTION)
    talk = Conversation([Turn("What is the 60th Fibonacci number?", "1548008755920", "261122-000000-aaaa", "answered")])
    answer = await desk.plays(*CREATES).ask("and the 57th?", purpose="create", conversation=talk)
    assert answer.tools_created == ("nth_fibonacci",)


async def test_where_no_tool_comes_there_is_no_guess(desk):
    answer = await desk.plays({"text": "no", "repeat": True}).ask(QUESTION, purpose="create")
    assert (answer.text, answer.status, answer.tools_created) == ("", "no_answer", ())
    assert "gave no valid action" in desk.notes
    assert desk.of(StepStarted) == [], "nothing else is done in its place"


async def test_a_tool_that_never_works_is_tried_a_few_times(desk):
    broken = [decide("create_tool", code=CODE.replace("return a", f"return a // 0  # {n}")) for n in range(9)]
    answer = await desk.plays(*broken).ask(QUESTION, purpose="create")
    assert (answer.text, answer.status, answer.tools_created, answer.steps) == ("", "no_answer", (), 3)


async def test_a_model_whose_tool_is_refused_may_give_up_and_say_why(desk):
    broken = decide("create_tool", code=CODE.replace("return a", "return a // 0"))
    answer = await desk.plays(broken, {"text": "No tool can do this.", "repeat": True}).ask(QUESTION, purpose="create")
    assert (answer.text, answer.status, answer.tools_created, answer.usage.calls) == ("", "no_answer", (), 2)
    assert "no tool could be created, as the model says: No tool can do this." in desk.notes


async def test_a_resumed_run_is_for_the_same(desk):
    await desk.plays(*UNWILLING).stop(QUESTION, lambda event: isinstance(event, RunStarted), purpose="create")
    answer = await desk.plays(*UNWILLING).resume()
    assert (answer.text, answer.tools_created) == (ANSWER, ("nth_fibonacci",))
