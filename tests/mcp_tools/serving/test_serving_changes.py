"""Clients of both protocols are notified of changed tools, whichever process changed them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

import pytest
from desk import LOOKS, Desk, tool
from mcp.client import Client
from mcp.shared.subscriptions import ToolsListChanged

from mcp_tools.library.library import Library
from mcp_tools.serving.server import BUILTIN_TOOLS

pytestmark = pytest.mark.asyncio(loop_scope="module")

Change = Callable[[Library], object]

CHANGES: dict[str, Change] = {
    "registered": lambda library: library.register(tool("late")),
    "deleted": lambda library: library.delete("double"),
    "approved": lambda library: library.approve("waiting"),
}


class Ears:
    """Counts notifications about the list of tools."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.heard = 0
        self._arrived = asyncio.Event()

    def hear(self) -> None:
        self.heard += 1
        self._arrived.set()

    async def wait(self, seconds: float = 5.0) -> None:
        async with asyncio.timeout(seconds):
            await self._arrived.wait()
        self._arrived.clear()

    async def names(self) -> list[str]:
        return [one.name for one in (await self.client.list_tools()).tools][len(BUILTIN_TOOLS) :]


@contextlib.asynccontextmanager
async def listening(desk: Desk, mode: str) -> AsyncIterator[Ears]:
    """Yield a client that receives notifications in the way of its protocol."""
    found: list[Ears] = []

    async def handler(message: object) -> None:
        if type(message).__name__ == "ToolListChangedNotification":
            found[0].hear()

    async def follow(ears: Ears, ready: asyncio.Event) -> None:
        async with ears.client.listen(tools_list_changed=True) as events:
            ready.set()
            async for event in events:
                assert isinstance(event, ToolsListChanged)
                ears.hear()

    async with desk.client(mode, message_handler=handler) as client:
        found.append(Ears(client))
        await client.list_tools()
        if mode == "legacy":
            yield found[0]
            return
        ready = asyncio.Event()
        following = asyncio.create_task(follow(found[0], ready))
        await ready.wait()
        yield found[0]
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
async def test_every_change_is_told(desk: Desk, era: str, change: Change) -> None:
    desk.has(tool(), tool("waiting"))
    desk.library.approvals.drop("waiting")
    async with listening(desk, era) as ears:
        change(Library(desk.library.folder, desk.folder))
        await ears.wait()


async def test_an_edit_inside_a_file_is_told(desk: Desk, mode: str) -> None:
    desk.has(tool())
    async with listening(desk, mode) as ears:
        path = desk.library.path("double")
        path.write_text(path.read_text() + "# another end\n")
        await ears.wait()
        assert await ears.names() == []


async def test_many_changes_at_once_are_told_once_and_none_is_lost(desk: Desk, mode: str) -> None:
    async with listening(desk, mode) as ears:
        for number in range(20):
            desk.has(tool(f"tool_{number:02}"))
        await ears.wait()
        await asyncio.sleep(LOOKS * 5)
        assert ears.heard <= 3
        assert len(await ears.names()) == 20


async def test_a_new_tool_is_there_for_the_next_call_without_waiting(desk: Desk, mode: str) -> None:
    async with desk.client(mode) as client:
        desk.has(tool())
        assert (await client.call_tool("double", {"n": 3})).structured_content == {"result": 6}
        desk.has(tool("triple", "return n * 3"))
        assert [one.name for one in (await client.list_tools()).tools][len(BUILTIN_TOOLS) :] == ["double", "triple"]
