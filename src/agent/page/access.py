"""Access to the page: checks the token, isolates visitors, and exposes only the Gradio routes that the page needs."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote

from agent.page.visitors import OUTPUTS, Visitor, Visitors
from mcp_tools.serving.http import ListenOptions, host_refusal

if TYPE_CHECKING:
    from starlette.datastructures import Headers
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_UPLOADED = 200_000_000
"""Maximum size of an upload, in bytes."""
MOST_KEPT = 1_000_000_000
"""Maximum total size of a visitor's uploads, in bytes."""
_MOST_MESSAGE = 1_000_000
_OPEN = re.compile(
    r"/|/config/?|/theme\.css|/favicon\.ico|/(assets|static|svelte)/.+"
    r"|/gradio_api/(startup-events|queue/data|upload_progress|theme\.css|heartbeat/[^/]+|file=.+)"
)
"""Gradio routes that the page reads. Other routes, such as Gradio's proxy, monitoring and editor, are blocked."""
_TAKEN = re.compile(r"/gradio_api/(queue/join|cancel|reset)/?")
"""Gradio routes that the page posts to, in addition to uploads."""
_UPLOAD, _FILE, _ENTER = "/gradio_api/upload", "/gradio_api/file=", "/enter"
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; script-src-attr 'none'; "
    "style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; media-src 'self' blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' "
    "blob:; object-src 'none'; base-uri 'self'; form-action 'self'; frame-src 'none'; frame-ancestors 'none'"
)
"""Content security policy: nothing may be loaded from elsewhere, and attributes may not contain scripts. Gradio's HTML
component needs `unsafe-eval`
for its templates. Our templates must stay constant, because a value in double braces would become code."""
_OF_FILE = "default-src 'none'; sandbox"
_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_FORM = """<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><title>alita</title>
<style>:root {{ color-scheme: light dark }} body {{ font: 16px system-ui; max-width: 28rem; margin: 20vh auto; \
padding: 1rem }} input, button {{ font: inherit; padding: .4rem; margin: .4rem 0 }}</style>
<h1>alita</h1><p>{why}</p><form method="post" action="/enter"><label>Token<br>
<input type="password" name="token" autocomplete="off" autofocus required></label> <button>Enter</button></form></html>
"""
_ASKS = "Enter the token that `alita web` printed, or that the owner of this page gave you."


class PageAccess:
    """ASGI middleware that rejects requests without access and passes the others on to the page."""

    def __init__(self, page: ASGIApp, listen: ListenOptions, visitors: Visitors, uploads: Path) -> None:
        self._page, self._listen, self._visitors, self._uploads = page, listen, visitors, uploads
        self._uploading = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request or pass it on."""
        from starlette.datastructures import Headers
        from starlette.responses import PlainTextResponse

        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._page(scope, receive, send)
            return
        headers, path = Headers(scope=scope), scope["path"]
        respond = _dressed(send, _OF_FILE if path.startswith((_FILE, OUTPUTS)) else _POLICY)
        refusal = host_refusal(headers, self._listen) or _crossing(scope, headers)
        if refusal is not None:
            await refusal(scope, receive, respond)
            return
        cookie = f"alita_{(scope.get('server') or ('', 0))[1]}"
        visitor = self._visitors.by_cookie.get(_cookies(headers).get(cookie, ""))
        if path == _ENTER or (path == "/" and (visitor is None or b"token=" in scope["query_string"])):
            await (await self._entered(scope, receive, cookie, is_known=visitor is not None))(scope, receive, respond)
        elif visitor is None:
            await PlainTextResponse("open the page first\n", 401)(scope, receive, respond)
        elif path.startswith(OUTPUTS):
            await _output(visitor, path.removeprefix(OUTPUTS))(scope, receive, respond)
        elif scope["method"] == "POST" and path.rstrip("/") == _UPLOAD:
            await self._upload(visitor, scope, receive, respond)
        elif scope["method"] == "POST" and _TAKEN.fullmatch(path):
            await self._message(visitor, scope, receive, respond)
        elif scope["method"] in {"GET", "HEAD"} and _OPEN.fullmatch(path):
            await self._read(visitor, scope, receive, respond)
        else:
            await PlainTextResponse("there is nothing here\n", 404)(scope, receive, respond)

    async def _entered(self, scope: Scope, receive: Receive, cookie: str, *, is_known: bool) -> Response:
        from starlette.responses import HTMLResponse, RedirectResponse

        query = scope["query_string"] if scope["method"] == "GET" else await _body(receive, 4_000) or b""
        given = parse_qs(query.decode("latin-1")).get("token", [""])[0]
        if self._listen.token and not hmac.compare_digest(given.encode(), self._listen.token.encode()):
            return HTMLResponse(_FORM.format(why="This token is wrong." if given else _ASKS), 401)
        response = RedirectResponse("/", 303)  # keeps the token out of the address bar
        if not is_known:
            response.set_cookie(cookie, self._visitors.admit(), httponly=True, samesite="strict", path="/")
        return response

    async def _read(self, visitor: Visitor, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the page, a script, a tab's event stream, or a file that the visitor uploaded."""
        from starlette.responses import PlainTextResponse

        path = scope["path"]
        given = parse_qs(scope["query_string"].decode("latin-1")).get("session_hash", [])
        given += [path.rpartition("/")[2]] if "/heartbeat/" in path else []
        if any(not self._visitors.owns(visitor, tab) for tab in given):
            await PlainTextResponse("this is another visitor's\n", 403)(scope, receive, send)
        elif path.startswith(_FILE) and unquote(path.removeprefix(_FILE)) not in visitor.uploads:
            await PlainTextResponse("there is nothing here\n", 404)(scope, receive, send)
        else:
            await self._page(scope, receive, send)

    async def _message(self, visitor: Visitor, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on an action of the visitor's own tab, if all its files were uploaded by this visitor."""
        from starlette.responses import PlainTextResponse

        body = await _body(receive, _MOST_MESSAGE)
        try:
            message = json.loads(body) if body is not None else None
        except (ValueError, RecursionError):
            message = None
        refusal = None
        if body is None:
            refusal = PlainTextResponse(f"a message has at most {_MOST_MESSAGE:,} bytes\n", 413)
        elif not isinstance(message, dict):
            refusal = PlainTextResponse("this is no message\n", 400)
        elif not self._visitors.owns(visitor, message.get("session_hash")):
            refusal = PlainTextResponse("this is another visitor's\n", 403)
        elif any(not isinstance(path, str) or path not in visitor.uploads for path in _paths(message.get("data"))):
            refusal = PlainTextResponse("this file was not sent here\n", 403)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        parts = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def again() -> Message:
            return next(parts, None) or await receive()

        await self._page(scope, again, send)

    async def _upload(self, visitor: Visitor, scope: Scope, receive: Receive, send: Send) -> None:
        """Accept an upload, and count its bytes as they arrive."""
        from starlette.datastructures import Headers
        from starlette.responses import PlainTextResponse

        room = min(MOST_UPLOADED, MOST_KEPT - visitor.kept)
        limits = f"an upload has at most {MOST_UPLOADED:,} bytes, and all of a visitor {MOST_KEPT:,}\n"
        too_large = PlainTextResponse(limits, 413, {"connection": "close"})
        size = Headers(scope=scope).get("content-length", "")
        if size and not (size.isascii() and size.isdigit() and int(size) <= room):
            await too_large(scope, receive, send)
            return
        came, is_full, answered = 0, False, bytearray()

        async def counted() -> Message:
            nonlocal came, is_full
            message = await receive()
            came += len(message.get("body", b""))
            is_full = is_full or came > room
            return {"type": "http.disconnect"} if is_full else message

        async def receive_counted(message: Message) -> None:
            if not is_full:
                answered.extend(message.get("body", b""))
                await send(message)

        visitor.kept += room  # reserves the space, so that parallel uploads cannot use it too
        self._uploading += 1
        try:
            await self._page(scope, counted, receive_counted)
        except Exception:
            if not is_full:
                raise
        finally:
            visitor.kept += min(came, room) - room
            self._uploading -= 1
            if not self._uploading:  # Gradio leaves parts of failed uploads in this folder
                _remove_pieces(self._uploads)
        if is_full:
            await too_large(scope, receive, send)
            return
        try:
            visitor.uploads.update(path for path in json.loads(bytes(answered)) if isinstance(path, str))
        except (ValueError, TypeError):  # Gradio rejected the upload
            return


def _remove_pieces(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_file():
            path.unlink(missing_ok=True)


def _crossing(scope: Scope, headers: Headers) -> Response | None:
    """Return an error response if the request comes from another site. A plain link to the page is allowed."""
    from starlette.responses import PlainTextResponse

    origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
    is_own = origin is None or origin.partition("://")[2] == headers.get("host")
    is_link = scope["method"] == "GET" and scope["path"] == "/" and headers.get("sec-fetch-mode") == "navigate"
    is_link &= headers.get("sec-fetch-dest", "document") == "document"  # the page around a frame opens it
    if is_own and (site in {"same-origin", "none"} or is_link):
        return None
    return PlainTextResponse("this origin may not use the page\n", 403)


def _cookies(headers: Headers) -> dict[str, str]:
    pairs = (pair.strip().partition("=") for pair in headers.get("cookie", "").split(";"))
    return {name: value for name, _, value in pairs}


async def _body(receive: Receive, most: int) -> bytes | None:
    """Return a request's body, or None if it is too long."""
    found = bytearray()
    while True:
        message = await receive()
        found += message.get("body", b"")
        if len(found) > most or message["type"] == "http.disconnect":
            return None
        if not message.get("more_body"):
            return bytes(found)


def _paths(data: Any) -> Iterator[Any]:
    """Yield the paths of all files in a message, at any depth."""
    waiting = [data]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            if "path" in one:
                yield one["path"]
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)


_SHOWN_AS = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif"}


def _output(visitor: Visitor, key: str) -> Response:
    """Serve a file made by a run. Pictures are shown inline; everything else is a download."""
    from starlette.responses import FileResponse, PlainTextResponse

    path = visitor.outputs.get(key)
    if path is None or path.is_symlink() or not path.is_file():
        return PlainTextResponse("there is nothing here\n", 404)
    kind = _SHOWN_AS.get(path.suffix.lower())
    return FileResponse(
        path,
        media_type=kind or "application/octet-stream",
        filename=path.name,
        content_disposition_type="inline" if kind else "attachment",
    )


def _dressed(send: Send, policy: str) -> Send:
    """Add our security headers to responses, and drop the CORS headers that Gradio sets."""

    async def dressed(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {**_HEADERS, "content-security-policy": policy}
            kept = [
                (name, value)
                for name, value in message.get("headers", ())
                if name.decode().lower() not in own and not name.lower().startswith(b"access-control-")
            ]
            message = {**message, "headers": kept + [(n.encode(), v.encode()) for n, v in own.items()]}
        await send(message)

    return dressed
