"""The servers that benchmarks/serving.py talks to over stdio, each a process of its own.

    python benchmarks/serving_peers.py lowlevel FOLDER   # the SDK's low-level server, with the tools of a library
    python benchmarks/serving_peers.py fastmcp           # FastMCP, running `add_numbers` in its own process

The first knows the definitions of the tools and nothing else: it is what a list costs when nobody looks after it.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any


def definitions(folder: Path) -> list[dict[str, Any]]:
    """The MCP tool objects of a library, read without any care."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    keys = ("name", "description", "inputSchema", "outputSchema", "annotations")
    return [{key: tool[key] for key in keys if key in tool} for tool in found]


def low_level(tools: list[dict[str, Any]]) -> Any:
    """A server of the SDK's low level that lists these tools and adds two numbers."""
    import mcp_types as types
    from mcp.server.lowlevel import Server

    listed = [types.Tool.model_validate(tool) for tool in tools]

    async def on_list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def on_call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        given = params.arguments or {}
        content = {"result": given["a"] + given["b"]}
        text = types.TextContent(type="text", text=json.dumps(content))
        return types.CallToolResult(content=[text], structured_content=content)

    return Server("bare", on_list_tools=on_list_tools, on_call_tool=on_call_tool)


async def serve_low_level(folder: Path) -> None:
    """Serves the tools of a library over stdio, bare."""
    from mcp.server.stdio import stdio_server

    server = low_level(definitions(folder))
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def serve_fastmcp() -> None:
    """Serves the same function unsandboxed."""
    from fastmcp import FastMCP

    server = FastMCP("fast")

    @server.tool
    def add_numbers(a: int, b: int) -> int:
        """Adds two numbers."""
        return a + b

    server.run(transport="stdio", show_banner=False, log_level="ERROR")


def main() -> None:
    """Runs the named server until its input ends."""
    what, *folder = sys.argv[1:]
    if what == "fastmcp":
        serve_fastmcp()
    else:
        asyncio.run(serve_low_level(Path(folder[0])))


if __name__ == "__main__":
    main()
