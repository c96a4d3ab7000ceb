"""Whole runs with the small strategy: rules, small questions, one program, and the tool that comes of it."""

from __future__ import annotations

from typing import Any

PROGRAM = '''
def nth_fibonacci(n: int) -> int:
    """Compute a number of the Fibonacci sequence."""
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


print(nth_fibonacci(57))
'''
SAID = {"n": "Position in the sequence, from 1 on.", "returns": "The number at this position."}
SECOND = """
def nth_fibonacci(n: int) -> int:
    previous, current = 1, 0
    while n > 0:
        previous, current = current, previous + current
        n -= 1
    return current
"""
COMPUTE = {"role": "coordinator", "json": {"why": "A number of mathematics.", "needs": "compute"}}
KEEPING = [{"role": "writer", "json": SAID}, {"role": "examiner", "text": SECOND}]


async def test_a_computed_question_leaves_a_tool_that_answers_the_next_one_without_a_model(desk: Any) -> None:
    desk.flags["strategy"] = "small"
    answer = await desk.plays(COMPUTE, {"role": "writer", "text": PROGRAM}, *KEEPING).ask(
        "What is the 57th Fibonacci number?"
    )
    assert (answer.text, answer.status, answer.tools_created) == ("365435296162", "answered", ("nth_fibonacci",))
    again = await desk.plays().ask("What is the 60th Fibonacci number?")
    assert (again.text, again.tools_used, again.usage.calls) == ("1548008755920", ("nth_fibonacci",), 0)
    assert (await desk.replay(answer.run_id)).text == "365435296162"


async def test_a_wished_tool_comes_from_the_program(desk: Any) -> None:
    desk.flags["strategy"] = "small"
    desk.plays({"role": "writer", "text": PROGRAM}, *KEEPING)
    answer = await desk.ask("What is the 57th Fibonacci number?", wish="create")
    assert (answer.text, answer.tools_created) == ("365435296162", ("nth_fibonacci",))


async def test_a_question_over_a_table_needs_one_call(desk: Any, tmp_path: Any) -> None:
    desk.flags["strategy"] = "small"
    path = tmp_path / "sales.csv"
    path.write_text("region,revenue\nSouth,120.5\nNorth,80\nSouth,10.25\n")
    desk.plays({"role": "writer", "text": 'print(table[table["region"] == "South"]["revenue"].sum())'})
    answer = await desk.ask("What is the revenue of the South?", files=[path])
    assert (answer.text, answer.usage.calls, answer.tools_created) == ("130.75", 1, ())


async def test_talk_is_answered_in_words(desk: Any) -> None:
    desk.flags["strategy"] = "small"
    desk.plays({"role": "coordinator", "json": {"why": "A greeting.", "needs": "talk"}}, {"text": "Good morning!"})
    assert (await desk.ask("Good morning")).text == "Good morning!"
