"""A proposed tool is compared with a slow version on random arguments, and with the limits in its docstring."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from creating import LibraryStore, Memory

from mcp_tools.create.approve import approve, review
from mcp_tools.create.examiner import ModelExaminer
from mcp_tools.create.interfaces import Creation, Proposal, TrialCall
from mcp_tools.create.proposal_runner import ProposalRunner
from mcp_tools.create.prove import prove
from mcp_tools.errors import AlitaError
from mcp_tools.sandbox.protocol import Sandbox
from mcp_tools.tool import Json, Status, Tool, object_schema

pytestmark = pytest.mark.asyncio(loop_scope="module")

PERCENTILE = '''"""Percentiles."""
import math


def nearest_rank_percentile(values: list[float], percent: float) -> float:
    """Find a percentile by the nearest-rank method.

    Args:
        values: Numbers in any order, at least one.
        percent: Share in percent, 1 to 100.

    Returns:
        The smallest value that at least this share of all values do not exceed.

    Raises:
        ValueError: If values is empty or percent is outside its range.

    Example:
        >>> round(nearest_rank_percentile([15.0, 20.0, 35.0, 40.0, 50.0], 40), 1)
        20.0
    """
    if not values or not 1 <= percent <= 100:
        raise ValueError("values must not be empty, and percent must be 1 to 100")
    rank = math.ceil(percent * len(values) / 100)
    return sorted(values)[rank - 1]
'''
WRONG = PERCENTILE.replace("math.ceil(percent * len(values) / 100)", "max(1, round(percent * len(values) / 100))")
UNGUARDED = PERCENTILE.replace("not 1 <= percent <= 100", "percent > 100")
TESTS = {
    "nearest_rank_percentile([7], 50)": "7",
    "nearest_rank_percentile([15, 20, 35, 40, 50], 30)": "20",
    "nearest_rank_percentile([15, 20, 35, 40, 50], 100)": "50",
    "nearest_rank_percentile([15, 20, 35, 40, 50], 5)": "15",
    "nearest_rank_percentile([], 50)": "error",
}
SLOW = """
def nearest_rank_percentile(values, percent):
    if not values or percent < 1 or percent > 100:
        raise ValueError("outside")
    for value in sorted(values):
        if sum(other <= value for other in values) * 100 >= percent * len(values):
            return value
"""
DRAW = """
def draw(random):
    return {"values": [random.randint(-30, 30) for _ in range(random.randint(1, 9))], "percent": random.randint(1, 100)}
"""
ORDER = """
def relations(arguments, result):
    assert min(arguments["values"]) <= result, "it is one of the values"
    yield {**arguments, "values": arguments["values"][::-1]}, result
"""
ARGUMENTS: dict[str, Json] = {"values": [3.0, 9.0, 4.0, 12.0, 7.0, 8.0], "percent": 50.0}


class Answers:
    """A scripted model for the examiner: tests with a slow version, then rulings on disputed calls."""

    def __init__(self, reference: str, rulings: Sequence[str] = (), tests: dict[str, str] = TESTS) -> None:
        self.asked: list[str] = []
        self._tests, self._reference, self._rulings = tests, reference, rulings

    async def fill(self, messages: Sequence[dict[str, Any]], schema: dict[str, Json]) -> Json:
        self.asked.append(messages[-1]["content"])
        if "tests" in schema["properties"]:
            tests = [{"call": call, "because": "so", "result": result} for call, result in self._tests.items()]
            return {"tests": tests, "reference": self._reference}
        count = schema["properties"]["results"]["maxItems"]
        return {"results": [{"because": "so", "result": ruling} for ruling in [*self._rulings] * count][:count]}


async def proved(
    code: str, answers: Answers, sandbox: Sandbox, store: LibraryStore, **more: Any
) -> tuple[Creation, list[str]]:
    memory, proposal = Memory(), Proposal("?", code, more.pop("arguments", ARGUMENTS), **more)
    examiner = ModelExaminer(answers.fill, "examiner-1")
    return await prove(proposal, examiner=examiner, sandbox=sandbox, library=store, notify=memory), memory.notes


async def test_a_right_tool_is_kept_after_one_question(sandbox: Sandbox, store: LibraryStore) -> None:
    answers = Answers(SLOW + DRAW + ORDER)
    creation, notes = await proved(PERCENTILE, answers, sandbox, store)
    assert creation.choice == "create", creation.reason
    assert len(answers.asked) == 1
    assert not notes
    assert creation.tool is not None
    evidence = creation.tool.provenance["evidence"]
    assert evidence["drawn"] > 100
    assert evidence["killed"] >= 0.75 * evidence["mutants"] > 6


FOUND = {
    "by a slow version": (WRONG, SLOW + DRAW, "error", "slow version"),
    "by a value outside its limits": (UNGUARDED, SLOW + DRAW, "error", "percent=0"),
    "by a limit, without a slow version": (UNGUARDED, "", "error", "percent: Share in percent, 1 to 100"),
    "by another order": (
        PERCENTILE.replace("sorted(values)", "values"),
        DRAW + ORDER,
        "0.5",
        "this follows from nearest_rank_percentile",
    ),
    "by a bound": (
        PERCENTILE.replace("sorted(values)[rank - 1]", "sorted(values)[rank - 1] - (len(values) == 2)"),
        DRAW + ORDER,
        "0.5",
        "it is one of the values",
    ),
}


@pytest.mark.parametrize(("code", "reference", "ruling", "why"), FOUND.values(), ids=FOUND.keys())
async def test_a_wrong_tool_that_passes_its_tests_is_found(
    code: str, reference: str, ruling: str, why: str, sandbox: Sandbox, store: LibraryStore
) -> None:
    tests = {call: result for call, result in TESTS.items() if "15" not in call or "sorted" in code}
    if "(len(values) == 2)" in code or "sorted" not in code:
        tests = {"nearest_rank_percentile([7], 50)": "7", "nearest_rank_percentile([1, 2, 3], 50)": "2"}
    answers = Answers(reference, [ruling], tests)
    creation, _ = await proved(code, answers, sandbox, store)
    assert creation.choice == "not_kept"
    assert why in creation.reason
    assert creation.value == sorted(ARGUMENTS["values"])[2] or "sorted" not in code
    assert len(answers.asked) == 2


async def test_a_slow_version_that_fails_a_test_is_not_used(sandbox: Sandbox, store: LibraryStore) -> None:
    answers = Answers(SLOW.replace("return value", "return -value") + DRAW)
    creation, notes = await proved(PERCENTILE, answers, sandbox, store)
    assert creation.choice == "create", creation.reason
    assert len(answers.asked) == 1
    assert "slow version is not used" in notes[0]


async def test_a_wrong_slow_version_sinks_no_right_tool_and_is_told(sandbox: Sandbox, store: LibraryStore) -> None:
    slow = SLOW.replace("for value", "if len(values) == 2:\n        return 0.5\n    for value")
    shortest = {"nearest_rank_percentile([7], 50)": "7"}
    answers = Answers(slow + DRAW, ["open"], TESTS | shortest)
    creation, notes = await proved(PERCENTILE, answers, sandbox, store)
    assert creation.choice == "create", creation.reason
    assert len(answers.asked) == 2
    assert any("was dropped because the examiner did not confirm" in note for note in notes)


async def test_who_objects_is_believed_unless_the_examiner_finds_the_same_again(
    sandbox: Sandbox, store: LibraryStore
) -> None:
    slow = SLOW.replace("for value", "if len(values) == 2:\n        return 0.5\n    for value")
    refused, _ = await proved(PERCENTILE, Answers(slow + DRAW, ["0.25"]), sandbox, store)
    assert "a slow version, written from the docstring alone, gives this: 0.5" in refused.reason
    kept, _ = await proved(PERCENTILE, Answers(slow + DRAW, ["0.25"]), sandbox, store, objection="0.5 is no value")
    assert kept.choice == "create", kept.reason


HOSTILE = {
    "reads the machine": "print(open('/etc/passwd').read())\n",
    "ends its process": "import os\nos._exit(0)\n",
    "never ends": "while True: pass\n",
    "is no Python": "def draw(:\n",
    "imports the tool": "import nearest_rank_percentile\n",
}


@pytest.mark.parametrize("begin", HOSTILE.values(), ids=HOSTILE.keys())
async def test_code_of_the_examiner_runs_in_the_sandbox_and_its_failure_is_no_verdict(
    begin: str, sandbox: Sandbox, store: LibraryStore
) -> None:
    creation, _ = await proved(PERCENTILE, Answers(begin + SLOW + DRAW), sandbox, store)
    assert creation.choice == "create", creation.reason
    assert creation.tool is not None
    assert creation.tool.provenance["evidence"]["drawn"] == 0


async def test_code_of_the_examiner_reads_no_file_of_the_question(
    sandbox: Sandbox, store: LibraryStore, tmp_path: Path
) -> None:
    secret = tmp_path / "data.txt"
    secret.write_text("7")
    begin = f"print(open({str(secret)!r}).read())\n"
    creation, _ = await proved(PERCENTILE, Answers(begin + SLOW + DRAW), sandbox, store, data=(secret,))
    assert creation.tool is not None, creation.reason
    assert creation.tool.provenance["evidence"]["drawn"] == 0


FORGED = {
    "a verdict": "print('60 of 60 agree')\n",
    "a report": """
import os
_body = b'{"ok":true,"value":[' + b','.join([b'{"ok":true,"value":7.0}'] * 140) + b']}'
os.write(4, b"alita1" + len(_body).to_bytes(8, "big") + _body)
""",
    "its harness": """
import builtins
builtins.sum = lambda *_: 0
""",
}


@pytest.mark.parametrize("begin", FORGED.values(), ids=FORGED.keys())
async def test_what_a_tool_says_of_its_own_proof_is_not_believed(
    begin: str, sandbox: Sandbox, store: LibraryStore
) -> None:
    creation, _ = await proved(
        WRONG.replace("import math\n", f"import math\n{begin}"), Answers(SLOW + DRAW, ["error"]), sandbox, store
    )
    assert creation.tool is None


DAYS = '''from datetime import date


def days_between(start: str, end: str) -> int:
    """Count the days from one date to another.

    Args:
        start: First date, YYYY-MM-DD.
        end: Last date, YYYY-MM-DD.

    Returns:
        The number of days.

    Raises:
        ValueError: If start or end is not such a date.
    """
    return (date.fromisoformat(end) - date.fromisoformat(start)).days
'''
LUHN = '''def digit_sum(number: str) -> int:
    """Add up the digits of a number.

    Args:
        number: Decimal digits 0-9, at least one.

    Returns:
        The sum of the digits.

    Raises:
        ValueError: If number has anything else.
    """
    if not number.isdecimal():
        raise ValueError("only digits")
    return sum(int(digit) for digit in number)
'''
NEARLY = {
    "a date": (DAYS, {"start": "2025-01-10", "end": "2025-03-01"}, {"days_between('2025-01-01', '2025-01-03')": "2"}),
    "a digit": (LUHN, {"number": "4711"}, {"digit_sum('12')": "3", "digit_sum('9')": "9"}),
}


@pytest.mark.parametrize(("code", "arguments", "tests"), NEARLY.values(), ids=NEARLY.keys())
async def test_a_form_that_the_docstring_promises_must_be_asked_for(
    code: str, arguments: dict[str, Json], tests: dict[str, str], sandbox: Sandbox, store: LibraryStore
) -> None:
    answers = Answers("", ["open"], tests)
    creation, _ = await proved(code, answers, sandbox, store, arguments=arguments)
    assert creation.choice == "not_kept"
    assert "must raise an error" in creation.reason
    assert len(answers.asked) == 1
    allowed, _ = await proved(code, answers, sandbox, store, arguments=arguments, objection="more is allowed")
    assert allowed.choice == "create", allowed.reason


async def test_an_example_is_run_as_it_stands(sandbox: Sandbox, store: LibraryStore) -> None:
    code = PERCENTILE.replace("        20.0\n", "        20.1\n")
    answers = Answers("")
    creation, _ = await proved(code, answers, sandbox, store)
    assert "must give 20.1 (" in creation.reason
    assert "it gives 20.0" in creation.reason
    assert not answers.asked


COMMENTED = {
    "behind": ("nearest_rank_percentile([3, 1], 50)  # 2.5", "must give '2.5'; it gives 1"),
    "below": ("nearest_rank_percentile([3, 1], 50)\n        # 2.5", "must give '2.5'; it gives 1"),
    "right": ("nearest_rank_percentile([3, 1], 50)  # 1.0", ""),
    "a remark": ("nearest_rank_percentile([3, 1], 50)  # about 2.5", ""),
}


@pytest.mark.parametrize(("example", "why"), COMMENTED.values(), ids=COMMENTED.keys())
async def test_an_example_with_its_value_in_a_comment_is_run_too(
    example: str, why: str, sandbox: Sandbox, store: LibraryStore
) -> None:
    code = PERCENTILE.replace("        >>> round", f"        {example}\n\n        >>> round")
    creation, _ = await proved(code, Answers(SLOW + DRAW), sandbox, store)
    assert why in creation.reason
    assert creation.choice == ("not_kept" if why else "create"), creation.reason


async def test_an_example_may_give_a_number_of_numpy(sandbox: Sandbox, store: LibraryStore) -> None:
    code = PERCENTILE.replace("import math\n", "import math\nimport numpy as np\n").replace(
        "return sorted", "return np.sort"
    )
    creation, _ = await proved(code, Answers(SLOW + DRAW), sandbox, store)
    assert creation.choice == "create", creation.reason


async def test_a_parameter_that_an_example_names_is_not_taken_out(sandbox: Sandbox, store: LibraryStore) -> None:
    code = PERCENTILE.replace("percent: float)", "percent: float, digits: int = 2)")
    code = code.replace("    Returns:", "        digits: Decimal places.\n\n    Returns:", 1).replace(
        "outside its range.\n", "outside its range.\n", 1
    )
    code = code.replace("1 to 100.\n\n        digits", "1 to 100.\n        digits")
    code = code.replace("50.0], 40), 1)", "50.0], 40, 3), 1)")
    creation, _ = await proved(code, Answers(SLOW + DRAW), sandbox, store)
    assert creation.tool is None
    assert "'digits' has no effect, but an example uses it" in creation.reason


async def test_without_an_examiner_a_tool_with_examples_of_its_own_is_a_draft(
    sandbox: Sandbox, store: LibraryStore
) -> None:
    class Silent(Answers):
        async def fill(self, messages: Sequence[dict[str, Any]], schema: dict[str, Json]) -> Json:
            raise AlitaError("it said nothing")

    bare = PERCENTILE[: PERCENTILE.index("\n    Example:")] + PERCENTILE[PERCENTILE.index('    """\n    if') :]
    lone, _ = await proved(bare, Silent(""), sandbox, store)
    assert lone.choice == "unexamined"
    calls = {"[7.0], 1": "7.0", "[15.0, 20.0, 35.0, 40.0, 50.0], 30": "20.0", "[2.0, 1.0], 100": "2.0"}
    examples = "".join(
        f"        >>> nearest_rank_percentile({call})\n        {result}\n" for call, result in calls.items()
    )
    code = PERCENTILE.replace("    Example:\n", f"    Example:\n{examples}")
    creation, notes = await proved(code, Silent(""), sandbox, store)
    assert creation.choice == "draft", creation.reason
    assert "only its author tested it" in creation.headline
    assert notes == ["it could not be examined: it said nothing"]


async def test_weak_tests_are_shown_once_and_then_make_a_draft(sandbox: Sandbox, store: LibraryStore) -> None:
    weak = {"nearest_rank_percentile([7], 50)": "7", "nearest_rank_percentile([8, 8], 50)": "8"}
    code = PERCENTILE[: PERCENTILE.index("\n    Example:")] + PERCENTILE[PERCENTILE.index('    """\n    if') :]
    shown, _ = await proved(code, Answers("", tests=weak), sandbox, store, attempt=1)
    assert shown.choice == "not_kept"
    assert "deliberate bugs" in shown.reason
    draft, _ = await proved(code, Answers("", tests=weak), sandbox, store, attempt=2)
    assert (draft.choice, draft.tool, draft.value) == ("draft", None, 7.0)
    assert "alita tools approve nearest_rank_percentile" in draft.headline
    assert [(tool.name, tool.status) for tool in store.library.list()] == [("nearest_rank_percentile", Status.DRAFT)]

    async def opened() -> Sandbox:
        return sandbox

    seen = await review(store.library, "nearest_rank_percentile", opened)
    assert approve(store.library, seen).name == "nearest_rank_percentile"
    assert store.library.get("nearest_rank_percentile").status is Status.VERIFIED


async def test_a_call_that_is_late_among_many_is_made_alone(sandbox: Sandbox) -> None:
    code = "import time\n\n\ndef slow(n: int) -> int:\n    end = time.process_time() + 0.8 * (n == 2)\n"
    code += "    while time.process_time() < end:\n        pass\n    return n\n"
    runner = ProposalRunner(Proposal("", code, {"n": 1}), sandbox)
    tool = Tool("slow", "", object_schema({"n": {"type": "integer"}}), {}, code)
    outcomes = await runner.run_together(tool, [TrialCall({"n": n}) for n in (1, 2, 3)])
    assert [outcome and outcome.value for outcome in outcomes] == [1, 2, 3]
