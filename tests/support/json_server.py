"""A stand-in for search engines' APIs. Tests set its responses: statuses, delays, broken and endless bodies."""

from __future__ import annotations

import contextlib
import json
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True)
class Request:
    """One request."""

    method: str
    path: str
    params: dict[str, str]
    headers: dict[str, str]
    """Names in lower case."""
    body: Any


@dataclass(frozen=True)
class Reply:
    """One response."""

    body: Any = ""
    """JSON, text or bytes."""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0
    """Seconds before the response."""
    cut: bool = False
    """True to close the connection in the middle."""
    repeated: int = 1
    """Number of times the body is sent."""


class JsonServer:
    """Sends the replies in `next`, and then those that `answer` returns."""

    def __init__(
        self, answer: Callable[[Request], Reply] = lambda request: Reply({}), *, tls: ssl.SSLContext | None = None
    ) -> None:
        self.answer = answer
        self.next: deque[Reply] = deque()
        self.requests: list[Request] = []
        self.at_once = 0
        """Highest number of concurrent requests."""
        self._now = 0
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        if tls is not None:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True, do_handshake_on_connect=False)
        scheme, host = ("https", "localhost") if tls else ("http", "127.0.0.1")
        self.url = f"{scheme}://{host}:{self._http.server_address[1]}"

    def count(self, by: int) -> None:
        """Count the start or end of a request."""
        with self._lock:
            self._now += by
            self.at_once = max(self.at_once, self._now)

    def reply(self, request: Request) -> Reply:
        """Return the reply to a request."""
        with self._lock:
            self.requests.append(request)
            if self.next:
                return self.next.popleft()
        return self.answer(request)

    def __enter__(self) -> JsonServer:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.shutdown()
        self._http.server_close()


def _handler(server: JsonServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            self._serve("GET")

        def do_POST(self) -> None:
            self._serve("POST")

        def handle(self) -> None:
            with contextlib.suppress(ssl.SSLError, ConnectionError):  # the client does not trust this server
                super().handle()

        def _serve(self, method: str) -> None:
            server.count(1)
            try:
                self._send(server.reply(self._request(method)))
            except ConnectionError:
                pass
            finally:
                server.count(-1)

        def _request(self, method: str) -> Request:
            parts = urlsplit(self.path)
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            kind = self.headers.get("Content-Type", "")
            body: Any = json.loads(data) if kind.startswith("application/json") else data.decode()
            if kind.startswith("application/x-www-form-urlencoded"):
                body = {name: values[-1] for name, values in parse_qs(data.decode(), keep_blank_values=True).items()}
            params = {name: values[-1] for name, values in parse_qs(parts.query, keep_blank_values=True).items()}
            headers = {name.lower(): value for name, value in self.headers.items()}
            return Request(method, parts.path, params, headers, body)

        def _send(self, reply: Reply) -> None:
            time.sleep(reply.wait)
            data = reply.body if isinstance(reply.body, bytes) else _text(reply.body).encode()
            self.send_response(reply.status)
            kind = "text/html" if isinstance(reply.body, str) else "application/json"
            length = len(data) * reply.repeated + (1000 if reply.cut else 0)
            sent = {"Content-Type": kind, "Content-Length": str(length), **reply.headers}
            for name, value in sent.items():
                self.send_header(name, value)
            self.end_headers()
            for _ in range(reply.repeated):
                self.wfile.write(data)
            self.close_connection = reply.cut

    return Handler


def _text(body: Any) -> str:
    return body if isinstance(body, str) else json.dumps(body)
