"""A proxy that answers the real TLS requests of ddgs in place of its search sites."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from support.certificates import tls_server

HOSTS = (
    "html.duckduckgo.com",
    "search.brave.com",
    "www.mojeek.com",
    "www.startpage.com",
    "search.yahoo.com",
)


class SearchProxy:
    """Answers for each site with `pages[host]`: status and HTML, or a function of the query."""

    def __init__(self, folder: Path) -> None:
        self.tls, self.authority = tls_server(folder, *HOSTS)
        self.pages: dict[str, tuple[int, str] | Callable[[dict[str, str]], tuple[int, str]]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        """Host and parameters of each request."""
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _proxy(self))
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    @property
    def hosts(self) -> list[str]:
        """Return the requested hosts in order."""
        return [host for host, _ in self.asked]

    def __enter__(self) -> SearchProxy:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._http.shutdown()
        self._http.server_close()


def duckduckgo_page(*hits: tuple[str, str, str]) -> str:
    """Return a result page of DuckDuckGo; each hit has an address, a title and a text."""
    bodies = "".join(
        f'<div class="result__body"><h2><a href="{url}">{title}</a></h2><a href="{url}">{text}</a></div>'
        for url, title, text in hits
    )
    return f"<html><body>{bodies}</body></html>"


def mojeek_page(*hits: tuple[str, str, str]) -> str:
    """Return a result page of Mojeek."""
    items = "".join(
        f'<li><h2><a href="{url}">{title}</a></h2><p class="s">{text}</p></li>' for url, title, text in hits
    )
    return f'<html><body><ul class="results-standard">{items}</ul></body></html>'


def _proxy(proxy: SearchProxy) -> type[BaseHTTPRequestHandler]:
    class Site(BaseHTTPRequestHandler):
        """The site behind the tunnel."""

        def log_message(self, *args: Any) -> None:
            pass

        def do_GET(self) -> None:
            self._answer(urlsplit(self.path).query)

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers.get("Content-Length", 0))).decode())

        def _answer(self, asked: str) -> None:
            host = self.headers["Host"]
            query = {name: values[-1] for name, values in parse_qs(asked).items()}
            proxy.asked.append((host, query))
            page = proxy.pages.get(host, (403, "<html>Are you a person?</html>"))
            status, text = page(query) if callable(page) else page
            data = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    class Proxy(BaseHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

        def do_CONNECT(self) -> None:
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            try:
                with proxy.tls.wrap_socket(self.connection, server_side=True) as tunnel:
                    Site(tunnel, self.client_address, self.server)
            except (ssl.SSLError, OSError):
                pass  # the client does not trust this server
            self.close_connection = True

    return Proxy
