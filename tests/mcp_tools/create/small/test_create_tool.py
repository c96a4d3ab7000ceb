"""A tool is born, found again, or honestly not kept: with real checks, sandbox and library."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from creating import LibraryShelf, Memory, ScriptedWriter

from mcp_tools.create import Creation, Request
from mcp_tools.create.small import create_tool
from mcp_tools.errors import CreationError, StoppedError
from mcp_tools.library import Library
from mcp_tools.packages import file_packages
from mcp_tools.prompt import prompts_hash
from mcp_tools.sandbox.protocol import Job, Sandbox
from mcp_tools.tool import Capabilities, Status

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION = "What is the 57th Fibonacci number?"
ANSWER = 365435296162
SPEC = {
    "purpose": "The n-th Fibonacci number.",
    "name": "nth_fibonacci",
    "parameters": [{"name": "n", "type": "int", "value": 57}],
    "returns": "int",
}
TESTS: list[dict[str, Any]] = [{"arguments": {"n": 10}, "expected": 55}, {"arguments": {"n": 2}, "expected": 1}]
LOOP = """
def nth_fibonacci(n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a
print(nth_fibonacci(57))
"""
WHILE = """
def nth_fibonacci(n):
    previous, current = 1, 0
    while n > 0:
        previous, current = current, previous + current
        n -= 1
    return current
"""
RECURSIVE = """
@lru_cache(maxsize=None)
def nth_fibonacci(n):
    return n if n < 2 else nth_fibonacci(n - 1) + nth_fibonacci(n - 2)
"""
LUCAS = LOOP.replace("0, 1", "2, 1")
RAISES = "def nth_fibonacci(n):\n    return {}[n]"
COPIED = f"def nth_fibonacci(n):\n    return {ANSWER} if n == 57 else n"


class Case:
    """One creation and what it left behind."""

    def __init__(self, sandbox: Sandbox, shelf: LibraryShelf) -> None:
        self.sandbox = sandbox
        self.shelf: Any = shelf
        self.memory = Memory()
        self.writer = ScriptedWriter([SPEC])

    async def create(
        self, *codes: Any, question: str = QUESTION, files: tuple[Path, ...] = (), **writer: Any
    ) -> Creation:
        self.writer = ScriptedWriter(**{"specs": [SPEC], "tests": TESTS, "codes": list(codes), **writer})
        return await create_tool(
            Request(
                question,
                files=files,
                run_id="run-1",
                capabilities=Capabilities(read=bool(files), packages=file_packages() if files else ()),
            ),
            writer=self.writer,
            sandbox=self.sandbox,
            library=self.shelf,
            watcher=self.memory,
        )

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in self.shelf.library.folder.glob("*.*") if path.is_file())


@pytest.fixture
def case(sandbox: Sandbox, shelf: LibraryShelf) -> Case:
    return Case(sandbox, shelf)


async def test_candidates_that_agree_become_a_tool(case: Case) -> None:
    creation = await case.create(LOOP, WHILE, RECURSIVE)
    assert (creation.choice, creation.value, creation.arguments) == ("create", ANSWER, {"n": 57})
    assert case.files == ["nth_fibonacci.json", "nth_fibonacci.py"]
    assert creation.tool is not None
    tool = case.shelf.library.get("nth_fibonacci")
    assert (tool.source, tool.status) == (creation.tool.source, Status.VERIFIED)
    assert tool.input_schema["properties"]["n"]["type"] == "integer"
    assert tool.input_schema["required"] == ["n"]
    assert tool.description.startswith("The n-th Fibonacci number.")
    assert "57" not in tool.source
    evidence = tool.provenance["evidence"]
    assert (evidence["support"], evidence["voters"]) == (3, 3)
    assert 0 < evidence["killed"] <= evidence["mutants"]
    assert tool.provenance["run"] == "run-1"
    assert tool.provenance["prompts"] == prompts_hash("mcp_tools.create.small")
    assert {test["origin"] for test in tool.provenance["tests"]} == {"examiner", "agreement"}
    outcome = await case.sandbox.run(Job(tool.source, tool.name, {"n": 60}))
    assert outcome.value == 1548008755920
    assert [spec.name for spec in case.memory.specs] == ["nth_fibonacci"]
    assert len(case.memory.tried) == 3


async def test_tests_are_written_before_the_code_and_from_the_spec_alone(case: Case) -> None:
    await case.create(LOOP)
    assert [who for who, _ in case.writer.asked][:3] == ["writer", "examiner", "code"]
    assert QUESTION not in dict(case.writer.asked)["examiner"]


async def test_a_tool_of_the_library_is_reused_without_any_code(case: Case) -> None:
    await case.create(LOOP)
    spec = {**SPEC, "parameters": [{"name": "n", "type": "int", "value": 60}]}
    again = await case.create(question="What is the 60th Fibonacci number?", specs=[spec])
    assert (again.choice, again.value) == ("reuse", 1548008755920)
    assert again.tool is not None
    assert again.tool.name == "nth_fibonacci"
    assert case.writer.times("code") == case.writer.times("examiner") == 0


async def test_a_tool_with_other_parameters_is_rejected_with_its_reason(case: Case) -> None:
    await case.create(LOOP)
    spec = {**SPEC, "parameters": [{"name": "position", "type": "int", "value": 57}]}
    tests = [{"arguments": {"position": 10}, "expected": 55}]
    creation = await case.create(
        LOOP.replace("n):", "position):").replace("(n)", "(position)"), specs=[spec], tests=tests
    )
    assert creation.choice == "create"
    assert creation.tool is not None
    assert creation.tool.name == "nth_fibonacci_2"
    assert len(creation.rejected) == 1
    assert "takes other arguments" in creation.rejected[0]


async def test_an_error_is_repaired_with_its_traceback(case: Case) -> None:
    creation = await case.create(RAISES, RAISES, LOOP, WHILE)
    assert creation.value == ANSWER
    assert any("KeyError" in asked for _, asked in case.writer.asked)


async def test_text_that_is_no_code_is_repaired(case: Case) -> None:
    creation = await case.create(*["def nth_fibonacci(n:"] * 2, LOOP, WHILE)
    assert creation.value == ANSWER
    assert any("line 1" in asked for _, asked in case.writer.asked)


async def test_a_value_of_the_question_in_the_code_is_an_answer_but_no_tool(case: Case) -> None:
    creation = await case.create(*[COPIED] * 6)
    assert (creation.choice, creation.tool, creation.value) == ("scratch", None, ANSWER)
    assert "question-literal" in creation.reason
    assert case.files == []


async def test_a_parameter_that_does_nothing_is_no_tool(case: Case) -> None:
    creation = await case.create(*[f"def nth_fibonacci(n):\n    return {ANSWER}"] * 6, tests=[])
    assert (creation.choice, creation.value) == ("scratch", ANSWER)
    assert "parameters-reach-result" in creation.reason


async def test_the_same_result_for_all_arguments_is_no_tool(case: Case) -> None:
    codes = [f"def nth_fibonacci(n):\n    return n * 0 + {i} - {i} + 8" for i in (11, 12, 13)]
    creation = await case.create(*codes * 3, tests=[])
    assert creation.choice == "scratch"
    assert re.search(r"all of the \d+ argument sets that were tried give the same result", creation.reason)


async def test_a_result_that_nobody_vouches_for_is_no_tool(case: Case) -> None:
    creation = await case.create(*[LOOP] * 6, tests=[])
    assert (creation.choice, creation.value) == ("scratch", ANSWER)
    assert "nobody vouches" in creation.reason


async def test_without_a_majority_there_is_no_tool(case: Case) -> None:
    codes = [f"def nth_fibonacci(n):\n    return n * {factor}" for factor in range(21, 36)]
    creation = await case.create(*codes, tests=[])
    assert creation.choice == "scratch"
    assert "nobody vouches" in creation.reason or "attempts agree" in creation.reason
    assert case.files == []


async def test_tests_that_wrong_versions_pass_are_no_evidence(case: Case) -> None:
    code = "def nth_fibonacci(n):\n    return n if n > {0} else n"
    tests = [{"arguments": {"n": 10}, "expected": 10}, {"arguments": {"n": 2}, "expected": 2}]
    creation = await case.create(code.format(21), tests=tests)
    assert creation.choice == "scratch"
    assert "wrong versions" in creation.reason


async def test_when_every_candidate_fails_it_is_an_error_with_the_last_failure(case: Case) -> None:
    with pytest.raises(CreationError, match="KeyError"):
        await case.create(*[RAISES] * 20)
    assert case.files == []


async def test_a_result_that_is_nothing_is_no_answer(case: Case) -> None:
    with pytest.raises(CreationError, match="the result is None: that is no answer"):
        await case.create(*["def nth_fibonacci(n):\n    print(n)\n    return None if n else n"] * 20)


async def test_text_without_code_is_an_error(case: Case) -> None:
    with pytest.raises(CreationError, match="nth_fibonacci"):
        await case.create("I cannot do this.")


async def test_a_tool_whose_parameter_has_no_name_of_its_own_answers_and_is_not_kept(case: Case) -> None:
    spec = {**SPEC, "parameters": [{"name": "number_1", "type": "int", "value": 57}]}
    tests = [{"arguments": {"number_1": test["arguments"]["n"]}, "expected": test["expected"]} for test in TESTS]
    code = LOOP.replace("fibonacci(n)", "fibonacci(number_1)").replace("range(n)", "range(number_1)")
    creation = await case.create(code, specs=[spec], tests=tests)
    assert (creation.choice, creation.value) == ("scratch", ANSWER)
    assert "'number_1' is a placeholder" in creation.reason


async def test_code_that_fails_the_checks_never_runs(case: Case) -> None:
    with pytest.raises(CreationError):
        await case.create(*["import os\ndef nth_fibonacci(n):\n    return os.fork() * n"] * 6)
    assert case.memory.tried == []
    assert len(case.memory.checked) == 5


async def test_programs_of_a_weak_model_vote_too(case: Case) -> None:
    program = f"```python\nprint({ANSWER})\n```"
    creation = await case.create(*[RAISES] * 20, programs=[program] * 6)
    assert (creation.choice, creation.value) == ("scratch", str(ANSWER))
    assert creation.reason == "only one-off programs gave this answer"


PROGRAM = """
n = 57
a, b = 0, 1
for _ in range(n):
    a, b = b, a + b
print(a)
"""
OTHER_PROGRAM = """
values = [0, 1]
while len(values) <= 57:
    values.append(values[-1] + values[-2])
print(values[57])
"""


async def test_a_program_that_writes_the_values_once_becomes_the_tool(case: Case) -> None:
    creation = await case.create(*[RAISES] * 20, programs=[PROGRAM, OTHER_PROGRAM] * 3)
    assert (creation.choice, creation.value) == ("create", ANSWER)
    assert creation.tool is not None
    outcome = await case.sandbox.run(Job(creation.tool.source, creation.tool.name, {"n": 60}))
    assert outcome.value == 1548008755920
    assert "57" not in creation.tool.source


async def test_a_program_has_the_data_of_the_question_without_copying_it(case: Case) -> None:
    table = "name,units\nAnn,3\nBo,4"
    spec = {
        "purpose": "Sum of the units.",
        "name": "sum_units",
        "parameters": [{"name": "table", "type": "str", "value": "TEXT1"}],
        "returns": "int",
    }
    one = "print(sum(int(line.split(',')[1]) for line in TEXT1.splitlines()[1:]))"
    other = f"TEXT1 = {table!r}\ntotal = 0\nfor row in TEXT1.split('\\n')[1:]:\n    total += int(row[-1])\nprint(total)"
    creation = await case.create(
        *["no code"] * 20,
        specs=[spec],
        tests=[{"arguments": {"table": "name,units\nCy,9"}, "expected": 9}],
        question=f"Here is a table:\n{table}\nHow many units are there?",
        programs=[one, other] * 3,
    )
    assert (creation.choice, creation.value) == ("create", 7)
    asked = [text for who, text in case.writer.asked if who == "program"]
    assert not [text for text in asked if "TEXT1" in text and "Ann" not in text]
    assert creation.tool is not None
    assert "Ann" not in creation.tool.source


async def test_a_program_that_is_a_candidate_too_counts_once(case: Case) -> None:
    creation = await case.create(*[RAISES] * 20, tests=[], programs=[PROGRAM] + ["no idea"] * 20)
    assert (creation.choice, creation.value) == ("scratch", ANSWER)
    assert len([candidate for candidate in case.memory.tried if candidate.answered]) == 1


async def test_without_values_only_programs_are_asked(case: Case) -> None:
    spec = {**SPEC, "parameters": []}
    program = "print(6 * 7)"
    creation = await case.create(specs=[spec], question="What is the answer?", programs=[program] * 6)
    assert (creation.choice, creation.value) == ("scratch", "42")
    assert case.writer.times("code") == 0


async def test_when_nothing_at_all_was_written_there_is_nothing_to_repair(case: Case) -> None:
    with pytest.raises(CreationError, match=r"none of 0 programs .* none was written"):
        await case.create(specs=[{**SPEC, "parameters": []}], question="Why?", programs=["1 / 0"] * 6)


async def test_a_tool_that_breaks_its_own_promise_is_not_kept(case: Case) -> None:
    tests = [{"arguments": {"n": 10}, "expected": 5.5}, {"arguments": {"n": 3}, "expected": 2}]
    creation = await case.create("def nth_fibonacci(n: int) -> int:\n    return (n + 1) / 2", tests=tests)
    assert (creation.choice, creation.value, case.files) == ("scratch", 29.0, [])
    assert "its annotations do not fit" in creation.reason
    assert "5.5 (number), expected integer" in creation.reason


async def test_a_weak_model_goes_on_after_the_line_it_was_given(case: Case) -> None:
    body = "    a, b = 0, 1\n    for _ in range(n):\n        a, b = b, a + b\n    return a"
    creation = await case.create(*[body] * 20, programs=[OTHER_PROGRAM] * 6)
    assert (creation.choice, creation.value) == ("create", ANSWER)
    begun = [text for who, text in case.writer.asked if who == "code"]
    assert begun[0].endswith("def nth_fibonacci(n: int) -> int:")


async def test_a_library_that_cannot_be_written_costs_the_tool_and_not_the_answer(case: Case, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    case.shelf = LibraryShelf(Library(tmp_path / "file" / "tools"))
    creation = await case.create(LOOP)
    assert (creation.choice, creation.value, creation.tool) == ("scratch", ANSWER, None)
    assert str(tmp_path / "file") in creation.reason


async def test_a_limit_reached_while_writing_ends_with_what_there_is(case: Case) -> None:
    creation = await case.create(LUCAS, LUCAS, programs=[StoppedError("the limit of tokens is reached")])
    assert (creation.choice, creation.value) == ("scratch", 817138163596)
    assert case.memory.notes == ["the run's limit was reached while the tool was being written"]


async def test_a_limit_reached_before_any_code_is_an_error(case: Case) -> None:
    with pytest.raises(CreationError, match="none was written"):
        await case.create(StoppedError("the limit of tokens is reached"))


async def test_endless_loops_cost_one_try_each(case: Case) -> None:
    endless = "def nth_fibonacci(n):\n    while n > 0:\n        n += 1\n    return n"
    creation = await case.create(endless, LOOP)
    assert creation.choice == "create"
    assert len(case.memory.tried[0].outcomes) == 1


async def test_an_unusable_name_is_an_error(case: Case) -> None:
    with pytest.raises(CreationError, match="no usable name"):
        await case.create(LOOP, specs=[{**SPEC, "name": "57", "purpose": "57"}])


async def test_missing_values_are_asked_for_once(case: Case) -> None:
    bare = {**SPEC, "parameters": []}
    creation = await case.create(LOOP, specs=[bare, SPEC])
    assert creation.arguments == {"n": 57}
    assert "57" in case.writer.asked[1][1]
    assert case.writer.times("writer") == 2


TEA = "What is the total of the tea sold in the south?"
TEA_SPEC = {
    "purpose": "The total of a product in a region.",
    "name": "product_total",
    "parameters": [
        {"name": "item", "type": "str", "value": "tea"},
        {"name": "area", "type": "str", "value": "south"},
    ],
    "returns": "float",
}
SOLD = [
    ("region", "product", "total"),
    ("south", "tea", 10.5),
    ("north", "milk", 3.0),
    ("south", "milk", 4.0),
    ("north", "tea", 7.0),
    ("south", "tea", 14.0),
]
BY_CSV = """
import csv
def product_total(path, item, area):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    return sum(float(row["total"]) for row in rows if row["product"] == item and row["region"] == area)
"""
BY_HAND = """
def product_total(path, item, area):
    total = 0.0
    with open(path) as file:
        for line in list(file)[1:]:
            where, what, amount = line.strip().split(",")
            if (where, what) == (area, item):
                total += float(amount)
    return total
"""
BY_PANDAS = """
import pandas as pd
def product_total(path, item, area):
    table = pd.read_excel(path)
    return float(table[(table["product"] == item) & (table["region"] == area)]["total"].sum())
"""
BY_QUERY = """
import pandas as pd
def product_total(path, item, area):
    total = 0.0
    for _, row in pd.read_excel(path).iterrows():
        total += float(row["total"]) if row["product"] == item and row["region"] == area else 0.0
    return total
"""
BY_JSON = """
import json
def product_total(path, item, area):
    with open(path) as file:
        return sum(row["total"] for row in json.load(file) if row["product"] == item and row["region"] == area)
"""
BY_LOOP = """
import json
def product_total(path, item, area):
    total = 0.0
    with open(path) as file:
        for row in json.load(file):
            total += row["total"] * (row["product"] == item) * (row["region"] == area)
    return total
"""


def sold(folder: Path, extension: str) -> Path:
    """The table of the question as a file of some kind."""
    path = folder / f"sold.{extension}"
    if extension == "csv":
        path.write_text("".join(",".join(map(str, row)) + "\n" for row in SOLD))
    elif extension == "json":
        path.write_text(json.dumps([dict(zip(SOLD[0], row, strict=True)) for row in SOLD[1:]]))
    else:
        from openpyxl import Workbook

        book = Workbook()
        for row in SOLD:
            book.active.append(row)
        book.save(path)
    return path


@pytest.mark.parametrize(
    ("extension", "codes"),
    [("csv", (BY_CSV, BY_HAND)), ("json", (BY_JSON, BY_LOOP)), ("xlsx", (BY_PANDAS, BY_QUERY))],
    ids=["csv", "json", "xlsx"],
)
async def test_a_tool_over_a_file_is_proved_with_what_else_stands_in_it(
    case: Case, tmp_path: Path, extension: str, codes: tuple[str, str]
) -> None:
    """The values of the question are words that cannot be varied, and the file has others in their columns."""
    path = sold(tmp_path, extension)
    creation = await case.create(*codes, question=TEA, files=(path,), specs=[TEA_SPEC])
    assert (creation.choice, creation.value, creation.tool and creation.tool.name) == ("create", 24.5, "product_total")
    assert creation.tool is not None
    tried = [(test["arguments"]["item"], test["arguments"]["area"]) for test in creation.tool.provenance["tests"]]
    assert {("milk", "south"), ("tea", "north"), ("milk", "north")} <= set(tried)


async def test_a_tool_that_was_tried_once_is_not_said_to_be_constant(case: Case, tmp_path: Path) -> None:
    """The file is of a kind whose columns nobody knows, and the values cannot be varied."""
    path = tmp_path / "note.txt"
    path.write_text("Tea\n")
    spec = {**TEA_SPEC, "parameters": [{"name": "item", "type": "str", "value": "Tea"}], "returns": "bool"}
    one = "def product_total(path, item):\n    return item in open(path).read()"
    other = "def product_total(path, item):\n    return any(item in line for line in open(path))"
    creation = await case.create(one, other, question="Is there Tea in it?", files=(path,), specs=[spec])
    assert creation.choice == "scratch"
    assert creation.reason == "it was tried with the question's own arguments only: what others give is not known"


async def test_a_tool_that_fails_on_all_other_arguments_is_told_as_that(case: Case) -> None:
    code = "def nth_fibonacci(n):\n    return {57: 365435296162}[n]"
    creation = await case.create(*[code] * 6, tests=[])
    assert creation.choice == "scratch"
    assert "it fails on all of the 4 other argument sets that were tried" in creation.reason
