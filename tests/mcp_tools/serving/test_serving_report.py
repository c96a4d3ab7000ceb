"""Tools that are not served are reported once on stderr, with a remedy."""

from __future__ import annotations

import asyncio

import pytest
from desk import LOOKS, Desk, tool

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_withheld_and_hidden_tools_are_told_once(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    desk.has(tool(), tool("ask"), *(tool(f"foreign_{number}") for number in range(7)))
    for number in range(7):
        desk.library.approvals.drop(f"foreign_{number}")
    async with desk.client("2026-07-28") as client:
        await client.list_tools()
        first = await _told(capsys, "ask is also the name of a built-in tool")
        await asyncio.sleep(LOOKS * 4)
        assert capsys.readouterr().err == ""
        path = desk.library.path("double")
        path.write_text(path.read_text() + "# changed\n")
        second = await _told(capsys, "double")
    assert first.count("is not served: it was never approved here; alita tools approve foreign_") == 5
    assert "2 more tools are not served" in first
    assert "ask is also the name of a built-in tool; clients can call yours through call_tool" in first
    assert "double is not served" in second
    assert "foreign_1" not in second


async def _told(capsys: pytest.CaptureFixture[str], last: str) -> str:
    """Return stderr as soon as it contains this text."""
    told = ""
    async with asyncio.timeout(15):
        while last not in told:
            await asyncio.sleep(0.1)
            told += capsys.readouterr().err
    return told
