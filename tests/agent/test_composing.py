"""Programs and new tools import the tools of the library: any approved one, found by its words, counted per call."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from agent.events import Note
from mcp_tools.tool import Status, Tool
from support.openai_server import OpenAIServer, Step

QUESTION = "How many seats do 12 rooms of the old town hall have?"
NEW = '''def grid_sum(rows: int, columns: int) -> int:
    """Add up the numbers of a grid in which row r and column c hold r times c.

    Args:
        rows: How many rows, at least 1.
        columns: How many columns, at least 1.

    Returns:
        The sum of all cells.

    Raises:
        ValueError: A number is below 1.

    >>> grid_sum(2, 3)
    18
    >>> grid_sum(1, 1)
    1
    """
    from triangle_number import triangle_number

    if rows < 1 or columns < 1:
        raise ValueError("rows and columns must be at least 1")
    return triangle_number(rows) * triangle_number(columns)
'''
TESTS = {
    "tests": [
        {"call": f"grid_sum(rows={r}, columns={c})", "because": "the sum of all cells", "result": str(value)}
        for r, c, value in ((1, 2, 3), (3, 3, 36), (2, 2, 9), (4, 1, 10))
    ]
}


def tool(name: str, body: str, *, status: Status = Status.VERIFIED, words: str = "", **capabilities: Any) -> Tool:
    number = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    result = {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}
    source = f'def {name}(n: int) -> int:\n    """{words or name}."""\n    {body}\n'
    return Tool(name, f"{words or name}.", number, result, source, {}, status, {"capabilities": capabilities})


TRIANGLE = tool("triangle_number", "return n * (n + 1) // 2", words="Add up the numbers from one to n")
SHIFTED = tool(
    "shifted",
    "from triangle_number import triangle_number\n    return triangle_number(n - 1)",
    tools=["triangle_number"],
)


class House:
    """A desk whose library has these tools, and whose model calls these functions, one after the other."""

    def __init__(self, desk: Any, server: OpenAIServer) -> None:
        self.desk, self.server = desk, server
        desk.flags |= {"model": "tiny-1", "base_url": server.url, "api_key": "k", "use_cache": False}

    def has(self, *tools: Tool) -> None:
        for one in tools:
            self.desk.library.register(one)
        self.desk.library.close()

    def calls_of(self, name: str) -> tuple[int, dict[str, int]]:
        stats = self.desk.library.stats(name)
        self.desk.library.close()
        return stats.successes, stats.failures

    async def ask(self, *calls: tuple[str, dict[str, Any]], question: str = QUESTION) -> Any:
        def reply(body: dict[str, Any]) -> Step:
            if not body.get("tools"):
                return Step(text=json.dumps(TESTS))
            self.told = [one["content"] for one in body["messages"] if one["role"] == "tool"]
            done = sum(one["role"] == "assistant" for one in body["messages"])
            return Step(tools=[calls[done]]) if done < len(calls) else Step(text="given up")

        self.server.default, self.told = reply, []
        return await self.desk.ask(question)


def program(code: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "run_python", {"code": code, "final_answer": "{}", **more}


@pytest.fixture
def house(desk: Any, openai_server: OpenAIServer) -> House:
    return House(desk, openai_server)


async def test_a_program_finds_and_imports_any_tool_and_its_calls_are_counted(house: House) -> None:
    house.has(TRIANGLE, SHIFTED, replace(tool("rough", "return n", words="Add up the numbers"), status=Status.DRAFT))
    answer = await house.ask(
        ("run_python", {"code": "found = find_tools('add up the numbers from one')\nprint(found)"}),
        (
            "run_python",
            {"code": "from shifted import shifted\ntry:\n    shifted('x')\nexcept TypeError as e: print(e)"},
        ),
        program("from triangle_number import triangle_number as t\nprint(sum(t(n) for n in range(3)) + shifted(4))"),
    )
    assert "'signature': 'triangle_number(n: int) -> int'" in house.told[0]
    assert "rough" not in house.told[0]
    assert "shifted(): n must be int, not str" in house.told[1]
    assert (answer.text, answer.tools_used) == ("10", ("triangle_number", "shifted"))
    replayed = await house.desk.replay(answer.run_id)
    assert (replayed.text, replayed.tools_used) == (answer.text, answer.tools_used)
    assert (house.calls_of("triangle_number"), house.calls_of("shifted")) == ((4, {}), (1, {}))


async def test_a_call_that_fails_counts_as_such_and_gives_no_tool_used(house: House) -> None:
    house.has(tool("picky", "raise ValueError('no')"))
    answer = await house.ask(program("from picky import picky\npicky(1)"))
    assert (answer.text, answer.tools_used) == ("given up", ())
    assert house.calls_of("picky") == (0, {"exception": 1})


@pytest.mark.parametrize(
    ("tools", "name", "said"),
    [
        (
            [tool("rough", "return n", status=Status.DRAFT)],
            "rough",
            "rough is a draft\napprove it first: alita tools approve rough",
        ),
        ([tool("a", "return n", tools=["gone"])], "a", "a → gone: there is no tool 'gone'"),
        (
            [tool("a", "return n", tools=["b"]), tool("b", "return n", tools=["a"])],
            "a",
            "a → b → a: tools cannot import",
        ),
        ([tool("a", "import left_over\n    return n", packages=["left-over"])], "a", "left-over"),
    ],
    ids=["draft", "missing", "circle", "package nobody allowed"],
)
async def test_a_program_does_not_run_without_what_it_imports(
    house: House, tools: list[Tool], name: str, said: str
) -> None:
    house.has(*tools)
    await house.ask(program(f"print('ran')\nimport {name}"))
    assert house.told[0].count("Not run: ") == 1
    assert said in house.told[0]


async def test_a_new_tool_imports_one_of_the_library_and_declares_it(house: House) -> None:
    house.has(TRIANGLE)
    call = ("create_tool", {"code": NEW, "arguments": {"rows": 12, "columns": 3}, "final_answer": "{}"})
    answer = await house.ask(call)
    assert (answer.text, answer.tools_created) == ("468", ("grid_sum",)), house.told
    kept = house.desk.library.get("grid_sum")
    assert kept.capabilities.tools == ("triangle_number",)
    assert kept.source.startswith("# /// script\n")
    assert '# tools = ["triangle_number"]' in kept.source
    before = house.calls_of("triangle_number")[0]
    again = await house.ask(("grid_sum", {"rows": 2, "columns": 2, "final_answer": "{}"}), question="Add up this grid.")
    assert (again.text, again.tools_used) == ("9", ("grid_sum", "triangle_number"))
    assert house.calls_of("triangle_number") == (before + 2, {})


UNRELATED = [
    tool(f"{word}_count", "return n", words=f"Say how many {word} there are")
    for word in ("tulips", "planets", "violins", "rivers", "candles", "bridges", "whales", "lanterns")
]


def offered(house: House) -> list[str]:
    names = [one["function"]["name"] for one in house.server.requests[0]["tools"]]
    return names[names.index("ask") + 1 :]


async def test_a_small_library_is_offered_whole_in_the_same_order_for_every_question(house: House) -> None:
    """Drafts only if they fit, and no line of the terminal for what does not fit."""
    rough = tool("rough", "return n", words="Say how many cats there are", status=Status.DRAFT)
    house.has(*UNRELATED[:6], TRIANGLE, rough)
    await house.ask(program("print(1)"))
    assert offered(house) == sorted([*(one.name for one in UNRELATED[:6]), "triangle_number"])


async def test_of_a_larger_library_what_fits_is_offered_and_a_line_tells_of_what_nearly_does(house: House) -> None:
    two = [
        tool("decode_abr", "return n", words="Decode ABR data into records"),
        tool("hash_text", "return n", words="Return the SHA-256 digest of a text"),
    ]
    near = tool("cut_out", "return n", words="Cut a record out of a table")
    house.has(*UNRELATED, *two, near)
    question = "Decode this ABR data: x7/k2, then compute the SHA-256 hash of each record's name."
    await house.ask(program("print(1)"), question=question)
    assert offered(house) == ["decode_abr", "hash_text"]
    said = house.server.requests[0]["messages"][1]["content"]
    assert "More tools of the library, which programs import:\n- " in said
    assert "- cut_out(n: int) -> int: Cut a record out of a table." in said
    assert "whales" not in said


async def test_a_program_imports_a_tool_by_the_name_of_one_that_was_merged_with_it(house: House) -> None:
    house.has(TRIANGLE)
    house.desk.library.merge(house.desk.library.get("triangle_number"), "gauss_sum")
    house.desk.library.close()
    answer = await house.ask(program("from gauss_sum import gauss_sum\nprint(gauss_sum(4))"))
    assert answer.text == "10"
    assert house.calls_of("triangle_number")[0] == 1


BETTER = '''def triangle_number(n: int, start: int = 1) -> int:
    """Add up the whole numbers from a start to an end.

    Args:
        n: The last number, at least the start.
        start: The first number, at least 0.

    Returns:
        The sum of all numbers from start to n.

    Raises:
        ValueError: The start is negative or above n.

    >>> triangle_number(4)
    10
    >>> triangle_number(5, start=4)
    9
    """
    if start < 0 or start > n:
        raise ValueError("start must be from 0 to n")
    return (start + n) * (n - start + 1) // 2
'''
BETTER_TESTS = [
    {"call": f"triangle_number({given})", "because": "the sum of all numbers", "result": str(value)}
    for given, value in (("n=3", 6), ("n=6, start=5", 11), ("n=1", 1), ("n=10, start=10", 10))
]
OLD_TESTS = [{"arguments": {"n": n}, "expected": value, "origin": "docstring"} for n, value in ((2, 3), (7, 28))]


@pytest.mark.parametrize("is_wrong", [False, True], ids=["passes the old tests", "fails one"])
async def test_a_better_version_takes_the_place_of_a_listed_tool_if_it_passes_its_tests(
    house: House, monkeypatch: pytest.MonkeyPatch, is_wrong: bool
) -> None:
    """Otherwise it is a tool of its own; the model and the user learn why."""
    tests = [*OLD_TESTS, {"arguments": {"n": 0}, "expected": 0, "origin": "docstring"}] if is_wrong else OLD_TESTS
    house.has(replace(TRIANGLE, provenance={"tests": tests}))
    monkeypatch.setitem(TESTS, "tests", BETTER_TESTS)
    answer = await house.ask(
        ("read", {"source": "triangle_number.py"}),
        ("create_tool", {"code": BETTER, "arguments": {"n": 12, "start": 3}}),
        program("print(1)"),
    )
    assert "return n * (n + 1) // 2" in house.told[0]
    names = sorted(one.name for one in house.desk.library.list())
    remark = next(event.text for event in house.desk.of(Note) if "triangle_number" in event.text)
    if is_wrong:
        assert answer.tools_created == ("triangle_number_2",)
        assert names == ["triangle_number", "triangle_number_2"]
        assert "triangle_number is unchanged: one of its tests fails" in remark
    else:
        assert answer.tools_created == ("triangle_number",)
        assert names == ["triangle_number"]
        assert remark == "It replaces the older version of triangle_number and passes all tests of that version."
    assert remark in house.told[1]
    replayed = await house.desk.replay(answer.run_id)
    assert replayed.tools_created == answer.tools_created
