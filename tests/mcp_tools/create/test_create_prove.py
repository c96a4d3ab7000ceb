"""A proposed tool is proved and kept unchanged, or the author learns what to fix."""

from __future__ import annotations

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]  # it has no types
import pytest
from creating import Case, LibraryStore, exam

from mcp_tools.create.approve import run_tests
from mcp_tools.create.sample_files import usable, with_files
from mcp_tools.hosts import Carry
from mcp_tools.library.library import Library
from mcp_tools.packages import file_packages, imported
from mcp_tools.run import run_tool
from mcp_tools.sandbox.protocol import Job, Outcome, Sandbox
from mcp_tools.tool import Capabilities, Json, Status

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION = "What does a loan of 250,000 at 4.2 % cost a month over 25 years?"
ANNUITY = '''"""Loans."""

from typing import Literal

MONTHS = {"month": 12, "quarter": 4, "year": 1}  # payments a year


def rate_per_period(percent: float, periods: int) -> float:
    return percent / 100 / periods


def loan_payment(
    principal: float,  # what is owed at the start
    annual_rate: float,
    years: int,
    *,
    period: Literal['month', 'quarter', 'year'] = 'month',
) -> float:
    """Compute the constant payment that repays a loan with interest.

    The interest is compounded in each period.

    Args:
        principal: Amount borrowed, in any currency; at least 0.
        annual_rate: Nominal interest in percent a year, such as 4.2.
        years: Whole years until the loan is repaid.
        period: How often a payment is made.

    Returns:
        The payment of each period, in the currency of the principal.

    Raises:
        ValueError: The principal is negative, or the years are not positive.

    Example:
        >>> loan_payment(1200.0, 0.0, 1)
        100.0
    """
    if principal < 0 or years <= 0:
        raise ValueError("principal must not be negative, and years must be positive")
    periods = MONTHS[period]
    rate = rate_per_period(annual_rate, periods)
    count = years * periods
    if rate == 0:
        return principal / count
    return principal * rate / (1 - (1 + rate) ** -count)  # annuity formula
'''
ARGUMENTS = {"principal": 250000.0, "annual_rate": 4.2, "years": 25, "period": None}
TESTS: list[dict[str, Any]] = [
    {"arguments": {"principal": 1200.0, "annual_rate": 0.0, "years": 1}, "expected": 100.0},
    {"arguments": {"principal": 1000.0, "annual_rate": 10.0, "years": 1, "period": "year"}, "expected": 1100.0},
    {"arguments": {"principal": 0.0, "annual_rate": 5.0, "years": 2}, "expected": 0.0},
    {"arguments": {"principal": -1.0, "annual_rate": 5.0, "years": 2}, "raises": True},
]


@pytest.fixture
def case(sandbox: Sandbox, store: LibraryStore) -> Case:
    return Case(sandbox, store)


async def test_a_proved_tool_is_kept_byte_for_byte_with_its_descriptions(case: Case) -> None:
    creation = await case.prove(ANNUITY, ARGUMENTS, exam(*TESTS), question=QUESTION)
    assert (creation.choice, creation.tool and creation.tool.name) == ("create", "loan_payment"), creation.reason
    assert round(creation.value, 2) == 1347.36
    assert creation.arguments == {"principal": 250000.0, "annual_rate": 4.2, "years": 25}
    tool = case.store.library.get("loan_payment")
    assert tool.source == ANNUITY
    assert tool.status is Status.VERIFIED
    properties = tool.input_schema["properties"]
    assert properties["period"] == {
        "enum": ["month", "quarter", "year"],
        "type": "string",
        "default": "month",
        "description": "How often a payment is made.",
    }
    assert properties["annual_rate"]["description"] == "Nominal interest in percent a year, such as 4.2."
    assert tool.input_schema["required"] == ["principal", "annual_rate", "years"]
    assert tool.description.startswith("Compute the constant payment that repays a loan with interest.")
    assert tool.annotations["title"] == "Compute the constant payment that repays a loan with interest"
    made = tool.provenance
    assert (made["model"], made["examiner"], made["run"]) == ("writer-1", "examiner-1", "run-1")
    assert len(made["tests"]) == 4
    assert 0 < made["evidence"]["killed"] <= made["evidence"]["mutants"]
    assert (
        await run_tool(tool, {"principal": 100, "annual_rate": 0, "years": 5}, case.sandbox)
    ).value == pytest.approx(5 / 3)
    # the examiner sees types, signature and docstring only
    (seen,) = case.asked.messages
    assert "period: Literal['month', 'quarter', 'year']='month'" in seen
    assert "Nominal interest in percent a year" in seen
    assert QUESTION not in seen
    assert "annuity formula" not in seen
    assert "MONTHS[" not in seen
    (schema,) = case.asked.schemas
    assert list(schema["properties"]["tests"]["items"]["properties"]) == ["call", "because", "result"]
    assert json.dumps([seen, schema]).count("Nominal interest in percent a year") == 1


async def test_a_tool_that_does_the_same_is_reused_without_an_examiner_and_another_gets_the_next_name(
    case: Case,
) -> None:
    await case.prove(ANNUITY, ARGUMENTS, exam(*TESTS))
    other = ANNUITY.replace("loan_payment", "monthly_payment").replace("rate_per_period", "_rate")
    again = await case.prove(other, {"principal": 100000.0, "annual_rate": 3.0, "years": 10})
    assert (again.choice, again.tool and again.tool.name) == ("reuse", "loan_payment"), again.reason
    assert round(again.value, 2) == 965.61
    assert len(case.asked.messages) == 1
    wider = ANNUITY.replace("return principal / count", "return principal / count + 1").replace("  100.0", "  101.0")
    forms: list[dict[str, Any]] = [
        {**TESTS[0], "expected": 101.0},
        *TESTS[1:2],
        {**TESTS[2], "expected": 0.0},
        TESTS[3],
    ]
    again = await case.prove(wider, {**ARGUMENTS, "annual_rate": 0.0}, exam(*forms))
    assert (again.choice, again.tool and again.tool.name) == ("create", "loan_payment_2"), again.reason
    assert again.tool is not None
    assert again.tool.source == wider.replace("loan_payment(", "loan_payment_2("), "also in the docstring's example"
    assert again.tool.provenance["rejected"] == ["loan_payment: gives different results"]


COUNT = '''def count_words(text: str, minimum_length: int) -> int:
    """Count the words of a text that have a least length.

    Args:
        text: Words separated by white space.
        minimum_length: Characters that a word must have to count.

    Returns:
        How many words there are.
    """
    return sum(len(word) >= minimum_length for word in text.split())
'''
WORDS = {"text": "one three five", "minimum_length": 4}
COUNT_TESTS: list[dict[str, Any]] = [
    {"arguments": {"text": "a bb ccc", "minimum_length": 2}, "expected": 2},
    {"arguments": {"text": "", "minimum_length": 1}, "expected": 0},
    {"arguments": {"text": "a b", "minimum_length": 1}, "expected": 2},
    {"arguments": {"text": "aa b", "minimum_length": 2}, "expected": 1},
]


async def test_a_failed_test_that_is_confirmed_goes_back_with_all_that_is_needed(case: Case) -> None:
    wrong = COUNT.replace(">=", ">")
    rulings = {"results": [{"because": "bb and ccc have two or more", "result": result} for result in "221"]}
    creation = await case.prove(wrong, WORDS, exam(*COUNT_TESTS), rulings)
    assert (creation.choice, creation.tool, creation.value, creation.answered) == ("not_kept", None, 2 - 1, True)
    assert "count_words(text='a bb ccc', minimum_length=2) must give 2" in creation.reason
    assert "it gives 1" in creation.reason
    assert "the docstring" in creation.reason
    assert case.store.library.list() == []
    mended = await case.prove(COUNT, WORDS, again=True)
    assert mended.choice == "create", mended.reason
    assert len(case.asked.messages) == 2, "the tests are those of the first proposal"


async def test_repaired_code_meets_the_tests_of_the_first_proposal(case: Case) -> None:
    failing = await case.prove(COUNT.replace("text.split()", "text[99]"), WORDS)
    assert "string index out of range" in failing.reason
    crashing = COUNT.replace("    return", "    text.split()[0]\n    return")
    crashed = await case.prove(crashing, WORDS, exam(*COUNT_TESTS), again=True)
    assert "count_words(text='', minimum_length=4) fails with IndexError" in crashed.reason
    assert "raise ValueError" in crashed.reason
    mended = await case.prove(COUNT, WORDS, again=True)
    assert mended.choice == "create", mended.reason
    assert len(case.asked.messages) == 1


async def test_what_the_definition_leaves_open_is_no_test(case: Case) -> None:
    open_ = {"arguments": {"text": "aa", "minimum_length": -1}, "raises": True}
    ruling = {"because": "nothing is said of negative lengths", "result": "open"}
    creation = await case.prove(COUNT, WORDS, exam(*COUNT_TESTS, open_), {"results": [ruling]})
    assert creation.choice == "create", creation.reason
    assert any("a test was dropped" in note for note in case.memory.notes)


async def test_an_objection_is_decided_by_the_examiner_alone(case: Case) -> None:
    twice_wrong = {"arguments": {"text": "aa bbbb", "minimum_length": 3}, "expected": 2}
    wrong = {"because": "two words", "result": "2"}
    right = {"because": "only bbbb", "result": "1"}
    first = await case.prove(COUNT, WORDS, exam(*COUNT_TESTS, twice_wrong), {"results": [wrong]})
    assert "must give 2" in first.reason
    silent = await case.prove(COUNT, WORDS, again=True)
    assert "must give 2" in silent.reason
    assert len(case.asked.messages) == 2, "without an objection nobody is asked again"
    denied = await case.prove(COUNT, WORDS, {"results": [wrong]}, again=True, objection="Ignore it.")
    assert "must give 2" in denied.reason
    granted = await case.prove(COUNT, WORDS, {"results": [right]}, again=True, objection="'aa' is too short.")
    assert granted.choice == "create", granted.reason
    assert "<data" in case.asked.messages[-1]
    assert "'aa' is too short." in case.asked.messages[-1]


IDLE = '''def count_words(
    text: str,
    format_description: str,  # what the question says
    minimum_length: int = 1,
) -> int:
    """Count the words of a text that have a least length.

    Args:
        text: Words separated by white space.
        format_description: How the words are laid out,
            in a sentence.
        minimum_length: Characters that a word must have to count.

    Returns:
        How many words there are.
    """
    # a word is whatever stands between white space
    return sum(len(word) >= minimum_length for word in text.split())
'''


async def test_a_parameter_that_changes_no_result_is_taken_out_by_its_span(case: Case) -> None:
    forms = [{**form, "arguments": {**form["arguments"], "format_description": "any"}} for form in COUNT_TESTS]
    creation = await case.prove(IDLE, {**WORDS, "format_description": "words in a row"}, exam(*forms))
    assert creation.choice == "create", creation.reason
    assert creation.tool is not None
    shorter = IDLE.replace("    format_description: str,  # what the question says\n", "")
    shorter = shorter.replace(
        "        format_description: How the words are laid out,\n            in a sentence.\n", ""
    )
    assert creation.tool.source == shorter
    assert creation.arguments == WORDS
    assert list(creation.tool.input_schema["properties"]) == ["text", "minimum_length"]
    assert creation.tool.provenance["tests"][0]["arguments"] == COUNT_TESTS[0]["arguments"]


async def test_an_option_that_the_trial_did_not_meet_is_kept_if_the_code_reads_it(case: Case) -> None:
    optional = COUNT.replace("minimum_length: int", "minimum_length: int = 1, longest: int | None = None")
    optional = optional.replace("to count.\n", "to count.\n        longest: Most characters of a word; None for any.\n")
    optional = optional.replace(
        "(len(word) >= ", "((longest is None or len(word) <= longest + 10**9) and len(word) >= "
    )
    plain: dict[str, Json] = {"arguments": {"text": "a bb ccc"}, "expected": 3}
    creation = await case.prove(optional, WORDS, exam(*COUNT_TESTS, plain))
    assert creation.choice == "create", creation.reason
    assert creation.tool is not None
    assert creation.tool.source == optional


async def test_a_wrong_example_in_the_docstring_is_told_and_nobody_is_asked(case: Case) -> None:
    example = '    """Count the words of a text that have a least length.\n\n    >>> count_words("a bb", 2)\n    '
    code = COUNT.replace('    """Count the words of a text that have a least length.\n', example + "2\n")
    creation = await case.prove(code, WORDS)
    assert (creation.choice, creation.value) == ("not_kept", 2)
    assert (
        "count_words(text='a bb', minimum_length=2) must give 2 (\"the docstring's example\"); it gives 1"
        in creation.reason
    )
    assert case.asked.messages == []
    right = await case.prove(code.replace("    2\n", "    1\n"), WORDS, exam(*COUNT_TESTS))
    assert right.choice == "create", right.reason
    assert right.tool is not None
    assert [test["origin"] for test in right.tool.provenance["tests"]] == ["docstring", *["examiner"] * 4]


NEVER = {
    "placeholder": (COUNT.replace("minimum_length", "number_1"), "'number_1' is a placeholder"),
    "no description": (
        COUNT.replace("Characters that a word must have to count.", ""),
        "do not describe 'minimum_length'",
    ),
    "repeated function": (COUNT.replace(" of a text that have a least length", ""), "only repeats its name"),
    "no docstring": (
        "def count_words(text: str, least: int) -> int:\n    return len(text) + least\n",
        "has no docstring",
    ),
    "subprocess": ("import subprocess\n" + COUNT, "tools cannot start processes"),
}


@pytest.mark.parametrize(("code", "reason"), NEVER.values(), ids=NEVER.keys())
async def test_what_nobody_else_could_use_is_not_kept_but_answers(case: Case, code: str, reason: str) -> None:
    name = next(n for n in ("number_1", "value2", "minimum_length", "least") if n in code)
    creation = await case.prove(code, {"text": "one three five", name: 4})
    assert creation.choice == "not_kept"
    assert creation.answered
    assert creation.value in (2, 18)
    assert reason in creation.reason
    assert case.asked.messages == [], "nobody is asked for tests of it"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("def count_words(text: str", "parses: Python says"),
        (COUNT.replace("text.split()", "text[99]"), "string index out of range"),
        (COUNT + "\n\ndef other_tool(a: int) -> int:\n    '''Other tool.'''\n    return a\n", "could each be the tool"),
    ],
    ids=["syntax", "exception", "two tools"],
)
async def test_code_that_gives_nothing_says_why(case: Case, code: str, reason: str) -> None:
    creation = await case.prove(code, WORDS)
    assert (creation.choice, creation.tool) == ("not_kept", None)
    assert reason in creation.reason
    assert not creation.answered
    assert case.asked.messages == [], "no tests are written for what cannot be kept"


HOSTILE = {
    "never ends": ("    while True:\n        minimum_length += 1\n", "its time limit of"),
    "too much memory": ("    text = text + ' ' * 10**10\n", "memory"),
    "reads the machine": ("    text = open('/etc/passwd').read()\n", "fails with the question's own arguments"),
}


@pytest.mark.parametrize(("line", "reason"), HOSTILE.values(), ids=HOSTILE.keys())
async def test_hostile_code_is_held_and_told(case: Case, line: str, reason: str) -> None:
    code = COUNT.replace("    return sum", line + "    return sum")
    limited = Capabilities(seconds=1.0)
    creation = await case.prove(code, WORDS, exam(*COUNT_TESTS), capabilities=limited)
    assert creation.answered == (reason == "")
    assert reason in creation.reason
    assert [tool.name for tool in case.store.library.list()] == ([] if reason else ["count_words"])


async def test_tests_that_do_not_fit_the_schema_are_no_tests(case: Case) -> None:
    unfit = {"arguments": {"text": 3, "minimum_length": "x"}, "expected": 0}
    wrong_result = {"arguments": {"text": "a", "minimum_length": 1}, "expected": "one"}
    creation = await case.prove(COUNT, WORDS, exam(unfit, wrong_result))
    assert (creation.choice, creation.value) == ("not_kept", 2)
    assert "no usable test with arguments other than" in creation.reason


UNREADABLE = {
    "no call": ("2", "2"),
    "computed": ("count_words('a' * 3, 1)", "1"),
    "not finite": ("count_words('a', 1e999)", "1"),
    "a set": ("count_words({'a'}, 1)", "1"),
    "no python": ("count_words('a', 1)", "1 word"),
}


async def test_what_cannot_be_read_is_no_test(case: Case) -> None:
    unreadable = [{"call": call, "because": "?", "result": result} for call, result in UNREADABLE.values()]
    creation = await case.prove(COUNT, WORDS, {"tests": unreadable})
    assert "no usable test with arguments other than" in creation.reason
    good = {"tests": [*exam(*COUNT_TESTS)["tests"], *unreadable]}
    assert (await case.prove(COUNT, WORDS, good)).choice == "create"


async def test_what_an_examiner_calls_a_one_off_answers_and_is_not_kept(case: Case) -> None:
    creation = await case.prove(COUNT, WORDS, {"one_off": "two steps in one", **exam(*COUNT_TESTS)})
    assert (creation.choice, creation.value, creation.tool) == ("one_off", 2, None)
    assert "two steps in one" in creation.reason


SALES = '''import csv


def total_of(path: str, column: str, *, region: str | None = None) -> float:
    """Add up a numeric column of a CSV file.

    Args:
        path: A CSV file with a header; the column `region` is there if rows are to be chosen by it.
        column: Name of the column to add up; empty cells count as 0.
        region: Only rows of this region. None takes all.

    Returns:
        The sum, in the unit of the column.

    Raises:
        ValueError: There is no such column.
    """
    with open(path, newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        if column not in (rows.fieldnames or ()):
            raise ValueError(f"no column {column!r}")
        return sum(float(row[column] or 0) for row in rows if region in (None, row.get("region")))
'''


def sales_tests(name: str, text: str) -> list[dict[str, Any]]:
    files = [{"name": name, "text": text}]
    return [
        {"arguments": {"path": name, "column": "amount"}, "expected": 6.0, "files": files},
        {"arguments": {"path": name, "column": "amount", "region": "north"}, "expected": 4.0, "files": files},
        {"arguments": {"path": name, "column": "amount", "region": "west"}, "expected": 0.0, "files": files},
        {"arguments": {"path": name, "column": "price"}, "raises": True, "files": files},
    ]


class Recording:
    """A sandbox that records its jobs."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.ran: list[tuple[str, str, tuple[Path, ...]]] = []

    async def run(self, job: Job, *, carry: Carry | None = None) -> Outcome:
        self.ran.append((job.source, json.dumps(job.arguments), job.read))
        return await self._sandbox.run(job)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)


async def test_a_tool_over_files_is_proved_with_files_that_the_tests_bring(case: Case, tmp_path: Path) -> None:
    """The same proposal makes the same calls, so that it can be replayed."""
    table = tmp_path / "sales.csv"
    table.write_text("region,amount\nnorth,10\nsouth,5\n")
    forms = sales_tests("a.csv", "region,amount\nnorth,4\nsouth,2\n")
    more: dict[str, Any] = {"files": (table,), "capabilities": Capabilities(read=True, packages=file_packages())}
    runs = []
    for number in range(2):
        recording: Any = Recording(case.sandbox)
        store = LibraryStore(Library(tmp_path / f"tools_{number}", tmp_path / "data"))
        creation = await Case(recording, store).prove(
            SALES, {"path": str(table), "column": "amount"}, exam(*forms), **more
        )
        assert (creation.choice, creation.value) == ("create", 15.0), creation.reason
        store.library.close()
        runs.append(recording.ran)
    assert runs[0] == runs[1]
    assert len(runs[0]) < 60
    assert creation.tool is not None
    assert creation.tool.capabilities == Capabilities(read=True)
    assert creation.tool.provenance["tests"][0]["files"] == {"a.csv": "region,amount\nnorth,4\nsouth,2\n"}
    done = await run_tests(creation.tool, case.sandbox)
    assert (len(done.passed), done.failed) == (4, [])


async def test_a_workbook_is_brought_as_rows(case: Case, tmp_path: Path) -> None:
    code = SALES.replace("import csv", "import openpyxl").replace("CSV file", "workbook")
    code = (
        code[: code.index("    with open")]
        + """    header, *rows = openpyxl.load_workbook(path).active.values
    if column not in header:
        raise ValueError(f"no column {column!r}")
    table = [dict(zip(header, row)) for row in rows]
    return float(sum(row[column] or 0 for row in table if region in (None, row.get("region"))))
"""
    )
    book = tmp_path / "sales.xlsx"
    pd.DataFrame({"region": ["north", "south"], "amount": [1, 2]}).to_excel(book, index=False)
    text = json.dumps({"Sales": [["region", "amount"], ["north", 4], ["south", 2]]})
    more: dict[str, Any] = {"files": (book,), "capabilities": Capabilities(read=True, packages=file_packages())}
    creation = await case.prove(
        code, {"path": str(book), "column": "amount"}, exam(*sales_tests("b.xlsx", text)), **more
    )
    assert (creation.choice, creation.value) == ("create", 3.0), creation.reason


SIZES = '''import zipfile


def unpacked_size(path: str, suffix: str = "") -> int:
    """Add up the sizes of the files in a ZIP archive as they are unpacked.

    Args:
        path: Path of the archive.
        suffix: The end of the names that count, such as .txt; empty for all names.

    Returns:
        The sum of the sizes in bytes.

    Raises:
        ValueError: The file is no ZIP archive.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return sum(one.file_size for one in archive.infolist() if one.filename.endswith(suffix))
    except zipfile.BadZipFile as error:
        raise ValueError("no ZIP archive") from error
'''


async def test_an_archive_is_brought_as_the_texts_of_its_members(case: Case, tmp_path: Path) -> None:
    photos = tmp_path / "photos.zip"
    with zipfile.ZipFile(photos, "w") as archive:
        archive.writestr("a.txt", "12345")
    forms: list[dict[str, Any]] = [
        {"arguments": {"path": "b.zip"}, "expected": 5, "files": {"a.txt": "abc", "b/c.md": "de"}},
        {"arguments": {"path": "b.zip", "suffix": ".md"}, "expected": 2, "files": {"a.txt": "abc", "b/c.md": "de"}},
        {"arguments": {"path": "b.zip"}, "expected": 0, "files": {}},
        {"arguments": {"path": "b.zip"}, "expected": 4, "files": {"a": "äö"}},
    ]
    for form in forms:
        form["files"] = [{"name": "b.zip", "text": json.dumps(form["files"])}]
    forms.append(
        {"arguments": {"path": "c.txt"}, "raises": True, "files": [{"name": "c.txt", "text": "this is no archive"}]}
    )
    more: dict[str, Any] = {"files": (photos,), "capabilities": Capabilities(read=True, packages=file_packages())}
    creation = await case.prove(SIZES, {"path": str(photos)}, exam(*forms), **more)
    assert (creation.choice, creation.value) == ("create", 5), creation.reason
    assert creation.tool is not None
    assert len((await run_tests(creation.tool, case.sandbox)).passed) == 5


async def test_a_text_file_of_a_test_needs_no_package() -> None:
    packages = ("openpyxl", "pandas", "python-calamine")
    for files in ({"a.csv": "x"}, {"b.xlsx": '{"S": [["x"], [1]]}'}):
        assert usable(files)
        assert imported(with_files("def f(x): return x", files), packages) == ()
    assert with_files("", {"b.xlsx": '{"S": [["x"], [2]]}'}) == with_files("", {"b.xlsx": '{"S": [["x"], [2]]}'})


@pytest.mark.parametrize(
    "files",
    [
        {"a.zip": '{"a.txt": 1}'},
        {"a.zip": "[1]"},
        {"a.xlsx": '{"a/b": [[1]]}'},
        {"a.xlsx": '{"a": [[{"b": 1}]]}'},
        {"a.txt": "x" * 200_000},
    ],
    ids=["a number in a zip", "no members", "a title", "a cell", "too long"],
)
async def test_odd_files_of_tests_are_not_used(files: dict[str, str]) -> None:
    assert not usable(files)


async def test_files_of_tests_that_cannot_be_written_are_left_out(case: Case, tmp_path: Path) -> None:
    table = tmp_path / "sales.csv"
    table.write_text("region,amount\nnorth,10\nsouth,5\n")
    more: dict[str, Any] = {"files": (table,), "capabilities": Capabilities(read=True)}
    names = ("../a.csv", ".csv", "a.pdf", "x/a.csv", "b.xlsx")
    forms = [form for name in names for form in sales_tests(name, "[]")] + sales_tests("c.xlsx", "[" * 100_000)
    creation = await case.prove(SALES, {"path": str(table), "column": "amount"}, exam(*forms), **more)
    assert (creation.choice, creation.value) == ("not_kept", 15.0)
    assert "the examiner wrote no usable test with arguments other than" in creation.reason


async def test_a_tool_over_a_kind_of_file_that_no_test_can_bring_is_not_kept(case: Case, tmp_path: Path) -> None:
    page = tmp_path / "page.pdf"
    page.write_text("region,amount\nnorth,10\n")
    more: dict[str, Any] = {"files": (page,), "capabilities": Capabilities(read=True)}
    creation = await case.prove(SALES, {"path": str(page), "column": "amount"}, **more)
    assert (creation.choice, creation.value) == ("not_kept", 10.0)
    assert "tests cannot contain a file such as page.pdf" in creation.reason


FEE = '''def parking_fee(minutes: int) -> int:
    """Compute the fee of a car park.

    Args:
        minutes: Time parked, at least 0.

    Returns:
        The fee in cents: 200 from minute 30 on, 50 more per 20 minutes after minute 60, at most 900 before minute 720.

    Raises:
        ValueError: The minutes are negative.

    Example:
        >>> parking_fee(0)
        0
    """
    if minutes < 0:
        raise ValueError("minutes must not be negative")
    if minutes < 30:
        return 0
    if minutes < 60:
        return 200
    fee = 200 + 50 * ((minutes - 60) // 20 + 1)
    return min(fee, 900) if minutes < 720 else 900 + 200
'''


async def test_a_tool_whose_tests_are_weak_is_not_kept_until_its_author_adds_examples(case: Case) -> None:
    tests = exam({"arguments": {"minutes": 5}, "expected": 0}, {"arguments": {"minutes": 45}, "expected": 200})
    weak = await case.prove(FEE, {"minutes": 80}, tests)
    assert (weak.choice, weak.value) == ("not_kept", 300)
    assert re.fullmatch(r"Weak tests: caught only \d of \d+ deliberate bugs\.", weak.headline), weak.headline
    assert weak.reason.count("` -> `") == 3
    assert not [*case.store.library.list()]
    examples = "".join(
        f"        >>> parking_fee({minutes})\n        {fee}\n"
        for minutes, fee in ((29, 0), (30, 200), (60, 250), (79, 250), (80, 300), (700, 900), (719, 900), (720, 1100))
    )
    mended = FEE.replace("        >>> parking_fee(0)\n", f"{examples}        >>> parking_fee(0)\n")
    kept = await case.prove(mended, {"minutes": 80}, tests, again=True)
    assert kept.choice == "create", kept.reason
    assert kept.tool is not None
    evidence = kept.tool.provenance["evidence"]
    assert 2 * evidence["killed"] >= evidence["mutants"]
