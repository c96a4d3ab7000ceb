"""An MCP server with the 2025 protocol that follows a plan, over stdio (`odd_mcp_server.py PLAN`) or HTTP (`OddWeb`).

The plan is JSON: `tools` or `pages` (the result of `tools/list`), and for each tool the steps of a call. The steps are
`result`, `error`, `raw` (unchanged text, with ID for the request's id), `notify`, `sleep`, `exit` and `once` (steps
of the first call only). Over HTTP there are also `status` with `body` and `headers`, and `cut`. Each call adds a line
to $MCP_LOG.
"""

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

EMPTY = {"type": "object"}
LOOKUP = {"name": "lookup", "description": "Looks up a price", "inputSchema": EMPTY}
PRICE = {"content": [{"type": "text", "text": "12.50 EUR"}]}


class Plan:
    """A plan, and the calls so far."""

    def __init__(self, plan):
        self.plan = plan
        self.calls = {}

    def steps(self, request):
        """Return the steps of the reply to a request; none for a notification."""
        method, params = request.get("method"), request.get("params") or {}
        if "id" not in request or method is None:
            return []
        if method == "initialize":
            info = {"name": "odd", "version": "1"}
            version = self.plan.get("version", params["protocolVersion"])
            whole = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
            return [{"result": self.plan.get("initialize", whole)}]
        if method == "tools/list" and "pages" in self.plan:
            return [self.plan["pages"][params.get("cursor") or ""]]
        if method == "tools/list":
            return [{"result": {"tools": self.plan.get("tools", [LOOKUP])}}]
        if method == "tools/call":
            name = params["name"]
            self.calls[name] = self.calls.get(name, 0) + 1
            if "MCP_LOG" in os.environ:
                with Path(os.environ["MCP_LOG"]).open("a") as log:
                    log.write(f"{os.getpid()}\n")
            steps = self.plan.get("calls", {}).get(name, [{"result": PRICE}])
            if steps and "once" in steps[0]:
                steps = steps[0]["once"] if self.calls[name] == 1 else steps[1:]
            return steps
        return [{"error": {"code": -32601, "message": "Method not found"}}]


def message(step, request):
    """Return the message of a step as text; empty if there is none."""
    own = request["id"]
    if "raw" in step:
        return step["raw"].replace("ID", json.dumps(own))
    if "notify" in step:
        progress = {"progressToken": (request["params"].get("_meta") or {}).get("progressToken"), "progress": 1}
        told = {"method": step["notify"], "params": step.get("params", progress)}
        return json.dumps({"jsonrpc": "2.0", **told})
    if "result" in step or "error" in step:
        return json.dumps({"jsonrpc": "2.0", **step, "id": str(own) if step.get("id") == "TEXT" else own})
    return ""


class OddWeb:
    """The server over HTTP, in this process."""

    def __init__(self, plan, *, events=False):
        self.plan = Plan(plan)
        self.sessions = []
        self.begun = 0
        odd = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                request = json.loads(self.rfile.read(int(self.headers["content-length"])))
                session, method = self.headers.get("mcp-session-id"), request.get("method")
                if method == "server/discover":
                    self.reply(400, b"{}")
                    return
                if method == "initialize":
                    odd.begun += 1
                    session = f"session-{odd.begun}"
                    odd.sessions.append(session)
                elif session not in odd.sessions:
                    lost = odd.plan.plan.get("lost", {"status": 404, "body": "Session not found"})
                    self.reply(lost["status"], lost["body"].encode())
                    return
                if "id" not in request or method is None:
                    self.reply(202, b"")
                    return
                self.answer(request, session)

            def answer(self, request, session):
                parts = []
                for step in odd.plan.steps(request):
                    time.sleep(step.get("sleep", 0))
                    if "status" in step:
                        kind, headers = step.get("kind", "text/plain"), step.get("headers", {})
                        self.reply(step["status"], step["body"].encode(), kind=kind, headers=headers)
                        return
                    if "cut" in step:
                        self.close_connection = True
                        text = "".join(f"data: {part}\n\n" for part in parts).encode()
                        self.reply(200, text + b": more", kind="text/event-stream", length=len(text) + 500)
                        return
                    if text := message(step, request):
                        parts.append(text)
                if events and request["method"] == "tools/call":
                    body = "".join(f"data: {part}\n\n" for part in parts)
                    self.reply(200, body.encode(), kind="text/event-stream")
                    return
                self.reply(200, parts[-1].encode(), kind="application/json", headers={"mcp-session-id": session})

            def do_GET(self):
                self.reply(405, b"")

            def do_DELETE(self):
                self.reply(200, b"")

            def reply(self, status, body, *, kind="text/plain", headers=None, length=None):
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body) if length is None else length))
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/mcp"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()


def main():
    plan = Plan(json.loads(sys.argv[1]))
    for line in sys.stdin:
        request = json.loads(line)
        for step in plan.steps(request):
            time.sleep(step.get("sleep", 0))
            if "exit" in step:
                os._exit(step["exit"])
            if text := message(step, request):
                sys.stdout.write(text + "\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
