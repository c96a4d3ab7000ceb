"""Pass HTTP requests from ordinary code to the host, because the sandbox has no network access.

This module patches `urllib.request`, and `requests` and `httpx` when they are imported.
"""

from __future__ import annotations

import io
import itertools
import sys
import threading
import urllib.request
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable, Iterable
from http.client import HTTPResponse, responses
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any
from urllib.error import URLError

from .frames import receive, send
from .result import encode

Message = dict[str, Any]
Ask = Callable[[Message], Message]
"""A function that has the host carry out a request. It raises RuntimeError with the reason if the request fails."""


def host_channel() -> Ask:
    """Return a function that sends requests over the descriptors of a call. Threads take turns."""
    lock, numbers = threading.Lock(), itertools.count(1)

    def ask(request: Message) -> Message:
        with lock:
            send(encode({"ask": next(numbers), "request": request}))
            answer = receive()
        if "error" in answer:
            raise RuntimeError(answer["error"])
        value: Message = answer["value"]
        return value

    return ask


def open_hosts(ask: Ask) -> None:
    """Patch the HTTP libraries, so that their requests go through `ask`."""

    def do_open(_self: object, _connection: object, request: urllib.request.Request, **_: object) -> HTTPResponse:
        headers = [*request.unredirected_hdrs.items()]
        headers += [pair for pair in request.headers.items() if pair[0] not in request.unredirected_hdrs]
        method = request.get_method()
        try:
            answer = ask(_message(method, request.full_url, headers, request.data))
        except RuntimeError as error:
            raise URLError(str(error)) from None
        response = HTTPResponse(_Received(answer), method=method)  # type: ignore[arg-type]  # HTTPResponse only calls makefile
        response.begin()
        response.url = answer["url"]  # urllib also sets both attributes
        response.msg = response.reason  # type: ignore[assignment]
        return response

    urllib.request.AbstractHTTPHandler.do_open = do_open  # type: ignore[assignment]
    sys.meta_path.insert(0, _Patching(ask))
    for name in _PATCHES.keys() & sys.modules.keys():  # packages that are already imported
        _PATCHES[name](sys.modules[name], ask)


class _Patching:
    """Import hook that patches modules right after they are executed."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return the normal spec of a module to patch, but with a patching loader. Return None for other modules."""
        patch = _PATCHES.get(name)
        spec = PathFinder.find_spec(name, path, target) if patch else None
        if patch is None or spec is None or spec.loader is None:
            return None
        load = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            load(module)
            patch(module, self._ask)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def _patch_requests(adapters: Any, ask: Ask) -> None:
    from urllib3.response import HTTPResponse as Raw

    def send_request(adapter: Any, request: Any, **_: object) -> Any:
        try:
            answer = ask(_message(request.method, request.url, request.headers.items(), request.body))
        except RuntimeError as error:
            raise adapters.ConnectionError(str(error), request=request) from None
        status = answer["status"]
        received = Raw(
            body=io.BytesIO(_body(answer)),
            headers=answer["headers"],
            status=status,
            reason=responses.get(status, ""),
            preload_content=False,
        )
        response = adapter.build_response(request, received)
        response.url = answer["url"]
        return response

    adapters.HTTPAdapter.send = send_request


def _patch_httpx(transports: Any, ask: Ask) -> None:
    def handle(request: Any, content: bytes) -> Any:
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw]
        try:
            answer = ask(_message(request.method, str(request.url), headers, content))
        except RuntimeError as error:
            raise transports.ConnectError(str(error), request=request) from None
        pairs = [tuple(pair) for pair in answer["headers"]]
        return transports.Response(answer["status"], headers=pairs, content=_body(answer))

    def handle_request(_: object, request: Any) -> Any:
        return handle(request, request.read())

    async def handle_async_request(_: object, request: Any) -> Any:
        return handle(request, await request.aread())

    transports.HTTPTransport.handle_request = handle_request
    transports.AsyncHTTPTransport.handle_async_request = handle_async_request


_PATCHES: dict[str, Callable[[Any, Ask], None]] = {
    "requests.adapters": _patch_requests,
    "httpx._transports.default": _patch_httpx,
}


def _message(method: str, url: str, headers: Iterable[tuple[str, Any]], data: Any) -> Message:
    pairs = [[name, value.decode("latin-1") if isinstance(value, bytes) else value] for name, value in headers]
    return {"method": method, "url": url, "headers": pairs, "body": b2a_base64(_bytes(data), newline=False).decode()}


def _bytes(data: Any) -> bytes:
    if isinstance(data, str):
        return data.encode()
    if data is None or isinstance(data, bytes | bytearray | memoryview):
        return bytes(data or b"")
    return bytes(data.read() if hasattr(data, "read") else b"".join(data))


def _body(answer: Message) -> bytes:
    body: str = answer["body"]
    return a2b_base64(body) if answer["binary"] else body.encode()


class _Received:
    """A stand-in for a socket that serves a response from memory."""

    def __init__(self, answer: Message) -> None:
        body, status = _body(answer), answer["status"]
        head = [f"HTTP/1.1 {status} {responses.get(status, '')}"]
        head += [f"{name}: {value}" for name, value in answer["headers"]]
        text = "\r\n".join([*head, f"Content-Length: {len(body)}", "", ""])
        self._content = text.encode("latin-1", "replace") + body

    def makefile(self, *_: object) -> io.BytesIO:
        """Return the response as a file, like `socket.makefile`."""
        return io.BytesIO(self._content)
