"""What the Python clients of the 2.x line see of a server: the SDK's own and FastMCP's, in either era."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import mcp_types
from judging import Report, Served
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

Call = Callable[..., Awaitable[Any]]


def plain(result: Any) -> Report:
    """A result of a tool as JSON."""
    return {
        "isError": bool(result.is_error),
        "structuredContent": result.structured_content,
        "text": "\n".join(block.text for block in result.content if block.type == "text"),
    }


async def see(served: Served, mode: str) -> Report:
    """Uses a server through the SDK's client."""
    changed = asyncio.Event()
    async with (
        httpx2.AsyncClient(headers=served.headers, timeout=60) as web,
        Client(_target(served, web), mode=mode, message_handler=_noting(changed)) as client,
    ):

        async def call(name: str, arguments: dict[str, Any], **options: Any) -> Any:
            return await client.call_tool(name, arguments, **options)

        async def names() -> list[str]:
            return [tool.name for tool in (await client.list_tools(cache_mode="bypass")).tools]

        async with _listening(client, changed):
            return await _seen(served, client.protocol_version, call, names, changed)


async def see_with_fastmcp(served: Served, mode: str) -> Report:
    """Uses a server through FastMCP's client."""
    from fastmcp import Client as FastClient
    from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

    command, *arguments = served.command
    pipes = StdioTransport(command, arguments, env=served.env, keep_alive=False)
    target = StreamableHttpTransport(served.url, headers=served.headers) if served.url else pipes
    changed = asyncio.Event()
    async with FastClient(target, mode=mode, message_handler=_noting(changed)) as client:

        async def call(name: str, given: dict[str, Any], **options: Any) -> Any:
            timeout, progress = options.get("read_timeout_seconds"), options.get("progress_callback")
            return await client.call_tool_mcp(name, given, timeout=timeout, progress_handler=progress)

        async def names() -> list[str]:
            return [tool.name for tool in await client.list_tools()]

        async with _listening(client, changed):
            return await _seen(served, client.protocol_version, call, names, changed)


def _target(served: Served, web: httpx2.AsyncClient) -> Any:
    if served.url:
        return streamable_http_client(served.url, http_client=web)
    command, *arguments = served.command
    return StdioServerParameters(command=command, args=arguments, env=served.env)


def _noting(changed: asyncio.Event) -> Callable[[Any], Awaitable[None]]:
    async def note(message: Any) -> None:
        if isinstance(message, mcp_types.ToolListChangedNotification):
            changed.set()

    return note


@asynccontextmanager
async def _listening(client: Any, changed: asyncio.Event) -> AsyncIterator[None]:
    """A connection of 2026 must ask to be told of changes; an older one is told without asking."""
    if client.protocol_version < "2026":
        yield
        return
    from mcp.client.subscriptions import listen

    async with listen(client.session, tools_list_changed=True) as subscription:

        async def follow() -> None:
            async for _ in subscription:
                changed.set()

        following = asyncio.create_task(follow())
        try:
            yield
        finally:
            following.cancel()


async def _seen(
    served: Served, protocol: str, call: Call, names: Callable[[], Awaitable[list[str]]], changed: asyncio.Event
) -> Report:
    async def asked(name: str, arguments: dict[str, Any], **options: Any) -> Report:
        try:
            return plain(await call(name, arguments, **options))
        except MCPError as error:
            return {"isError": False, "error": str(error)}

    steps: list[Report] = []

    async def on_progress(done: float, total: float | None, message: str | None) -> None:
        steps.append({"progress": done, "total": total, "message": message})

    report: Report = {"protocol": protocol, "tools": await names()}
    report["sum"] = await asked("add_numbers", {"a": 2, "b": 3})
    report["search"] = await asked("search_tools", {"query": "add two numbers"})
    report["describe"] = await asked("describe_tool", {"name": "add_numbers"})
    report["through"] = await asked("call_tool", {"name": "add_numbers", "arguments": {"a": 40, "b": 2}})
    report["failed"] = await asked("fail_always", {"n": 7})
    report["misfit"] = await asked("add_numbers", {"a": "two", "b": 3})
    report["unknown"] = await asked("no_such_tool", {})
    slow = asyncio.create_task(asked("wait_tenths", {"n": 25}, progress_callback=on_progress))
    started = time.monotonic()
    report["cancelled"] = await asked("spin_forever", {"n": 1}, read_timeout_seconds=0.5)
    report["cancelled"]["seconds"] = time.monotonic() - started
    report["after"] = await asked("add_numbers", {"a": 2, "b": 3})
    registering = await asyncio.create_subprocess_exec(*served.register_command, env=served.env)
    await registering.wait()
    try:
        await asyncio.wait_for(changed.wait(), 10)
        report["listChanged"] = True
    except TimeoutError:
        report["listChanged"] = False
    report["toolsAfter"] = await names()
    report["late"] = await asked(served.late_tool, {"n": 7})
    report["slow"] = await slow
    report["progress"] = steps
    return report
