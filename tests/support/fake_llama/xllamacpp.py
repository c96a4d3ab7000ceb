"""Stands in for the engine in tests of the server's life: the same API, no model.

The weights file says how it behaves: `GGUF` and then a JSON object with `load` (seconds) and `fail` (a message).
A prompt `sleep 3` is answered after three seconds, `die` kills the process; anything else with the process's id.
"""

from __future__ import annotations

import json
import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any


class CommonParams:
    """Takes any parameter."""

    def __init__(self) -> None:
        self.model = SimpleNamespace(path="")
        self.cpuparams = SimpleNamespace(n_threads=0)
        self.cpuparams_batch = SimpleNamespace(n_threads=0)
        self.api_keys: list[str] = []
        self.port = 0


class Server:
    """Loads at once or as slowly as its file says, then listens."""

    def __init__(self, params: CommonParams) -> None:
        told = json.loads(Path(params.model.path).read_bytes()[4:] or b"{}")
        time.sleep(told.get("load", 0))
        if "fail" in told:
            raise RuntimeError(told["fail"])
        self.busy = 0
        http = ThreadingHTTPServer(("127.0.0.1", params.port), _handler(self, params))
        http.daemon_threads = True
        threading.Thread(target=http.serve_forever, daemon=True).start()
        self.listening_address = f"http://127.0.0.1:{http.server_address[1]}"


def _handler(server: Server, params: CommonParams) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = 1 << 16

        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            if self.path == "/health":
                self._json(200, {"status": "ok"})
            elif self._allowed():
                self._json(200, [{"is_processing": server.busy > 0}])

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if not self._allowed():
                return
            if self.path == "/tokenize":
                self._json(200, {"tokens": body["content"].split()})
                return
            prompt = str(body["messages"][-1]["content"])
            if prompt == "die":
                os._exit(9)
            server.busy += 1
            time.sleep(float(prompt.removeprefix("sleep ")) if prompt.startswith("sleep ") else 0)
            server.busy -= 1
            text = json.dumps({"pid": os.getpid()})
            message = {"role": "assistant", "content": text}
            choices = [{"index": i, "message": message, "finish_reason": "stop"} for i in range(body.get("n", 1))]
            self._json(
                200, {"choices": choices, "model": "fake", "usage": {"prompt_tokens": 3, "completion_tokens": 2}}
            )

        def _allowed(self) -> bool:
            allowed = self.headers.get("Authorization") in [f"Bearer {key}" for key in params.api_keys]
            if not allowed:
                self._json(401, {"error": {"message": "Invalid API Key"}})
            return allowed

        def _json(self, status: int, value: Any) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler
