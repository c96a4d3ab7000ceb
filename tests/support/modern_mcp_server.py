"""An MCP server with the 2026 protocol, made with the SDK. It uses stdio; with `--http`, it uses HTTP and
prints its port.

With `--key KEY`, HTTP requests without that bearer token get 401.
"""

import asyncio
import os
import socket
import sys

import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.subscriptions import ToolsListChanged

BUS = InMemorySubscriptionBus()
NAMES = ["double", "grow", "crash", "flood", "ask", "sleep"]
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def said(text):
    return types.CallToolResult(content=[types.TextContent(text=text)])


async def list_tools(ctx, params):
    empty = {"type": "object"}
    return types.ListToolsResult(
        tools=[
            types.Tool(name=n, description=f"To {n} it.", input_schema=NUMBER if n == "double" else empty)
            for n in NAMES
        ]
    )


async def call_tool(ctx, params):
    if params.name == "double":
        value = {"result": 2 * params.arguments["n"]}
        return types.CallToolResult(content=[], structured_content=value)
    if params.name == "grow":
        NAMES.append("grown")
        await BUS.publish(ToolsListChanged())
        return said("grown")
    if params.name == "crash":
        os._exit(7)
    if params.name == "flood":
        return said("x" * 20_000_000)
    if params.name == "sleep":
        await asyncio.sleep(600)
    if params.name == "ask":
        if params.input_responses is None:
            form = types.ElicitRequestFormParams(
                message="your password?", requested_schema={"type": "object", "properties": {}}
            )
            return types.InputRequiredResult(
                input_requests={"who": types.ElicitRequest(params=form)}, request_state="state"
            )
        return said(f"{params.request_state}: {params.input_responses['who'].action}")
    return said("nothing")


SERVER = Server("modern", on_list_tools=list_tools, on_call_tool=call_tool, on_subscriptions_listen=ListenHandler(BUS))


def guarded(app, key):
    """Return an app that requires a key."""

    async def asgi(scope, receive, send):
        if scope["type"] == "http":
            authorization = dict(scope["headers"]).get(b"authorization", b"").decode()
            if key and authorization != f"Bearer {key}":
                await send({"type": "http.response.start", "status": 401, "headers": []})
                await send({"type": "http.response.body", "body": b""})
                return
        await app(scope, receive, send)

    return asgi


async def serve_http():
    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    key = sys.argv[sys.argv.index("--key") + 1] if "--key" in sys.argv else ""
    app = guarded(SERVER.streamable_http_app(), key)
    await uvicorn.Server(uvicorn.Config(app, log_level="error")).serve(sockets=[listener])


async def serve_stdio():
    options = SERVER.create_initialization_options(NotificationOptions(tools_changed=True))
    async with stdio_server() as (read, write):
        await SERVER.run(read, write, options)


asyncio.run(serve_http() if "--http" in sys.argv else serve_stdio())
