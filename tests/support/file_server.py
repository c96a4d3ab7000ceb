"""A server of one file for tests of downloads. It supports ranges, and can disconnect, lie and refuse."""

from __future__ import annotations

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class FileServer:
    """Serves `data` at every path; `ranges` lists the requested ranges."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.ranges: list[str | None] = []
        self.paths: list[str] = []
        self.cut_after: list[int] = []
        """Bytes after which the connection breaks, for each of the next requests."""
        self.status = 200
        self.ignores_ranges = False
        self.redirects = False
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> FileServer:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.shutdown()
        self._http.server_close()


def _handler(server: FileServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            if server.redirects and not self.path.startswith("/moved"):
                self.send_response(302)
                self.send_header("Location", "/moved")
                self.end_headers()
                return
            asked = self.headers.get("Range")
            server.ranges.append(asked)
            server.paths.append(self.path)
            if server.status != 200:
                self.send_error(server.status)
                return
            match = None if asked is None or server.ignores_ranges else re.fullmatch(r"bytes=(\d+)-", asked)
            start = int(match[1]) if match else 0
            self.send_response(206 if match else 200)
            self.send_header("Content-Length", str(len(server.data) - start))
            self.end_headers()
            cut = server.cut_after.pop(0) if server.cut_after else len(server.data)
            self.wfile.write(server.data[start : start + cut])

    return Handler
