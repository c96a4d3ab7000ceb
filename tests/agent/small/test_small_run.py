"""Whole runs with the small strategy that leave no tool."""

from __future__ import annotations

from typing import Any

import pytest

from agent.errors import ModelError


async def test_a_question_over_a_table_needs_one_call(desk: Any, tmp_path: Any) -> None:
    desk.flags["strategy"] = "small"
    path = tmp_path / "sales.csv"
    path.write_text("region,revenue\nSouth,120.5\nNorth,80\nSouth,10.25\n")
    desk.plays({"role": "writer", "text": 'print(table[table["region"] == "South"]["revenue"].sum())'})
    answer = await desk.ask("What is the revenue of the South?", files=[path])
    assert (answer.text, answer.usage.calls, answer.tools_created) == ("130.75", 1, ())


TALK = {
    "hello": "Hello! What can I do for you?",
    "who are you?": "I am alita.",
    "你好": "你好！",
}


@pytest.mark.parametrize("strategy", ["small", "standard"])
@pytest.mark.parametrize(("message", "reply"), TALK.items(), ids=TALK)
async def test_talk_is_answered_in_words(desk: Any, strategy: str, message: str, reply: str) -> None:
    desk.flags["strategy"] = strategy
    need = {"role": "coordinator", "json": {"why": "Nothing is asked.", "needs": "talk"}}
    desk.plays(*([need] if strategy == "small" else []), {"when": "You are alita", "text": reply})
    answer = await desk.ask(message)
    assert (answer.status, answer.text) == ("answered", reply)


async def test_a_small_model_says_that_it_operates_no_site(desk: Any) -> None:
    """And what to do; nothing is opened."""
    desk.flags["strategy"] = "small"
    desk.plays({"role": "coordinator", "json": {"why": "A site must be operated.", "needs": "site"}})
    with pytest.raises(ModelError, match="Operating a web site needs a more capable model than scripted") as refused:
        await desk.ask("Log in to my bank and tell me the balance.")
    assert refused.value.remedy == "Set a key with `alita keys set`, or name a model with -m."
