"""What the MCP SDK of the 1.x line sees of a server: `probe_mcp1.py JSON`, with that SDK's own interpreter.

Prints the report that `judging.assert_saw_everything` reads. Most hosts of today still speak through this client.
"""

import asyncio
import json
import sys
import time
from contextlib import asynccontextmanager
from datetime import timedelta

import httpx
from mcp import ClientSession, McpError, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import (
    CancelledNotification,
    CancelledNotificationParams,
    ClientNotification,
    ServerNotification,
    ToolListChangedNotification,
)


@asynccontextmanager
async def connected(told, on_message):
    if told["url"]:
        opened = streamable_http_client(told["url"], http_client=httpx.AsyncClient(headers=told["headers"], timeout=60))
    else:
        command, *arguments = told["command"]
        opened = stdio_client(StdioServerParameters(command=command, args=arguments, env=told["env"]))
    async with opened as (read, write, *_), ClientSession(read, write, message_handler=on_message) as session:
        yield session


def plain(result):
    return {
        "isError": result.isError,
        "structuredContent": result.structuredContent,
        "text": "\n".join(block.text for block in result.content if block.type == "text"),
    }


async def probe(told):
    changed = asyncio.Event()
    progress = []

    async def on_message(message):
        if isinstance(message, ServerNotification) and isinstance(message.root, ToolListChangedNotification):
            changed.set()

    async def on_progress(done, total, message):
        progress.append({"progress": done, "total": total, "message": message})

    async with connected(told, on_message) as session:
        start = await session.initialize()
        report = {"protocol": start.protocolVersion, "server": start.serverInfo.name}
        report["tools"] = [tool.name for tool in (await session.list_tools()).tools]

        async def call(name, arguments, **options):
            try:
                return plain(await session.call_tool(name, arguments, **options))
            except McpError as error:
                return {"isError": False, "error": str(error)}

        report["sum"] = await call("add_numbers", {"a": 2, "b": 3})
        report["search"] = await call("search_tools", {"query": "add two numbers"})
        report["describe"] = await call("describe_tool", {"name": "add_numbers"})
        report["through"] = await call("call_tool", {"name": "add_numbers", "arguments": {"a": 40, "b": 2}})
        report["failed"] = await call("fail_always", {"n": 7})
        report["misfit"] = await call("add_numbers", {"a": "two", "b": 3})
        report["unknown"] = await call("no_such_tool", {})
        slow = asyncio.create_task(call("wait_tenths", {"n": 25}, progress_callback=on_progress))
        await asyncio.sleep(0)  # it has its number now
        started = time.monotonic()
        number = session._request_id  # this SDK gives up without telling the server, so its host has to
        report["cancelled"] = await call("spin_forever", {"n": 1}, read_timeout_seconds=timedelta(seconds=0.5))
        given_up = CancelledNotificationParams(requestId=number, reason="the judge has seen enough")
        await session.send_notification(ClientNotification(CancelledNotification(params=given_up)))
        report["cancelled"]["seconds"] = time.monotonic() - started
        report["after"] = await call("add_numbers", {"a": 2, "b": 3})
        registering = await asyncio.create_subprocess_exec(*told["register"], env=told["registerEnv"])
        await registering.wait()
        try:
            await asyncio.wait_for(changed.wait(), 10)
            report["listChanged"] = True
        except TimeoutError:
            report["listChanged"] = False
        report["toolsAfter"] = [tool.name for tool in (await session.list_tools()).tools]
        report["late"] = await call(told["lateTool"], {"n": 7})
        report["slow"] = await slow
        report["progress"] = progress
    return report


print(json.dumps(asyncio.run(probe(json.loads(sys.argv[1])))))
