"""A weak model's programs over files vote: in a real sandbox, and once with the real embedded model."""

from dataclasses import replace

import openpyxl
import pytest

from agent.attached import look_at_files
from agent.models.embedded import EmbeddedModel
from agent.models.local_server import stop_servers
from agent.models.weights import Weights
from agent.small.programs.run import vote_on_files
from agent.store.journal import Journal
from agent.store.journaled_files import JournaledFiles
from mcp_tools.sandbox import open_sandbox
from support.decisions import OneModel, Weak, context_with

QUESTION = "What is the total price of the plants of bed A?"


@pytest.fixture
async def garden(tmp_path):
    """A context with a sandbox and a workbook, and the state of a run that has looked at it."""
    path = tmp_path / "garden.xlsx"
    book = openpyxl.Workbook()
    for row in (["Plant", "Bed", "Price"], ["Rose", "A", 12.5], ["Iris", "B", 4], ["Mint", "A", 3.5], ["Fern", "C", 7]):
        book.active.append(row)
    book.save(path)
    journal = Journal.create(tmp_path / "run" / "journal.jsonl")
    sandbox = await open_sandbox()
    reader = JournaledFiles(tmp_path / "run" / "files", journal)
    context = replace(context_with(Weak([])), sandbox=sandbox, files=(path,), reader=reader)
    state = {"question": QUESTION, "files": [path.name], "attached": await look_at_files(context)}
    yield context, state
    await sandbox.aclose()
    await journal.aclose()


def playing(context, *texts):
    return replace(context, models=OneModel(Weak(list(texts))))


RIGHT = "```python\nprint(table[table['Bed'] == 'A']['Price'].sum())\n```"
ALSO = (
    "total = 0\nfor _, row in table.iterrows():\n    if row['Bed'] == 'A':\n        total += row['Price']\nprint(total)"
)


async def test_the_answer_that_most_programs_print_wins(garden):
    context, state = garden
    printed = await vote_on_files(state, playing(context, "print(table['Price'].sum())", RIGHT, ALSO))
    assert printed.answer == "16"


async def test_programs_that_fail_do_not_vote(garden):
    context, state = garden
    lines = ["print(table['Cost'].sum())", "print(undefined)", RIGHT, "not python (", ALSO, "print('')"]
    printed = await vote_on_files(state, playing(context, *lines))
    assert printed.answer == "16"


async def test_what_would_fail_in_python_fails_here_and_gives_no_answer(garden):
    context, state = garden
    wrong = [
        "print(f\"{table['Price']:.2f}\")",
        "import pandas as pd\nprint(pd.read_excel('plants.xlsx')['Price'].sum())",
        "print(len(open('plants.txt').read()))",
    ]
    printed = await vote_on_files(state, playing(context, *(wrong * 4)[:10]))
    assert printed.answer == ""
    assert "FileNotFoundError" in printed.failure or "TypeError" in printed.failure


async def test_a_table_of_parts_is_no_total(garden):
    context, state = garden
    parts = "print(table[table['Bed'] == 'A']['Price'])"
    printed = await vote_on_files(state, playing(context, parts, parts, RIGHT, parts, ALSO, parts))
    assert printed.answer == "16"


async def test_without_any_result_the_failure_is_told(garden):
    context, state = garden
    printed = await vote_on_files(state, playing(context, *["print(table['Cost'])"] * 10))
    assert printed.answer == ""
    assert "KeyError: 'Cost'" in printed.failure


async def test_programs_see_what_the_files_hold_and_only_as_data(garden):
    context, state = garden
    model = Weak([RIGHT, RIGHT, ALSO])
    await vote_on_files(state, replace(context, models=OneModel(model)))
    prompt = model.requests[0][-2]["content"]
    assert prompt.startswith('<data source="variables">\ntable: DataFrame of 4 rows')
    assert "'Bed': text, 3 different: 'A', 'B', 'C'" in prompt
    assert prompt.endswith(f"</data>\n{QUESTION}")


@pytest.mark.model
@pytest.mark.timeout(600)
async def test_the_embedded_model_computes_over_a_workbook(garden, weights_path, tmp_path):
    """Easy enough that every program is right: what a processor rounds differently must not change the outcome."""
    context, state = garden
    model = EmbeddedModel(Weights(tmp_path, path=weights_path).ready, tmp_path / "runtime", idle=60)
    asking = replace(context, models=OneModel(model))
    try:
        for question, expected in (("What is the sum of all prices?", "27"), ("What is the highest price?", "12.5")):
            assert (await vote_on_files({**state, "question": question}, asking)).answer == expected
    finally:
        await model.aclose()
        stop_servers(tmp_path / "runtime")
