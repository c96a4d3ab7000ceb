"""The servers to which benchmarks/serving.py compares alita over stdio.

    python benchmarks/serving_peers.py lowlevel FOLDER   # the SDK's low-level server, with the tools of a library
    python benchmarks/serving_peers.py fastmcp           # FastMCP, running `add_numbers` in its own process

The first one only has the tools' definitions: it shows what a list costs without approvals and updates.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any


def definitions(folder: Path) -> list[dict[str, Any]]:
    """Return the MCP tool objects of a library, without any checks."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.json"))]
    keys = ("name", "description", "inputSchema", "outputSchema", "annotations")
    return [{key: tool[key] for key in keys if key in tool} for tool in found]


def low_level(tools: list[dict[str, Any]]) -> Any:
    """Return a low-level SDK server that lists these tools and can add two numbers."""
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
    """Serve the tools of a library over stdio."""
    from mcp.server.stdio import stdio_server

    server = low_level(definitions(folder))
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


def serve_fastmcp() -> None:
    """Serve the same function without a sandbox."""
    from fastmcp import FastMCP

    server = FastMCP("fast")

    @server.tool
    def add_numbers(a: int, b: int) -> int:
        """Adds two numbers."""
        return a + b

    server.run(transport="stdio", show_banner=False, log_level="ERROR")


def main() -> None:
    what, *folder = sys.argv[1:]
    if what == "fastmcp":
        serve_fastmcp()
    else:
        asyncio.run(serve_low_level(Path(folder[0])))


if __name__ == "__main__":
    main()
