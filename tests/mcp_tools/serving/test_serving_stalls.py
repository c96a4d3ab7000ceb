"""No call of a client blocks the calls of others."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from desk import Desk, error_of, tool

from mcp_tools.library.library import Library
from mcp_tools.serving.propose_tool import ProposalRules

pytestmark = pytest.mark.asyncio(loop_scope="module")

WAIT = 2.0
"""Allowed seconds of blocking on a busy machine. Before the fix, these calls blocked for several seconds."""


@contextlib.asynccontextmanager
async def longest_stall() -> AsyncIterator[Callable[[], float]]:
    """Measure the longest time for which the event loop was blocked."""
    longest = 0.0

    async def tick() -> None:
        nonlocal longest
        while True:
            begun = time.monotonic()
            await asyncio.sleep(0.02)
            longest = max(longest, time.monotonic() - begun)

    ticking = asyncio.create_task(tick())
    await asyncio.sleep(0)
    try:
        yield lambda: longest
    finally:
        ticking.cancel()


def function(body: str, more: str = "", kind: str = "int") -> str:
    return f'''{more}def twice(n: {kind}) -> int:
    """Double a number.

    Args:
        n: The number to double.

    Returns:
        The number, two times.
    """
{body}    return 2 * n
'''


EXAMPLES = [{"arguments": {"n": n}, "result": 2 * n} for n in (1, 2, 5)]
PARTS = "x = f'" + "{a}" * 30_000 + "'\n"
CALLS: dict[str, tuple[str, dict[str, Any], str]] = {
    "a program with an f-string of many parts": ("run_code", {"source": f"if 0:\n    {PARTS}print(7)"}, ""),
    "a program with many imports": (
        "run_code",
        {"source": f"import {','.join(f'some_module_{n}' for n in range(9_000))}"},
        "the limit is 50",
    ),
    "a list of wrong values": ("total", {"n": ["a"] * 90_000}, "is not a whole number"),
    "a proposal with an f-string of many parts": (
        "propose_tool",
        {"code": function("    a = 1\n    s = f'" + "{a}" * 9_000 + "'\n"), "examples": EXAMPLES},
        "has 9,000 parts; the limit is 1,000",
    ),
}


@pytest.mark.parametrize("name", CALLS)
async def test_others_go_on_during_a_call(desk: Desk, mode: str, name: str) -> None:
    called, arguments, says = CALLS[name]
    integers = {"n": {"type": "array", "items": {"type": "integer"}}}
    desk.has(tool("total", "return sum(n)", takes=integers, signature="n: list[int]"))
    async with desk.client(mode, proposals=ProposalRules("auto")) as client:
        await client.call_tool("propose_tool", {"code": "x = 1", "examples": EXAMPLES})  # imports what it needs
        async with longest_stall() as longest:
            result = await client.call_tool(called, arguments)
    assert says in str(result), str(result)[:2000]
    assert longest() < WAIT


async def test_a_schema_that_hostile_code_wrote_itself_is_not_taken(desk: Desk, library: Library, mode: str) -> None:
    """A pattern in a schema could take forever to match."""
    patched = """import sys


def _patched() -> str:
    for module in [*sys.modules.values()]:
        for form in getattr(module, "_SCALARS", {}).values():
            form.schema["pattern"] = "^(a+)+$"
    return "done"


_KIND = _patched()


"""
    async with desk.client(mode, proposals=ProposalRules("auto")) as client:
        said = await client.call_tool("propose_tool", {"code": function("", patched), "examples": EXAMPLES})
        result = await client.call_tool("call_tool", {"name": "twice", "arguments": {"n": "a" * 40 + "!"}})
    assert (said.structured_content or {})["status"] == "refused"
    assert "while its schemas were derived" in str(said)
    assert error_of(result)["kind"] == "unknown_tool"
    assert library.list() == []
