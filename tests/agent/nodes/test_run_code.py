"""run_code: who writes the program, and over what."""

from dataclasses import replace

import pytest

from agent.attached import look_at_files
from agent.nodes.run_code import run_code
from agent.store.journal import Journal
from agent.store.journaled_files import JournaledFiles
from mcp_tools.sandbox import open_sandbox
from support.decisions import OneModel, Weak, context_with, done, state_of

QUESTION = "How many kilograms of apples came? Give only the number."
FOUND = done("search", "search apples", finding="1. farm.example: 42 crates of 12 kilograms")
RIGHT = "```python\nprint(42 * 12)\n```"
OVER_FILE = "print(42 * int(text.split()[-2]))"


class Runtime:
    def __init__(self, context):
        self.context = context


@pytest.fixture
async def context(tmp_path):
    """A context with a sandbox and an attached text."""
    path = tmp_path / "call.txt"
    path.write_text("Forty two crates came, each of 12 kilograms")
    journal, sandbox = Journal.create(tmp_path / "run" / "journal.jsonl"), await open_sandbox()
    reader = JournaledFiles(tmp_path / "run" / "files", journal)
    yield replace(context_with(Weak([])), sandbox=sandbox, files=(path,), reader=reader)
    await sandbox.aclose()
    await journal.aclose()


async def ran(context, model, *, steps=(), files=False):
    state = {**state_of(QUESTION, steps=list(steps)), "decision": {"action": "run_code", "why": "so"}}
    if files:
        state |= {"files": ["call.txt"], "attached": await look_at_files(context)}
    (step,) = (await run_code(state, Runtime(replace(context, models=OneModel(model)))))["steps"]
    return step["value"], step["finding"].split(":")[0]


async def test_a_weak_models_programs_over_what_was_found_vote(context):
    model = Weak(["print(42)", RIGHT, RIGHT])
    assert await ran(context, model, steps=[FOUND]) == ("504", "A program over what was read printed")


async def test_what_was_just_read_comes_before_the_file_itself(context):
    read = done("read_file", "read_file call.txt", finding="read_file call.txt\nForty two crates came")
    assert await ran(context, Weak([RIGHT] * 3), steps=[read], files=True) == (
        "504",
        "A program over what was read printed",
    )
    nothing = ["print(apples)"] * 10
    model = Weak([*nothing, OVER_FILE, OVER_FILE, OVER_FILE])
    assert await ran(context, model, steps=[read], files=True) == ("504", "A program over the files printed")


async def test_a_file_comes_first_where_something_else_was_done_since(context):
    read = done("read_file", "read_file call.txt", finding="read_file call.txt\nForty two crates came")
    searched = done("search", ok=False, finding="nobody answered", number=2)
    model = Weak([OVER_FILE] * 3)
    assert await ran(context, model, steps=[read, searched], files=True) == ("504", "A program over the files printed")


async def test_a_weak_models_reply_is_begun(context):
    model = Weak([RIGHT])
    assert await ran(context, model) == ("504", "A program printed")
    assert model.requests[0][-1]["role"] == "assistant"
