"""The web site of an invented town on loopback, for readers, searches and browsers.

    with Site() as site:
        … site.url + "/ferry" …
        site.requests            every request, in order
        site.records["login"]    who has signed in, as dictionaries of text

The pages are files of tests/site/pages; routes.py has their paths. `Site("127.0.0.2")` is a second site at another
address, which counts as an independent source.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

HTML = "text/html; charset=utf-8"


@dataclass
class Request:
    """One request."""

    method: str
    path: str
    """Path without the query."""
    query: dict[str, str]
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes = b""
    session: str = ""
    at: float = field(default_factory=time.perf_counter)

    @property
    def form(self) -> dict[str, str]:
        """Return the fields of a form in application/x-www-form-urlencoded."""
        return _last(self.body.decode())


@dataclass
class Reply:
    """One response."""

    body: bytes | str | Iterable[bytes] = b""
    """Pieces are sent one by one, without a length."""
    status: int = 200
    kind: str = HTML
    headers: dict[str, str] = field(default_factory=dict)


class Site:
    """The server. `records` has visitors' actions by kind, `sessions` the data of each session."""

    def __init__(self, host: str = "127.0.0.1") -> None:
        self.requests: list[Request] = []
        self.records: dict[str, list[dict[str, str]]] = defaultdict(list)
        self.sessions: dict[str, dict[str, Any]] = defaultdict(dict)
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._http = ThreadingHTTPServer((host, 0), _handler(self))
        self._http.daemon_threads = True
        self.host = f"{host}:{self._http.server_address[1]}"
        self.url = f"http://{self.host}"

    def paths(self) -> list[str]:
        """Return the requested paths in order."""
        return [request.path for request in self.requests]

    def record(self, kind: str, values: dict[str, str]) -> None:
        """Record a visitor's action."""
        self.records[kind].append(values)

    def wait(self, seconds: float) -> None:
        """Sleep until the time is over or the site closes."""
        self._closing.wait(seconds)

    def reply(self, request: Request) -> Reply:
        """Return the reply to a request; a new visitor gets a session."""
        from support.site.routes import answer

        with self._lock:
            self.requests.append(request)
            is_new = request.session not in self.sessions
            request.session = secrets.token_hex(8) if is_new else request.session
            self.sessions[request.session]["seen"] = True
        told = answer(self, request)
        if is_new:
            told.headers.setdefault("Set-Cookie", f"session={request.session}; Path=/; HttpOnly; SameSite=Lax")
        return told

    def __enter__(self) -> Site:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()


def _last(text: str) -> dict[str, str]:
    """Return the fields of a query or a form; for a repeated field, the last value."""
    return {name: values[-1] for name, values in parse_qs(text, keep_blank_values=True).items()}


def _handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        wbufsize = 1 << 16

        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            self._serve()

        do_HEAD = do_POST = do_PUT = do_GET  # noqa: N815 - the names that http.server looks for

        def _serve(self) -> None:
            address = urlsplit(self.path)
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            cookie = SimpleCookie(headers.get("cookie", "")).get("session")
            session = cookie.value if cookie else ""
            request = Request(self.command, address.path, _last(address.query), headers, body, session)
            try:
                self._send(site.reply(request))
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def _send(self, reply: Reply) -> None:
            body = reply.body.encode() if isinstance(reply.body, str) else reply.body
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.kind)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if isinstance(body, bytes):
                self.send_header("Content-Length", str(len(body)))
            else:
                self.send_header("Connection", "close")
                self.close_connection = True
            self.end_headers()
            if self.command != "HEAD":
                for piece in [body] if isinstance(body, bytes) else body:
                    self.wfile.write(piece)

    return Handler
