"""A person's approval: what is shown before it, what stands in its way, and edited sources in the real sandbox."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from mcp_tools.create.approve import Review, approve, review
from mcp_tools.errors import LibraryError, UnknownToolError
from mcp_tools.library.library import Library
from mcp_tools.library.tool_files import object_path
from mcp_tools.sandbox.backends import open_sandbox
from mcp_tools.sandbox.protocol import Sandbox
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
    library = Library(tmp_path / "tools", tmp_path / "home")
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


async def test_a_changed_object_is_shown_with_what_changed(library: Library, sandbox: Sandbox) -> None:
    path = object_path(library.folder, "times_two")
    path.write_text(path.read_text().replace("Double a number.", "Double a number. See ~/.ssh/config."))
    seen = await look(library, sandbox)
    assert seen.changed == ["definition"]
    assert '+ "description": "Double a number. See ~/.ssh/config.",' in seen.diff
    assert [flag.rule for flag in seen.flags] == ["secret-path"]
    approve(library, seen)
    assert [tool.description for tool, _ in library.served()] == ["Double a number. See ~/.ssh/config."]


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
    [(tool, _)] = library.served()
    assert set(tool.input_schema["properties"]) == {"n", "factor"}
    assert tool.input_schema["properties"]["n"]["type"] == "number"
    assert tool.status is Status.VERIFIED
    assert (tool.provenance["parent_version"], tool.provenance["model"]) == (old, "m")
    assert len(tool.provenance["tests"]) == 2
    assert library.flaws() == []
    assert library.kept("times_two", old) is not None


async def test_an_edited_source_that_fails_a_test_is_not_approved(library: Library, sandbox: Sandbox) -> None:
    """Nothing of it is dropped: whoever meant the change corrects the test."""
    library.path("times_two").write_text(SOURCE.replace("n * 2", "n * 3"))
    seen = await look(library, sandbox)
    assert seen.tests.failed == ["times_two(n=2) gives 6, expected 4"]
    with pytest.raises(LibraryError, match=r"a test fails: times_two\(n=2\) gives 6, expected 4"):
        approve(library, seen)
    assert not list(library.served())
    library.path("times_two").write_text(with_example(SOURCE.replace("n * 2", "n * 3"), "times_two(2)", "6"))
    tests = approve(library, await look(library, sandbox)).provenance["tests"]
    assert [(test["arguments"], test["expected"]) for test in tests] == [({"n": 2}, 6), ({"n": 0}, 0)]


def with_example(source: str, call: str, result: str) -> str:
    """The source with an example at the end of its docstring."""
    head, body, tail = source.split('"""')
    return f'{head}"""{body.rstrip()}\n\n    >>> {call}\n    {result}\n    """{tail}'


HALF = 'def half(n: float) -> float:\n    """Halve a number."""\n    return n / 2\n'


def write_json(library: Library, name: str, added: dict[str, object]) -> None:
    """What a person writes into the JSON file of a tool."""
    path = object_path(library.folder, name)
    document = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(document | added))


async def test_a_crash_is_not_the_error_that_a_test_wants(library: Library, sandbox: Sandbox) -> None:
    """As in the proof of a tool: an error refuses the arguments."""
    tests = [{"arguments": {"n": 2}, "expected": 4}, {"arguments": {"n": -1}, "expected": None, "raises": True}]
    tool = library.get("times_two")
    library.register(replace(tool, provenance={**tool.provenance, "tests": tests}), replace=True)
    refusing = SOURCE.replace(
        "    return", "    if n < 0:\n        raise ValueError('n must not be negative')\n    return"
    )
    library.path("times_two").write_text(refusing.replace("raise ValueError('n must not be negative')", "return {}[n]"))
    with pytest.raises(LibraryError, match=r"n=-1\) gives KeyError: -1, expected an error that refuses the arguments"):
        approve(library, await look(library, sandbox))
    library.path("times_two").write_text(refusing)
    assert approve(library, await look(library, sandbox)).provenance["tests"] == tests


async def test_a_source_that_a_person_wrote_is_verified_by_its_examples(library: Library, sandbox: Sandbox) -> None:
    """Without one it stays what it is, and is told what is missing; a float may differ by what adding up loses."""
    library.path("half").write_text(HALF)
    with pytest.raises(LibraryError, match=r"it has no test: .* >>> half\(\.\.\.\)"):
        approve(library, await look(library, sandbox, "half"))
    library.path("half").write_text(with_example(HALF, "half(1)", "0.7"))
    with pytest.raises(LibraryError, match=r"half\(n=1\) gives 0\.5, expected 0\.7"):
        approve(library, await look(library, sandbox, "half"))
    library.path("half").write_text(with_example(HALF, "half(0.6000000000000001)", "0.3"))
    seen = await look(library, sandbox, "half")
    assert seen.before is None
    assert approve(library, seen).status is Status.VERIFIED
    assert [tool.name for tool, _ in library.served()] == ["half", "times_two"]
    assert (await review(library, "half", never)).is_approved


async def test_a_tool_that_claims_tests_is_verified_by_running_them(library: Library, sandbox: Sandbox) -> None:
    """Its files came from elsewhere, whole; they say that it is verified."""
    for extension in ("py", "json"):
        path = library.folder / f"times_two.{extension}"
        path.write_text(path.read_text().replace("times_two", "triple").replace("return n * 2", "return n * 3"))
        path.rename(library.folder / f"triple.{extension}")
    document = json.loads(object_path(library.folder, "triple").read_text())
    document["_meta"]["alita/source-hash"] = hashlib.sha256(library.path("triple").read_bytes()).hexdigest()
    object_path(library.folder, "triple").write_text(json.dumps(document))
    assert library.get("triple").status is Status.DRAFT
    with pytest.raises(LibraryError, match=r"a test fails: triple\(n=2\) gives 6, expected 4"):
        approve(library, await look(library, sandbox, "triple"))
    document["_meta"]["alita/provenance"]["tests"] = []
    object_path(library.folder, "triple").write_text(json.dumps(document))
    with pytest.raises(LibraryError, match="it has no test"):
        approve(library, await look(library, sandbox, "triple"))


TOTAL = """import time

def total(path: str, column: str) -> int:
    \"\"\"Add up a column of a table.\"\"\"
    time.sleep(0.6)
    with open(path, encoding="utf-8") as file:
        head, *rows = [line.strip().split(",") for line in file]
    return sum(int(row[head.index(column)]) for row in rows)
"""


async def test_capabilities_are_declared_by_hand(library: Library, sandbox: Sandbox) -> None:
    """A file may be read by the tests when it is granted and the tool reads files."""
    sold = library.folder.parent / "sold.csv"
    sold.write_text("tea,milk\n3,1\n4,1\n")
    library.path("total").write_text(with_example(TOTAL, f"total({str(sold)!r}, 'tea')", "7"))

    async def opened() -> Sandbox:
        return sandbox

    async def seen(*read: Path, **capabilities: object) -> Review:
        write_json(library, "total", {"capabilities": capabilities})
        return await review(library, "total", opened, read)

    with pytest.raises(LibraryError, match=r"a test fails: .*/sold\.csv"):
        approve(library, await seen(sold))
    with pytest.raises(LibraryError, match=r"a test fails: .*/sold\.csv"):
        approve(library, await seen(read=True))
    with pytest.raises(LibraryError, match=r"a test fails: .* 0\.3"):
        approve(library, await seen(sold, read=True, seconds=0.3))
    kept = approve(library, await seen(sold, read=True, seconds=20, memory_mb=700))
    assert (kept.capabilities.read, kept.capabilities.seconds, kept.capabilities.memory_mb) == (True, 20, 700)


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        (
            {"capabilities": {"network": True}},
            "capabilities has no key 'network'; its keys are read, write, hosts, packages",
        ),
        ({"capabilities": {"packages": "pandas"}}, "capabilities.packages must be a list of strings"),
        ({"capabilities": {"seconds": 0}}, "capabilities.seconds must be a number above 0"),
        ({"capabilities": {"hosts": ["*.example.org"]}}, "exact-hosts"),
        ({"capabilities": {"keys": ["WEATHER"]}}, "declares keys but no hosts"),
    ],
)
async def test_what_a_person_wrote_wrong_is_told(
    library: Library, sandbox: Sandbox, written: dict[str, object], reason: str
) -> None:
    library.path("half").write_text(HALF)
    write_json(library, "half", written)
    with pytest.raises(LibraryError, match=reason):
        approve(library, await look(library, sandbox, "half"))


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def times_two(n):\n    return n * 2\n", "no annotation"),
        ("def other(n: int) -> int:\n    return n * 2\n", "times_two"),
        ("def times_two(n: int) -> int:\n    return n *\n", "line 2"),
        (SOURCE.replace("return", "import subprocess; return"), "cannot start processes"),
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
    assert not list(library.served())
    assert library.path("times_two").read_text() == source


async def test_a_source_that_changes_while_it_is_looked_at_is_not_approved(library: Library, sandbox: Sandbox) -> None:
    library.path("times_two").write_text(SOURCE.replace("n * 2", "n + n"))
    seen = await look(library, sandbox)
    library.path("times_two").write_text(SOURCE.replace("n * 2", "n * 5"))
    with pytest.raises(LibraryError, match="changed during your review"):
        approve(library, seen)
    assert not list(library.served())


async def test_what_has_no_source_is_told(library: Library, sandbox: Sandbox) -> None:
    library.path("times_two").unlink()
    with pytest.raises(LibraryError, match=r"no times_two\.py"):
        await look(library, sandbox)
    with pytest.raises(UnknownToolError):
        await look(library, sandbox, "nothing")
