"""Each limit ends a run with the best answer that there is, and says so."""

from __future__ import annotations

import pytest

from agent.answer import Answer
from agent.configuration.settings import Settings, settings_as_in
from agent.store.runs import Run
from support.fibonacci import ANSWER, CODE, CREATION, QUESTION, STORY, decide, reply, text_of

GUESS = {"text": "about 40", "when": "No more calls are possible"}
SEARCHES = [
    decide("search", query="how few", when="nothing was found for 'how many'"),
    decide("search", query="how many"),
]
"""They find nothing."""
RULING = {"because": "the sequence", "result": "1"}


async def test_steps(desk):
    answer = await desk.plays(GUESS, *SEARCHES).ask("How many?", max_steps=2)
    assert (answer.text, answer.status, answer.limit, answer.steps) == ("about 40", "limit", "steps", 2)


async def test_a_result_is_the_best_answer_and_costs_no_further_call(desk):
    answer = await desk.plays(*STORY).ask(QUESTION, max_steps=1)
    assert (answer.text, answer.status, answer.limit) == (ANSWER, "limit", "steps")
    assert answer.usage.calls == 2


async def test_tokens(desk):
    lines = [{**line, "usage": [900, 100]} for line in STORY]
    answer = await desk.plays(*lines).ask(QUESTION, max_tokens=1500)
    assert (answer.text, answer.status, answer.limit) == (ANSWER, "limit", "tokens")
    assert answer.usage.input_tokens + answer.usage.output_tokens == 2000


async def test_money_where_the_price_is_known(desk, openai_server):
    """127.1 leads to this machine, and is not written as one of its addresses: gpt-4o costs what it costs."""
    from support.openai_server import Step

    def searches(body):
        return Step(text="perhaps") if GUESS["when"] in text_of(body) else Step(tools=[("search", {"query": "it"})])

    openai_server.default = searches
    url = openai_server.url.replace("127.0.0.1", "127.1")
    answer = await desk.ask(QUESTION, model="gpt-4o", base_url=url, api_key="k" * 20, max_cost=0.00005)
    assert (answer.status, answer.limit) == ("limit", "cost")
    assert answer.usage.cost == pytest.approx(len(openai_server.requests) * 75e-6)
    assert len(openai_server.requests) == 2
    assert answer.text == "perhaps", "the last call is for a best guess"


async def test_money_where_no_price_is_known_is_told(desk, openai_server):
    openai_server.default = reply
    answer = await desk.ask(QUESTION, model="tiny-1", base_url=openai_server.url, max_cost=0.0001)
    assert (answer.text, answer.status, answer.usage.cost) == (ANSWER, "answered", None)
    assert desk.notes.count("the price of tiny-1 is unknown") == 1


async def test_seconds_end_a_call_that_takes_longer(desk, openai_server):
    openai_server.hang(30).hang(30)
    answer = await desk.ask(QUESTION, model="tiny-1", base_url=openai_server.url, max_seconds=1.5)
    assert (answer.text, answer.status, answer.limit) == ("", "limit", "seconds")
    assert answer.seconds < 15


async def test_a_limited_run_goes_on_with_a_higher_limit(desk):
    lines = [{**line, "usage": [900, 100]} for line in (GUESS, *STORY)]
    first = await desk.plays(*lines).ask(QUESTION, max_tokens=500)
    assert first.status == "limit"
    answer = await desk.resume(first.run_id, max_tokens=99_000)
    assert (answer.text, answer.status, answer.run_id) == (ANSWER, "answered", first.run_id)
    assert (await desk.replay(first.run_id)).text == ANSWER


@pytest.mark.parametrize(("recorded", "own", "counts"), [(20, 12, 20), (12, 24, 24)])
def test_a_limited_run_never_goes_on_with_a_lower_limit_than_it_had(recorded, own, counts):
    run = Run("r", "?", "m", 0.0, configuration={"max_steps": str(recorded)}, answer=Answer("", "limit", limit="steps"))
    assert settings_as_in(run, Settings(max_steps=own), goes_on=True).max_steps == counts


async def test_what_a_limit_forbade_in_the_middle_is_done_with_a_higher_one(desk):
    """The repair of a tool that fails a test was not paid for: it is when the run goes on."""
    wrong = decide("create_tool", code=CODE.replace("    return a", "    return a if n != 2 else 7"))
    mended = decide("create_tool", when="must give 1")
    again = {"role": "examiner", "when": "The author says", "json": {"results": [RULING]}}
    answered = decide("answer", answer=ANSWER, when="Kept as nth_fibonacci.")
    lines = [{**line, "usage": [900, 100]} for line in (answered, mended, wrong, again, *CREATION)]
    first = await desk.plays(*lines).ask(QUESTION, max_tokens=2500)
    assert (first.status, first.limit, first.usage.calls, first.tools_created) == ("limit", "tokens", 3, ())
    answer = await desk.resume(first.run_id, max_tokens=99_000)
    assert (answer.text, answer.status, answer.tools_created) == (ANSWER, "answered", ("nth_fibonacci",))
