"""The function of a program becomes a tool where it is general, described, and somebody else vouches for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from agent.budget import Budget, RunLimits
from agent.calls.library import RecordedLibrary
from agent.calls.recorder import Recorder
from agent.context import Context
from agent.events import Event, Note, ToolRegistered
from agent.small.keeping import keep
from agent.store.journal import Journal
from mcp_tools.library.library import Library
from mcp_tools.library.question_template import arguments_for
from mcp_tools.run import run_tool
from mcp_tools.sandbox.backends import open_sandbox
from mcp_tools.sandbox.protocol import Sandbox
from mcp_tools.tool import Json
from support.decisions import OneModel, Weak, context_with, state_of

QUESTION = "What is the 57th Fibonacci number?"
ANSWER = "365435296162"
PROGRAM = '''
def nth_fibonacci(n: int) -> int:
    """Compute a number of the Fibonacci sequence."""
    a, b = 0, 1
    for _ in range(n):  # from 1 on
        a, b = b, a + b
    return a


print(nth_fibonacci(57))
'''
SAID = {
    "json": {
        "summary": "Compute a number of the Fibonacci sequence.",
        "n": "Position in the sequence, from 1 on.",
        "returns": "The number at this position.",
    }
}
WHILE = """
def nth_fibonacci(n: int) -> int:
    previous, current = 1, 0
    while n > 0:
        previous, current = current, previous + current
        n -= 1
    return current
"""
LUCAS = WHILE.replace("1, 0", "-1, 2")


@dataclass
class Case:
    """A run whose program has answered."""

    context: Context
    library: Library
    events: list[Event] = field(default_factory=list)

    async def keep(
        self, program: str, printed: str, *replies: Any, question: str = QUESTION, budget: Budget | None = None
    ) -> dict[str, Json]:
        self.model = Weak(list(replies))
        calls = replace(self.context.calls, budget=budget or self.context.budget, emit=self.events.append)
        context = replace(self.context, models=OneModel(self.model), calls=calls)
        return await keep(program, printed, state_of(question), context)

    @property
    def told(self) -> str:
        return "\n".join(event.text for event in self.events if isinstance(event, Note))

    @property
    def names(self) -> list[str]:
        return [path.stem for path in sorted(self.library.folder.glob("*.py"))]


@pytest.fixture
async def case(tmp_path: Path) -> AsyncIterator[Case]:
    sandbox: Sandbox = await open_sandbox()
    library = Library(tmp_path / "generated_tools", tmp_path / "data")
    journal = Journal.create(tmp_path / "run" / "journal.jsonl")
    context = replace(context_with(Weak([])), sandbox=sandbox, library=RecordedLibrary(library, Recorder(journal)))
    yield Case(context, library)
    library.close()
    await journal.aclose()
    await sandbox.aclose()


async def test_the_function_of_a_program_becomes_a_tool(case: Case) -> None:
    assert await case.keep(PROGRAM, ANSWER, SAID, WHILE) == {"created": ["nth_fibonacci"]}, case.told
    tool = case.library.get("nth_fibonacci")
    assert tool.description.startswith("Compute a number of the Fibonacci sequence.")
    assert tool.input_schema["properties"]["n"]["description"] == "Position in the sequence, from 1 on."
    assert "    for _ in range(n):  # from 1 on" in tool.source, "the code stays as it was written"
    assert "print" not in tool.source
    assert (await run_tool(tool, {"n": 60}, case.context.sandbox)).value == 1548008755920
    assert {test["origin"] for test in tool.provenance["tests"]} == {"agreement", "docstring"}
    assert tool.provenance["evidence"]["killed"] > 0
    assert arguments_for("What is the 60th Fibonacci number?", tool.provenance["asked"]) == {"n": 60}
    assert [event.name for event in case.events if isinstance(event, ToolRegistered)] == ["nth_fibonacci"]
    assert len(case.model.requests) == 2, "one call describes, one vouches"


async def test_a_third_implementation_decides_a_dispute(case: Case) -> None:
    assert await case.keep(PROGRAM, ANSWER, SAID, LUCAS, WHILE) == {"created": ["nth_fibonacci"]}
    case.library.delete("nth_fibonacci")
    wrong = PROGRAM.replace("0, 1", "2, 1")
    assert await case.keep(wrong, "817138163596", SAID, WHILE, WHILE) == {}
    assert "must give" in case.told
    assert case.names == []


async def test_an_implementation_that_gives_nothing_vouches_for_nothing(case: Case) -> None:
    assert await case.keep(PROGRAM, ANSWER, SAID, "def nth_fibonacci(n):\n    return missing(n)", "no code (") == {}
    assert case.names == []


@pytest.mark.parametrize(
    ("program", "printed", "reason"),
    [
        (PROGRAM.replace("range(n)", "range(57)"), ANSWER, "57 of the question is hard-coded"),
        (PROGRAM.replace("print(nth_fibonacci(57))", "print(nth_fibonacci(57) + 1)"), "365435296163", "alone does not"),
        ("def solve(a, b, c, d, e, f):\n    return a\nprint(solve(1, 2, 3, 4, 5, 6))", "1", "takes 6 values"),
    ],
    ids=["value in the code", "something is added", "a story"],
)
async def test_what_serves_one_question_costs_no_call(case: Case, program: str, printed: str, reason: str) -> None:
    assert await case.keep(program, printed) == {}
    assert reason in case.told
    assert case.model.requests == []


async def test_a_program_without_such_a_function_is_silent(case: Case) -> None:
    assert await case.keep("print(42)", "42") == {}
    assert case.events == []


async def test_input_with_which_the_code_crashes_is_refused(case: Case) -> None:
    program = (
        'def pace(km: float, minutes: float):\n    """Compute a pace."""\n    return minutes / km\nprint(pace(4, 26))'
    )
    said = {
        "json": {
            "summary": "Compute a pace.",
            "km": "Distance in kilometres.",
            "minutes": "Time in minutes.",
            "returns": "Minutes per kilometre.",
        }
    }
    again = "```python\ndef pace(km, minutes):\n    if km == 0:\n        raise ValueError\n    return minutes / km\n```"
    question = "How many minutes a kilometre are 4 km in 26 minutes?"
    assert await case.keep(program, "6.5", said, again, question=question) == {"created": ["pace"]}, case.told
    tool = case.library.get("pace")
    assert "ValueError: km is 0." in tool.source
    assert (await run_tool(tool, {"km": 2.5, "minutes": 10}, case.context.sandbox)).value == 4
    refused = await run_tool(tool, {"km": 0, "minutes": 10}, case.context.sandbox)
    assert refused.problem is not None
    assert refused.problem.message == "ValueError: km is 0"


async def test_with_little_time_left_the_answer_comes_first(case: Case) -> None:
    assert await case.keep(PROGRAM, ANSWER, budget=Budget(RunLimits(seconds=25))) == {}
    assert "not enough time" in case.told
    assert case.model.requests == []


async def test_a_model_that_fails_costs_the_tool_only(case: Case) -> None:
    assert await case.keep(PROGRAM, ANSWER, {"error": "output", "message": "it went wrong"}) == {}
    assert "it went wrong" in case.told
    assert await case.keep(PROGRAM, ANSWER, SAID, {"error": "unreachable", "message": "wrong again"}) == {}
    assert "wrong again" in case.told


async def test_the_same_tool_is_not_kept_twice(case: Case) -> None:
    await case.keep(PROGRAM, ANSWER, SAID, WHILE)
    again = PROGRAM.replace("nth_fibonacci", "fibonacci_number").replace("57", "60")
    assert await case.keep(again, "1548008755920", SAID, question="Which is the 60th Fibonacci number?") == {}
    assert case.names == ["nth_fibonacci"]
    assert "the library already has this tool" in case.told


COMPUTED = {"role": "coordinator", "json": {"why": "it is computed", "needs": "compute"}}
STORY = [{"role": "writer", "text": PROGRAM}, {"role": "writer", **SAID}, {"role": "examiner", "text": WHILE}]


async def test_a_question_leaves_a_tool_that_answers_the_next_one(desk: Any) -> None:
    answer = await desk.plays(COMPUTED, *STORY).ask(QUESTION, strategy="small")
    assert (answer.text, answer.tools_created, answer.usage.calls) == (ANSWER, ("nth_fibonacci",), 4), desk.notes
    again = await desk.plays().ask("What is the 60th Fibonacci number?", strategy="small")
    assert (again.text, again.tools_used, again.usage.calls) == ("1548008755920", ("nth_fibonacci",), 0)
    assert (await desk.replay(answer.run_id)).text == ANSWER


async def test_the_answer_stands_when_the_run_ends_before_the_proof(desk: Any) -> None:
    dear = [COMPUTED, STORY[0], {**STORY[1], "usage": [9_000, 90]}]
    answer = await desk.plays(*dear).ask(QUESTION, strategy="small", max_tokens=5_000)
    assert (answer.text, answer.status, answer.tools_created) == (ANSWER, "answered", ())
    assert "not kept as a tool" in desk.notes


async def test_a_tool_that_is_wanted_comes_of_a_program_too(desk: Any) -> None:
    answer = await desk.plays(*STORY).ask(QUESTION, strategy="small", purpose="create")
    assert (answer.text, answer.tools_created) == (ANSWER, ("nth_fibonacci",)), desk.notes
    first = await desk.plays().replay(answer.run_id)
    assert (first.text, first.tools_created) == (ANSWER, ("nth_fibonacci",))
    found = await desk.plays().ask(QUESTION, strategy="small", purpose="create")
    assert (found.text, found.tools_created, found.tools_used) == (ANSWER, (), ("nth_fibonacci",))
