"""A person's approval: what is shown before it, what stands in its way, and edited sources in the real sandbox."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from mcp_tools.approve import Review, approve, review
from mcp_tools.errors import LibraryError, UnknownToolError
from mcp_tools.library import Library
from mcp_tools.library.files import object_path
from mcp_tools.sandbox import Sandbox, open_sandbox
from mcp_tools.tool import Status, Tool

pytestmark = pytest.mark.asyncio(loop_scope="module")

SOURCE = '''def times_two(n: int) -> int:
    """Double a number.

    Args:
        n: The number.
    """
    return n * 2
'''


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    opened = await open_sandbox()
    yield opened
    await opened.aclose()


@pytest.fixture
def library(tmp_path: Path) -> Library:
    library = Library(tmp_path / "tools", tmp_path / "home" / "approvals.json")
    library.register(
        Tool(
            "times_two",
            "Double a number.",
            {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
            {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]},
            SOURCE,
            {"title": "Times two"},
            Status.VERIFIED,
            {"model": "m", "tests": [{"arguments": {"n": 2}, "expected": 4}, {"arguments": {"n": 0}, "expected": 0}]},
        )
    )
    return library


async def look(library: Library, sandbox: Sandbox, name: str = "times_two") -> Review:
    async def opened() -> Sandbox:
        return sandbox

    return await review(library, name, opened)


async def never() -> Sandbox:
    raise AssertionError("no sandbox is needed")


async def test_a_tool_as_it_was_approved_needs_no_sandbox(library: Library) -> None:
    seen = await review(library, "times_two", never)
    assert seen.is_approved
    assert (seen.changed, seen.diff, seen.flags) == ([], "", [])
    assert approve(library, seen).name == "times_two"


async def test_a_changed_object_is_shown_with_what_changed(library: Library) -> None:
    path = object_path(library.folder, "times_two")
    path.write_text(path.read_text().replace("Double a number.", "Double a number. See ~/.ssh/config."))
    seen = await review(library, "times_two", never)
    assert seen.changed == ["definition"]
    assert '+ "description": "Double a number. See ~/.ssh/config.",' in seen.diff
    assert [flag.rule for flag in seen.flags] == ["secret-path"]
    approve(library, seen)
    assert [tool.description for tool in library.served()] == ["Double a number. See ~/.ssh/config."]


async def test_an_edited_source_gets_its_schemas_anew(library: Library, sandbox: Sandbox) -> None:
    """It is a verified tool again, knows its old version, and keeps the tests that it still passes."""
    old = library.get("times_two").source_hash
    library.path("times_two").write_text(
        SOURCE.replace("n: int", "n: float, factor: float = 2.0")
        .replace("-> int", "-> float")
        .replace("* 2", "* factor")
    )
    seen = await look(library, sandbox)
    assert seen.is_edited
    assert seen.changed == ["source", "definition"]
    assert "+    return n * factor" in seen.diff
    approve(library, seen)
    [tool] = library.served()
    assert set(tool.input_schema["properties"]) == {"n", "factor"}
    assert tool.input_schema["properties"]["n"]["type"] == "number"
    assert tool.status is Status.VERIFIED
    assert (tool.provenance["parent_version"], tool.provenance["model"]) == (old, "m")
    assert len(tool.provenance["tests"]) == 2
    assert library.flaws() == []
    assert library.kept("times_two", old) is not None


async def test_tests_that_an_edited_source_fails_are_told_and_no_longer_kept(
    library: Library, sandbox: Sandbox
) -> None:
    library.path("times_two").write_text(SOURCE.replace("n * 2", "n * 3"))
    seen = await look(library, sandbox)
    assert seen.failed == ["times_two(n=2)"]
    assert approve(library, seen).provenance["tests"] == [{"arguments": {"n": 0}, "expected": 0}]


async def test_a_source_without_its_object_becomes_a_tool(library: Library, sandbox: Sandbox) -> None:
    library.path("half").write_text('def half(n: float) -> float:\n    """Halve a number."""\n    return n / 2\n')
    seen = await look(library, sandbox, "half")
    assert seen.before is None
    approve(library, seen)
    assert [tool.name for tool in library.served()] == ["half", "times_two"]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def times_two(n):\n    return n * 2\n", "no annotation"),
        ("def other(n: int) -> int:\n    return n * 2\n", "times_two"),
        ("def times_two(n: int) -> int:\n    return n *\n", "line 2"),
        (SOURCE.replace("return", "import os; os.system('ls'); return"), "os"),
        (SOURCE.replace("Double a", "Double\u200b a"), "U\\+200B|200b"),
    ],
    ids=["untyped", "other function", "syntax", "forbidden", "hidden"],
)
async def test_an_edited_source_that_fails_the_checks_is_refused(
    library: Library, sandbox: Sandbox, source: str, reason: str
) -> None:
    library.path("times_two").write_text(source)
    with pytest.raises(LibraryError, match=reason):
        approve(library, await look(library, sandbox))
    assert library.served() == []
    assert library.path("times_two").read_text() == source


async def test_a_parameter_that_passes_for_another_is_refused(library: Library, sandbox: Sandbox) -> None:
    """The name is that of Python and fails only the definition's rules."""
    library.path("times_two").write_text(
        'def times_two(größe: int) -> int:\n    """Double a number."""\n    return größe * 2\n'
    )
    seen = await look(library, sandbox)
    assert any("parameter-name" in obstacle for obstacle in seen.obstacles)
    with pytest.raises(LibraryError, match="parameter-name"):
        approve(library, seen)


async def test_a_source_that_changes_while_it_is_looked_at_is_not_approved(library: Library, sandbox: Sandbox) -> None:
    library.path("times_two").write_text(SOURCE.replace("n * 2", "n + n"))
    seen = await look(library, sandbox)
    library.path("times_two").write_text(SOURCE.replace("n * 2", "n * 5"))
    with pytest.raises(LibraryError, match="changed meanwhile"):
        approve(library, seen)
    assert library.served() == []


async def test_what_has_no_source_is_told(library: Library, sandbox: Sandbox) -> None:
    library.path("times_two").unlink()
    with pytest.raises(LibraryError, match=r"has no times_two\.py"):
        await look(library, sandbox)
    with pytest.raises(UnknownToolError):
        await look(library, sandbox, "nothing")


async def test_a_source_that_is_no_text_is_told(library: Library, sandbox: Sandbox) -> None:
    library.path("times_two").write_bytes(b"\xff\xfe")
    with pytest.raises(LibraryError, match=r"damaged|UTF-8"):
        await look(library, sandbox)


async def test_a_name_that_passes_for_another_is_flagged(library: Library, sandbox: Sandbox) -> None:
    library.path("t1mes_two").write_text(SOURCE.replace("times_two", "t1mes_two"))
    seen = await look(library, sandbox, "t1mes_two")
    assert [(flag.rule, flag.severity) for flag in seen.flags] == [("look-alike", "warning")]
    assert "passes for the tool times_two" in seen.flags[0].message
