"""Whole runs with the small strategy that leave no tool."""

from __future__ import annotations

from typing import Any


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
