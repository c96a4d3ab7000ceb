"""Tools that import tools of the library: what they need is there, approved, and gets no more than the call."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio

from mcp_tools.checks.check import check
from mcp_tools.create.approve import approve, review
from mcp_tools.definition import canonical
from mcp_tools.errors import LibraryError
from mcp_tools.library.approvals import ApprovedHashes
from mcp_tools.library.dependencies import Needs, module_names, needs_of
from mcp_tools.library.library import Library
from mcp_tools.run import run_tool
from mcp_tools.sandbox.backends import open_sandbox
from mcp_tools.sandbox.protocol import Outcome, Sandbox
from mcp_tools.tool import CallCount, Capabilities, Status, Tool

pytestmark = pytest.mark.asyncio(loop_scope="module")

NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
RESULT = {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}
WRITTEN = '''def {name}(n: int) -> int:
    """Compute with a number.

    Args:
        n: The number.

    >>> {name}(2)
    {result}
    """
    from {other} import {other}

    return {other}(n) + 1
'''


def tool(name: str, body: str = "return n * 2", status: Status = Status.VERIFIED, **capabilities: object) -> Tool:
    source = f'def {name}(n: int) -> int:\n    """Compute with a number."""\n    {body}\n'
    return Tool(name, "Compute.", NUMBER, RESULT, source, {}, status, {"capabilities": dict(capabilities)})


def calling(name: str, other: str, **capabilities: object) -> Tool:
    return tool(name, f"from {other} import {other}\n    return {other}(n) + 1", tools=[other], **capabilities)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def sandbox() -> AsyncIterator[Sandbox]:
    opened = await open_sandbox()
    yield opened
    await opened.aclose()


@pytest.fixture
def library(tmp_path: Path) -> Library:
    return Library(tmp_path / "tools", tmp_path / "home")


async def call(library: Library, sandbox: Sandbox, name: str, n: int = 3, write: Path | None = None) -> Outcome:
    found = library.get(name)
    needs = await needs_of(found.capabilities.tools, library.get_async, of=name)
    return await run_tool(found, {"n": n}, sandbox, needs=needs, write=write)


async def test_a_tool_brings_what_it_needs_and_all_calls_are_counted(library: Library, sandbox: Sandbox) -> None:
    for one in (tool("double"), calling("second", "double"), calling("third", "second")):
        library.register(one)
    outcome = await call(library, sandbox, "third")
    assert (outcome.value, set(outcome.called)) == (8, {CallCount("double", 1), CallCount("second", 1)})
    library.record_calls([CallCount("double", 5, 2), CallCount("second", 1)])
    stats = library.stats("double")
    assert (stats.calls, stats.successes, stats.failures) == (5, 3, {"exception": 2})


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ([], "first → second: there is no tool 'second'"),
        (
            [tool("second", status=Status.DRAFT)],
            "first → second: second is a draft\napprove it first: alita tools approve second",
        ),
        ([calling("second", "third")], "first → second → third: there is no tool 'third'"),
        ([calling("second", "first")], "first → second → first: tools cannot import each other in a circle"),
        ([calling("second", "second")], "first → second → second: tools cannot import"),
        ([tool("second", tools=[f"t{n}" for n in range(60)]), *(tool(f"t{n}") for n in range(60))], "at most 50 tools"),
    ],
    ids=["missing", "draft", "deep", "circle", "itself", "too many"],
)
async def test_what_a_tool_needs_must_be_there_and_approved(
    library: Library, sandbox: Sandbox, tools: list[Tool], said: str
) -> None:
    for one in (calling("first", "second"), *tools):
        library.register(one)
    with pytest.raises(LibraryError) as refused:
        await call(library, sandbox, "first")
    assert said in str(refused.value)


async def test_a_tool_whose_file_was_changed_is_not_brought(library: Library, sandbox: Sandbox) -> None:
    for one in (tool("double"), calling("first", "double")):
        library.register(one)
    library.path("double").write_text("print('other')\n")
    with pytest.raises(LibraryError, match=r"first → double: double\.py "):
        await call(library, sandbox, "first")


async def test_an_imported_tool_gets_no_more_than_the_call(library: Library, sandbox: Sandbox, tmp_path: Path) -> None:
    """Neither the folder for the user's files, nor granted files, nor the time that it declares for itself."""
    secret, folder = tmp_path / "secret.txt", tmp_path / "outputs"
    secret.write_text("secret")
    folder.mkdir()
    library.register(tool("writes", "open('n.txt', 'w').write(str(n))\n    return n", write=True))
    library.register(tool("reads", f"return len(open({str(secret)!r}).read())", read=True))
    library.register(tool("waits", "import time\n    time.sleep(n)\n    return n", seconds=60))
    for one in ("writes", "reads", "waits"):
        library.register(calling(f"by_{one}", one, **({"seconds": 1} if one == "waits" else {})))
    assert (await call(library, sandbox, "by_writes", write=folder)).ok
    assert list(folder.iterdir()) == []
    denied, late = await call(library, sandbox, "by_reads"), await call(library, sandbox, "by_waits", 5)
    assert [one.problem and one.problem.kind for one in (denied, late)] == ["denied", "wall_time"]


async def test_a_written_tool_is_approved_with_the_tools_that_it_imports(library: Library, sandbox: Sandbox) -> None:
    async def opened() -> Sandbox:
        return sandbox

    library.register(tool("double"))
    library.path("mine").write_text(WRITTEN.format(name="mine", other="double", result=5))
    seen = await review(library, "mine", opened)
    assert (seen.obstacles, len(seen.tests.passed)) == ([], 1)
    assert approve(library, seen).capabilities.tools == ("double",)
    assert (await call(library, sandbox, "mine")).value == 7

    library.path("double").write_text(WRITTEN.format(name="double", other="mine", result=6))
    with pytest.raises(LibraryError, match="double → mine → double: tools cannot import each other in a circle"):
        await review(library, "double", opened)


async def test_a_tool_that_others_import_is_not_deleted_before_them(library: Library) -> None:
    for one in (tool("double"), calling("first", "double"), tool("other", "return n  # 'double'")):
        library.register(one)
    with pytest.raises(LibraryError, match="double is imported by first"):
        library.delete("double")
    library.delete("first")
    library.delete("double")
    assert [one.name for one in library.list()] == ["other"]


async def test_capabilities_that_are_not_declared_change_no_approval() -> None:
    before = {"read": True, "hosts": [], "packages": ["numpy"]}  # what alita hashed before it knew others
    one = tool("double", **before)
    assert ApprovedHashes.of(one).capabilities == hashlib.sha256(canonical(before)).hexdigest()
    hashes = {
        ApprovedHashes.of(replace(one, provenance={"capabilities": {**before, **more}})).capabilities
        for more in (
            {},
            {"write": True},
            {"tools": ["a"]},
            {"tools": ["b"]},
            {"keys": ["a"]},
            {"hosts": ["a"]},
            {"seconds": 3},
            {"memory_mb": 9},
        )
    }
    assert len(hashes) == 8
    nothing = {"write": False, "tools": [], "keys": [], "seconds": None, "memory_mb": None}
    said = replace(one, provenance={"capabilities": {**before, **nothing}})
    assert ApprovedHashes.of(said).capabilities == ApprovedHashes.of(one).capabilities


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("import double, json, numpy, PIL, openpyxl", ["double"]),
        ("def f():\n    from double import double as d\n    import other", ["double", "other"]),
        ("from .double import x\nimport a.b\nimport Double\nfrom double import *", ["double"]),
        ("import sympy, left_over", ["left_over"]),
        ("import (", []),
    ],
    ids=["packages", "inside", "no tools", "declared package", "no code"],
)
async def test_only_names_that_may_be_tools_are_looked_up(source: str, names: list[str]) -> None:
    assert module_names(source, ["sympy"]) == names


@pytest.mark.parametrize(
    ("tools", "ok"), [((), False), (("double",), True), (("first",), False)], ids=["none", "declared", "itself"]
)
async def test_a_tool_imports_only_declared_tools(tools: tuple[str, ...], ok: bool) -> None:
    name = "first" if tools == ("first",) else "double"
    source = f'def first(n: int) -> int:\n    """Compute."""\n    from {name} import {name}\n\n    return {name}(n)\n'
    rules = {finding.rule for finding in check(source, capabilities=Capabilities(tools=tools)).findings}
    assert ("allowed-imports" in rules) != ok


async def test_a_version_is_of_each_source_under_its_name() -> None:
    """Two imported tools that change places are another version: what the user allowed for good was for the old one."""
    caller, one, two = (Tool(name, "", {}, {}, source) for name, source in (("c", "c"), ("a", "1"), ("b", "2")))
    swapped = (replace(one, source=two.source), replace(two, source=one.source))
    assert Needs((one, two)).version_of(caller) == Needs((two, one)).version_of(caller)
    assert Needs((one, two)).version_of(caller) != Needs(swapped).version_of(caller)
    assert Needs().version_of(caller) == caller.source_hash
