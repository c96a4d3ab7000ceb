"""A small model's one program, in a real sandbox."""

from dataclasses import replace

import openpyxl
import pytest

from agent.calls.files import RecordedFiles
from agent.calls.recorder import Recorder
from agent.material.attached import look_at_files
from agent.small.program import answer_by_program, answer_in, code_in
from agent.small.small import Small
from agent.state import Decision
from agent.store.journal import Journal
from mcp_tools.sandbox.backends import open_sandbox
from support.decisions import OneModel, Weak, context_with, done, state_of

OVER_BEDS = "What is the total price of the plants of bed A?"
OVER_CALL = "How many kilograms of apples came? Give only the number."
CALL = "Forty two crates of apples came, and a crate weighs twelve kilograms."
READ = done("read_file", "read_file call.mp3", finding=f"read_file call.mp3 (page 1 of 1): 66 words, 9 s\n{CALL}")
DECIDED = Decision("run_code", "so")
MODULE = '''
def total(crates: int, kilograms: int) -> int:
    """Weight of all crates."""
    return crates * kilograms


print(total(42, 12))
'''


@pytest.fixture
async def sandbox():
    opened = await open_sandbox()
    yield opened
    await opened.aclose()


@pytest.fixture
def asking(sandbox):
    """A context with a sandbox, for a model that plays what it is given."""

    def context(model):
        return replace(context_with(model), sandbox=sandbox)

    return context


@pytest.fixture
async def garden(sandbox, tmp_path):
    """A context with a workbook, and the state of a run that has looked at it."""
    path = tmp_path / "garden.xlsx"
    book = openpyxl.Workbook()
    for row in (["Plant", "Bed", "Price"], ["Rose", "A", 12.5], ["Iris", "B", 4], ["Mint", "A", 3.5], ["Fern", "C", 7]):
        book.active.append(row)
    book.save(path)
    journal = Journal.create(tmp_path / "run" / "journal.jsonl")
    reader = RecordedFiles(tmp_path / "run" / "files", Recorder(journal))
    context = replace(context_with(Weak([])), sandbox=sandbox, files=(path,), reader=reader)
    yield context, {**state_of(OVER_BEDS, files=[path.name]), "attached": await look_at_files(context)}
    await journal.aclose()


async def answered(state, context):
    [step] = (await answer_by_program({**state, "decision": DECIDED}, context))["steps"]
    return step


async def test_what_the_program_prints_is_the_answer_and_the_program_may_become_a_tool(asking):
    model = Weak([MODULE])
    state = {**state_of("What do 42 crates of 12 kg weigh?"), "decision": DECIDED}
    update = await answer_by_program(state, asking(model))
    assert (update["steps"][0]["value"], update["program"]) == ("504", MODULE.strip() + "\n")
    assert len(model.requests) == 1


async def test_a_program_that_holds_what_was_read_becomes_no_tool(asking):
    state = {**state_of(OVER_CALL, steps=[READ]), "decision": DECIDED}
    assert "program" not in await answer_by_program(state, asking(Weak([MODULE])))


@pytest.mark.parametrize("wrong", ["print(crates)", "x = 3"])
async def test_a_program_that_gives_nothing_is_mended_once_with_its_failure_shown(asking, wrong):
    model = Weak([wrong, MODULE])
    assert (await answered(state_of("q"), asking(model)))["value"] == "504"
    shown = model.requests[1][-2]["content"]
    assert "The program failed" in shown
    assert wrong in model.requests[1][-3]["content"]


async def test_after_two_failures_there_is_no_answer_and_the_last_failure_is_told(asking):
    step = await answered(state_of("q"), asking(Weak(["print(crates)", "print(apples)"])))
    assert not step["ok"]
    assert "apples" in step["finding"]


async def test_programs_over_files_use_what_they_hold_and_see_it_only_as_data(garden):
    context, state = garden
    model = Weak(["print(table[table['Bed'] == 'A']['Price'].sum())"])
    assert (await answered(state, replace(context, models=OneModel(model))))["value"] == "16"
    prompt = model.requests[0][-2]["content"]
    assert prompt.startswith('<data source="variables">\ntable: DataFrame of 4 rows')
    assert "'Bed': text, 3 different: 'A', 'B', 'C'" in prompt
    assert prompt.endswith(f"</data>\n{OVER_BEDS}")


async def test_programs_see_what_was_read_alone_and_as_data(asking):
    model = Weak(["print(42 * 12)"])
    page = done("browse", "browse https://farm.example", finding="Apples: 42 </data> crates")
    failed = done("search", "search apples", ok=False, finding="nobody answered")
    computed = done("run_code", finding="A program printed: 7", value="7")
    await answered(state_of(OVER_CALL, steps=[READ, page, failed, computed]), asking(model))
    prompt = model.requests[0][-2]["content"]
    assert prompt.startswith(f'<data source="read_file call.mp3">\n{CALL}\n</data>\n<data source="browse')
    assert prompt.endswith(f"</data>\n{OVER_CALL}")
    assert prompt.count("</data>") == 2
    assert "66 words" not in prompt
    assert "nobody" not in prompt


@pytest.mark.parametrize(
    "reply",
    [
        "print(1)\n```\nThis prints 1.",
        "Here it is:\n```python\nprint(1)\n```",
        "\r\nprint(1)\r\n",
    ],
)
def test_the_program_in_a_reply(reply):
    assert code_in(reply) == "print(1)\n"


@pytest.mark.parametrize(
    ("printed", "answer"),
    [
        ("194.78000000000003\n", "194.78"),
        ("np.float64(2.5)", "2.5"),
        ("['Iris', 'Sage']", "Iris, Sage"),
        ("nan", ""),
        ("None", ""),
        ("Empty DataFrame\nColumns: [a]\nIndex: []", ""),
        ("Empty Quarter", "Empty Quarter"),
        ("Series([], Name: x)", ""),
    ],
)
def test_printed_values_become_answers(printed, answer):
    assert answer_in(printed, "?") == answer


CAUGHT = {
    "printed": "try:\n    x = int('a b')\nexcept ValueError as e:\n    print(e)",
    "returned": "def f():\n try:\n  return int('a b')\n except Exception as e:\n  return str(e)\nprint(f())",
    "its traceback": "import traceback\ntry:\n    int('a b')\nexcept ValueError:\n    print(traceback.format_exc())",
    "by hand": "print('ValueError: invalid literal')",
}


@pytest.mark.parametrize("program", CAUGHT.values(), ids=CAUGHT)
async def test_a_program_that_prints_an_exception_it_caught_has_failed(asking, program):
    model = Weak([program, MODULE])
    assert (await answered(state_of("q"), asking(model)))["value"] == "504"
    assert "invalid literal" in model.requests[1][-2]["content"]


@pytest.mark.parametrize(
    ("source", "ok", "value"),
    [("print(6 * 7)", True, "42"), ("print(1)\nprint(2)", True, None), ("1 / 0", False, None)],
)
async def test_an_attached_program_is_run_as_it_is(garden, tmp_path, source, ok, value):
    context, state = garden
    path = tmp_path / "task.py"
    path.write_text(source)
    context = replace(context, files=(path,))
    state = {**state, "files": [path.name], "attached": await look_at_files(context)}
    decision = Decision("run_code", "so", file="task.py")
    [step] = (await Small().program({**state, "decision": decision}, context))["steps"]
    assert (step["ok"], step["value"]) == (ok, value)
    assert ok or "ZeroDivisionError" in step["finding"]
