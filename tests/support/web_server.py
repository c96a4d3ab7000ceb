"""A web server for tests. It can use TLS, and can send slowly.

    server.page("/a", "<p>text</p>")                         a page
    server.page("/a", b"…", status=404, headers={…})
    server.route("/a", lambda asked: Answer(…))              the function's answer
    server.route("/a", answers=[Answer(503), Answer(200)])   one after the other; the last is repeated

`requests` has the requests, `url` the address; `at("name.example")` is the address with another host name.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


@dataclass
class Answer:
    """The response to one request."""

    status: int = 200
    body: bytes | str | Iterable[bytes] = b""
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    """True to disconnect after the body, although the headers announce a longer one."""


@dataclass
class Asked:
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    """Enough for many concurrent requests."""


class WebServer:
    """The server, which runs inside a `with` block.

    Args:
        certificate: File with certificate and key, for TLS.
        host: Address to listen at.
    """

    def __init__(self, certificate: Path | None = None, host: str = "127.0.0.1") -> None:
        self.requests: list[Asked] = []
        self.sent = 0
        """Bytes sent in bodies."""
        self.in_flight = 0
        self.most_in_flight = 0
        self._routes: dict[str, Callable[[Asked], Answer]] = {}
        self._lock = threading.Lock()
        self.released = threading.Event()
        self._http = _Listener((host, 0), _handler(self))
        self._scheme = "https" if certificate else "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self._http.server_address[1]
        self.url = self.at(host)

    def at(self, host: str) -> str:
        """Return the address with a host name."""
        return f"{self._scheme}://{host}:{self.port}"

    def page(self, path: str, body: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> None:
        head = {"Content-Type": "text/html; charset=utf-8"} if headers is None else headers
        self.route(path, lambda _: Answer(status, body, head))

    def route(
        self, path: str, answer: Callable[[Asked], Answer] | None = None, *, answers: list[Answer] | None = None
    ) -> None:
        """Add the answer of a path; a final * matches any rest."""
        left = list(answers or [])
        self._routes[path] = answer or (lambda _: left.pop(0) if len(left) > 1 else left[0])

    def paths(self) -> list[str]:
        """Return the requested paths, without robots.txt."""
        return [one.path for one in self.requests if one.path != "/robots.txt"]

    def answer(self, asked: Asked) -> Answer:
        """Return the answer to a request."""
        with self._lock:
            self.requests.append(asked)
            plain = asked.path.partition("?")[0]
            found = self._routes.get(asked.path) or self._routes.get(plain)
            starred = [one for one in self._routes if one.endswith("*") and asked.path.startswith(one[:-1])]
            if found is None and starred:
                found = self._routes[max(starred, key=len)]
        return found(asked) if found else Answer(404, "<h1>Not here</h1>", {"Content-Type": "text/html"})

    def __enter__(self) -> WebServer:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.released.set()
        self._http.shutdown()
        self._http.server_close()


def _handler(server: WebServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            with server._lock:
                server.in_flight += 1
                server.most_in_flight = max(server.most_in_flight, server.in_flight)
            try:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {name.lower(): value for name, value in self.headers.items()}
                self._send(server.answer(Asked(self.command, self.path, headers, body)))
            except (OSError, ssl.SSLError):
                self.close_connection = True
            finally:
                with server._lock:
                    server.in_flight -= 1

        def do_POST(self) -> None:
            self.do_GET()

        def do_CONNECT(self) -> None:
            self.do_GET()  # only records that a client asked this proxy for a tunnel

        def _send(self, answer: Answer) -> None:
            body = answer.body.encode() if isinstance(answer.body, str) else answer.body
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            if isinstance(body, bytes):
                self.send_header("Content-Length", str(len(body) + (1000 if answer.cut else 0)))
                self.close_connection = self.close_connection or answer.cut
            else:
                self.send_header("Connection", "close")
                self.close_connection = True
            self.end_headers()
            for piece in _pieces(body):
                self.wfile.write(piece)
                server.sent += len(piece)

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except (OSError, ssl.SSLError):
                self.close_connection = True

    return Handler


def _pieces(body: bytes | Iterable[bytes]) -> Iterator[bytes]:
    if isinstance(body, bytes):
        yield body
    else:
        yield from body


def certificate(folder: Path, *names: str, days: int = 30) -> Path:
    """Write a self-signed certificate and its key to one file.

    Args:
        folder: Folder for the file.
        names: Hosts of the certificate.
        days: Days of validity; negative for an expired certificate.
    """
    from datetime import UTC, datetime, timedelta

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, names[0])])
    now = datetime.now(UTC)
    built = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=60))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(one) for one in names]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"{names[0]}.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(built.public_bytes(serialization.Encoding.PEM) + private)
    return path
