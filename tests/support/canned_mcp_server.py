"""A stdio MCP server without packages. A file describes its tools and their results; each call is logged.

`canned_mcp_server.py NAME TOOLS LOG`: TOOLS is JSON, tool → description, parameters, required, result or error; a line
`NAME__tool {"argument": …}` is added to LOG for each call.
"""

import json
import sys
from pathlib import Path

NAME, LOG = sys.argv[1], Path(sys.argv[3])
TOOLS = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))


def schema(tool):
    properties = {
        name: {"type": kind} if isinstance(kind, str) else kind for name, kind in tool.get("parameters", {}).items()
    }
    return {"type": "object", "properties": properties, "required": tool.get("required", list(properties))}


def call(name, arguments):
    with LOG.open("a", encoding="utf-8") as log:
        log.write(f"{NAME}__{name} {json.dumps(arguments, ensure_ascii=False)}\n")
    tool = TOOLS[name]
    failed = "error" in tool
    return {"content": [{"type": "text", "text": tool["error" if failed else "result"]}], "isError": failed}


def answer(method, params):
    if method == "initialize":
        capabilities, info = {"tools": {}}, {"name": "canned", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}
    if method == "tools/list":
        described = {
            name: {"description": tool["description"], "inputSchema": schema(tool)} for name, tool in TOOLS.items()
        }
        return {"tools": [{"name": name, **tool} for name, tool in described.items()]}
    return call(params["name"], params.get("arguments") or {}) if method == "tools/call" else {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request or "method" not in request:
        continue
    reply = {"jsonrpc": "2.0", "id": request["id"]}
    if request["method"] == "server/discover":
        reply["error"] = {"code": -32601, "message": "Method not found"}
    else:
        reply["result"] = answer(request["method"], request.get("params") or {})
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()
