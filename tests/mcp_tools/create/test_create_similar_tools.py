"""A new tool is merged with an equal one, replaces one that it improves, or is kept separately."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from creating import Case, LibraryStore, exam

from mcp_tools.errors import LibraryError
from mcp_tools.library.dependencies import Needs
from mcp_tools.library.library import Library
from mcp_tools.sandbox.protocol import Sandbox
from mcp_tools.tool import Capabilities, Tool

pytestmark = pytest.mark.asyncio(loop_scope="module")

AREA = '''import math


def triangle_area(a: float, b: float, c: float) -> float:
    """Compute the area of a triangle from its sides.

    Args:
        a: Length of one side, above 0.
        b: Length of another side, above 0.
        c: Length of the third side, above 0.

    Returns:
        The area in the square of the unit of the sides.

    Raises:
        ValueError: No triangle has such sides.

    Example:
        >>> triangle_area(3.0, 4.0, 5.0)
        6.0
    """
    if min(a, b, c) <= 0 or 2 * max(a, b, c) >= a + b + c:
        raise ValueError("no triangle has such sides")
    s = (a + b + c) / 2
    return math.sqrt(s * (s - a) * (s - b) * (s - c))
'''
SIDES = ((6.0, 8.0, 10.0, 24.0), (5.0, 5.0, 6.0, 12.0), (13.0, 14.0, 15.0, 84.0), (9.0, 10.0, 17.0, 36.0))
HERON = (
    AREA.replace("triangle_area(a: float, b: float, c: float)", "heron(side_1: float, side_2: float, side_3: float)")
    .replace("triangle_area", "heron")
    .replace("        a: ", "        side_1: ")
    .replace("        b: ", "        side_2: ")
    .replace("        c: ", "        side_3: ")
    .replace("    if min(a", "    a, b, c = sorted((side_1, side_2, side_3))\n    if min(a")
)
DECODE = '''def decode_abr(text: str) -> list[int]:
    """Decode ABR text, whole numbers with a slash between them.

    Args:
        text: Numbers such as 1/22/3; an empty text has none.

    Returns:
        The numbers in their order.

    Raises:
        ValueError: A part is not a number.

    Example:
        >>> decode_abr("1/22/3")
        [1, 22, 3]
    """
    if not text:
        return []
    if not all(part.isdigit() for part in text.split("/")):
        raise ValueError("a part is not a number")
    return [int(part) for part in text.split("/")]
'''
TEXTS: list[dict[str, Any]] = [
    {"arguments": {"text": "4/5"}, "expected": [4, 5]},
    {"arguments": {"text": "7"}, "expected": [7]},
    {"arguments": {"text": ""}, "expected": []},
    {"arguments": {"text": "x/1"}, "raises": True},
]
BETTER = (
    DECODE.replace("text: str)", "text: str, errors: str = 'strict')")
    .replace(
        "has none.\n", "has none.\n        errors: With skip, parts that are no numbers are left out; else strict.\n"
    )
    .replace("    Example:\n", "    Example:\n        >>> decode_abr('1/x/3', errors='skip')\n        [1, 3]\n")
    .replace(
        "    if not all",
        "    if errors == 'skip':\n        text = '/'.join(p for p in text.split('/') if p.isdigit())\n    if not all",
    )
)
MORE = {"arguments": {"text": "a/2", "errors": "skip"}, "expected": [2]}
OTHER = DECODE.replace("int(part) for", "2 * int(part) for").replace("[1, 22, 3]", "[2, 44, 6]")
DOUBLED = [{**one, "expected": [2 * n for n in one["expected"]]} if "expected" in one else one for one in TEXTS]


@pytest.fixture
def case(sandbox: Sandbox, store: LibraryStore) -> Case:
    return Case(sandbox, store)


def sides(*names: str) -> dict[str, Any]:
    return exam(*({"arguments": dict(zip(names, row, strict=False)), "expected": row[3]} for row in SIDES))


async def triangle(case: Case) -> Tool:
    first = await case.prove(AREA, {"a": 7.0, "b": 8.0, "c": 9.0}, sides("a", "b", "c"))
    assert first.tool is not None, first.reason
    return first.tool


async def decoder(case: Case) -> Tool:
    first = await case.prove(DECODE, {"text": "10/11/12"}, exam(*TEXTS))
    assert first.tool is not None, first.reason
    return first.tool


async def test_the_same_under_another_name_and_other_parameters_is_merged(case: Case) -> None:
    await triangle(case)
    again = await case.prove(HERON, {"side_1": 7.0, "side_2": 8.0, "side_3": 9.0})
    library = case.store.library
    assert (again.choice, again.tool and again.tool.name) == ("reuse", "triangle_area"), again.reason
    assert [tool.name for tool in library.list()] == ["triangle_area"]
    assert [hit.tool.name for hit in library.search("heron")] == ["triangle_area"]
    assert library.get("heron").name == "triangle_area"
    assert [tool.name for tool, _ in library.served()] == ["triangle_area"]
    assert len(case.asked.messages) == 1, "no second examiner"


async def test_a_version_that_does_more_takes_the_place_of_the_old_one(case: Case) -> None:
    old = await decoder(case)
    new = await case.prove(BETTER, {"text": "10/y/12", "errors": "skip"}, exam(*TEXTS, MORE))
    library = case.store.library
    assert (new.choice, new.tool and new.tool.name) == ("create", "decode_abr"), new.reason
    assert "replaces the older version" in new.remark
    assert [tool.name for tool in library.list()] == ["decode_abr"]
    now = library.get("decode_abr")
    assert "errors" in now.input_schema["properties"]
    assert now.provenance["parent_version"] == old.source_hash
    kept = [test["arguments"] for test in now.provenance["tests"]]
    assert all(test["arguments"] in kept for test in old.provenance["tests"])
    assert [one.source_hash for one in library.versions("decode_abr")] == [old.source_hash, now.source_hash]
    assert library.restore("decode_abr", old.source_hash[:8]).status == "verified"
    assert library.get("decode_abr").source == old.source
    assert [one.source_hash for one in library.versions("decode_abr")] == [old.source_hash, now.source_hash]


async def test_a_version_that_does_more_under_another_name_replaces_the_tool_and_keeps_its_name(case: Case) -> None:
    await decoder(case)
    wider = BETTER.replace("decode_abr", "read_abr_numbers")
    new = await case.prove(wider, {"text": "10/y/12", "errors": "skip"}, exam(*TEXTS, MORE))
    library = case.store.library
    assert (new.choice, new.tool and new.tool.name) == ("create", "decode_abr"), new.reason
    assert [tool.name for tool in library.list()] == ["decode_abr"]
    assert library.get("read_abr_numbers").name == "decode_abr"


async def test_a_version_that_fails_an_old_test_is_a_tool_of_its_own_with_the_reason(case: Case) -> None:
    old = await decoder(case)
    new = await case.prove(OTHER, {"text": "10/11/12"}, exam(*DOUBLED))
    library = case.store.library
    assert (new.choice, new.tool and new.tool.name) == ("create", "decode_abr_2"), new.reason
    assert new.remark.startswith("decode_abr is unchanged: one of its tests fails")
    assert library.get("decode_abr").source == old.source


@pytest.mark.parametrize(
    "code", [DECODE.replace("Decode ABR", "Read ABR"), DECODE.replace("[int(part)", "[+int(part)")]
)
async def test_a_version_under_the_same_name_replaces_the_tool_although_no_result_differs(
    case: Case, code: str
) -> None:
    old = await decoder(case)
    again = await case.prove(DECODE, {"text": "10/11/12"}, exam(*TEXTS))
    assert (again.choice, again.tool and again.tool.source) == ("reuse", old.source)
    case.asked.replies.clear()
    unasked = await case.prove(code, {"text": "10/11/12"}, mends=False)
    assert (unasked.choice, unasked.tool and unasked.tool.source) == ("reuse", old.source)
    new = await case.prove(code, {"text": "10/11/12"}, exam(*TEXTS))
    assert (new.choice, new.tool and new.tool.name) == ("create", "decode_abr"), new.reason
    now = case.store.library.get("decode_abr")
    assert (now.source, now.provenance["parent_version"]) == (code, old.source_hash)


async def test_a_mend_within_the_tolerance_of_tests_replaces_the_tool(case: Case) -> None:
    old = await triangle(case)
    mended = AREA.replace("return math.sqrt(", "return round(math.sqrt(").replace("(s - c))", "(s - c)), 10)")
    asked = {"a": 7.0, "b": 8.0, "c": 9.0}
    new = await case.prove(mended, asked, sides("a", "b", "c"))
    assert (new.choice, new.tool and new.tool.name) == ("create", "triangle_area"), new.reason
    assert case.store.library.get("triangle_area").source == mended != old.source


async def test_a_proved_tool_takes_the_name_of_a_draft_that_alita_wrote(case: Case) -> None:
    old = await decoder(case)
    library = case.store.library
    library.delete("decode_abr")
    drafted = library.register(replace(old, source=DECODE.replace("1/22/3", "1/22/4")), is_draft=True)
    assert library.get("decode_abr").status == "draft"
    new = await decoder(case)
    assert new.name == "decode_abr"
    assert [tool.name for tool in library.list()] == ["decode_abr"]
    assert drafted.source_hash in [one.source_hash for one in library.versions("decode_abr")]


async def test_a_draft_of_the_user_keeps_its_name(case: Case) -> None:
    old = await decoder(case)
    library = case.store.library
    library.delete("decode_abr")
    drafted = library.register(replace(old, source=DECODE.replace("1/22/3", "1/22/4")), is_draft=True)
    library.approvals.path.unlink()
    new = await decoder(case)
    assert (new.name, library.get("decode_abr").source) == ("decode_abr_2", drafted.source)


async def test_a_tool_that_was_changed_while_a_new_version_was_proved_is_not_replaced(case: Case) -> None:
    old = await decoder(case)
    library = case.store.library
    other = Library(library.folder, library.approvals.path.parent)

    class Slow(LibraryStore):
        async def register(self, tool: Tool, *, replaces: Tool | None = None, is_draft: bool = False) -> Tool:
            other.delete("decode_abr")
            return await super().register(tool, replaces=replaces, is_draft=is_draft)

    case.store = Slow(library)
    new = await case.prove(BETTER, {"text": "10/y/12", "errors": "skip"}, exam(*TEXTS, MORE))
    assert (new.choice, new.value) == ("not_kept", [10, 12])
    assert "decode_abr changed in the meantime" in new.reason
    assert library.list() == []
    assert library.source_of("decode_abr", old.source_hash) == old.source
    with pytest.raises(LibraryError, match="has no version"):
        library.source_of("decode_abr", "ffff")
    other.close()


async def test_a_tool_that_imports_the_one_it_widens_does_not_replace_it(case: Case) -> None:
    old = await decoder(case)
    wraps = BETTER.replace("decode_abr", "read_lenient_abr").replace(
        '    return [int(part) for part in text.split("/")]',
        "    from decode_abr import decode_abr\n\n    return decode_abr(text)",
    )
    more = {"capabilities": Capabilities(tools=("decode_abr",)), "needs": Needs((old,))}
    new = await case.prove(wraps, {"text": "10/y/12", "errors": "skip"}, exam(*TEXTS, MORE), **more)
    assert (new.choice, new.tool and new.tool.name) == ("create", "read_lenient_abr"), new.reason
    assert case.store.library.get("decode_abr").source == old.source
