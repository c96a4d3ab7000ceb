"""Serves tools to one MCP client over stdin and stdout. They run in this process, so nothing isolates them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from mcp_tools.exchange.standalone.calling import call


def serve(name: str, functions: Mapping[str, Callable[..., Any]], definitions: Mapping[str, Mapping[str, Any]]) -> None:
    """Serve functions until the client disconnects. `definitions` are their MCP tool objects, by the same names."""
    import anyio
    import anyio.to_thread
    import jsonschema
    import mcp_types as types
    from mcp.server.lowlevel.server import Server
    from mcp.server.stdio import stdio_server

    keys = ("name", "title", "description", "inputSchema", "outputSchema")  # no hints, because nothing enforces them
    listed = [types.Tool.model_validate({key: one[key] for key in keys if key in one}) for one in definitions.values()]

    def answer(tool: str, arguments: dict[str, Any]) -> types.CallToolResult:
        if tool not in functions:
            return failed(f"There is no tool {tool!r}; there are: {', '.join(functions)}")
        try:
            jsonschema.validate(arguments, definitions[tool]["inputSchema"])
        except jsonschema.ValidationError as error:
            return failed(f"The arguments do not fit: {error.json_path}: {error.message}")
        try:
            result = {"result": call(functions[tool], arguments)}
        except Exception as error:  # noqa: BLE001 - the client gets any error of the tool
            return failed(f"{type(error).__name__}: {error}")
        text = types.TextContent(type="text", text=json.dumps(result, ensure_ascii=False))
        return types.CallToolResult(content=[text], structured_content=result)

    def failed(text: str) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)

    async def on_list_tools(_: object, __: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def on_call_tool(_: object, asked: types.CallToolRequestParams) -> types.CallToolResult:
        return await anyio.to_thread.run_sync(answer, asked.name, asked.arguments or {})

    async def run() -> None:
        server = Server(name, on_list_tools=on_list_tools, on_call_tool=on_call_tool)
        async with stdio_server() as (source, sink):
            await server.run(source, sink, server.create_initialization_options())

    anyio.run(run)
