"""A stand-in for the model hub, with one gated dataset, tokens, terms of use, and the hub's errors."""

from __future__ import annotations

import hashlib
import io
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

COMMIT = "a" * 40
TOKEN = "hf_" + "t" * 30
"""Token of an account that accepted the terms."""
OTHER_TOKEN = "hf_" + "o" * 30
"""Token of an account that did not accept the terms."""


class HubServer:
    """Serves `files` of one dataset at `COMMIT` and at its branch `main`."""

    def __init__(self, repository: str = "gaia-benchmark/GAIA") -> None:
        self.repository = repository
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        """Method and path of each request, in order."""
        self.status = 0
        """Status of every response, if set."""
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def add_table(self, path: str, rows: list[dict[str, Any]]) -> None:
        """Add a table as Parquet."""
        import pyarrow
        from pyarrow import parquet

        out = io.BytesIO()
        parquet.write_table(pyarrow.Table.from_pylist(rows), out)
        self.files[path] = out.getvalue()

    def __enter__(self) -> HubServer:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def refusal(self, token: str) -> tuple[int, str, str] | None:
        """Return status, error code and message if a token may not read."""
        if self.status:
            return self.status, "", "the test's server fails"
        if not token:
            return 401, "GatedRepo", "Access to this dataset is restricted; log in."
        if token == f"Bearer {OTHER_TOKEN}":
            return 403, "GatedRepo", "Access to this dataset is restricted; accept its terms."
        if token != f"Bearer {TOKEN}":
            return 401, "", "Invalid credentials in Authorization header"
        return None


def _handler(server: HubServer) -> type[BaseHTTPRequestHandler]:
    place = re.compile(rf"/datasets/{re.escape(server.repository)}/resolve/([^/]+)/(.+)")

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

        def do_HEAD(self) -> None:
            self._answer(send=False)

        def do_GET(self) -> None:
            self._answer(send=True)

        def _answer(self, *, send: bool) -> None:
            server.asked.append(f"{self.command} {self.path}")
            refusal = server.refusal(self.headers.get("Authorization", ""))
            found = place.fullmatch(self.path)
            if refusal is None and not found:
                refusal = 404, "RepoNotFound", "Repository not found"
            if refusal is None and found and found[1] not in {COMMIT, "main"}:
                refusal = 404, "RevisionNotFound", "Invalid rev id"
            data = server.files.get(found[2]) if found else None
            if refusal is None and data is None:
                refusal = 404, "EntryNotFound", "Entry not found"
            if refusal is not None:
                status, code, message = refusal
                self._head(status, {"X-Error-Code": code, "X-Error-Message": message, "Content-Length": "0"})
                return
            assert data is not None
            self._head(200, {"ETag": f'"{hashlib.sha256(data).hexdigest()}"', "Content-Length": str(len(data))})
            if send:
                self.wfile.write(data)

        def _head(self, status: int, headers: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {"X-Repo-Commit": COMMIT, **headers}.items():
                if value:
                    self.send_header(name, value)
            self.end_headers()

    return Handler
