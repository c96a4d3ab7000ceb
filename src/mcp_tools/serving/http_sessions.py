"""Sessions of the 2025 protocol over HTTP, which every replica with the same token can continue.

The SDK keeps a session in one process. Here the session's id, signed with the token, holds what a server has to know of
the client. A replica that does not have the session greets its own SDK in the client's place, and continues. Requests
of
2026 have no session.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PATH = "/mcp"
IDLE_SECONDS = 3600.0
"""After so long without a request, a session is forgotten here. Longer than the longest call."""
MOST_SESSIONS = 500
MOST_SESSIONS_OF_PEER = 200
"""Sessions of one address. Beyond it, an idle one is forgotten, the one used longest ago."""
_MOST_ENDED = 10_000
_LARGEST_GREETING = 65_536
_LONGEST_NAME = 100
_HEADER = b"mcp-session-id"
_JSON = [(b"content-type", b"application/json"), (b"accept", b"application/json, text/event-stream")]

Greeting = dict[str, Any]
"""The parameters of `initialize`, as far as a server uses them."""


@dataclass(slots=True)
class _Held:
    """A session that this process has."""

    own: str
    """The SDK's session id."""
    peer: str
    requests: int = 0
    """Number of its running requests."""


class PortableSessions:
    """An ASGI application that gives sessions portable ids.

    Args:
        application: The SDK's.
        token: The bearer token, which all replicas share.
    """

    def __init__(self, application: ASGIApp, token: str) -> None:
        self._application = application
        # slow to make: ids are in the logs of proxies, and no short token shall be guessed from one
        self._key = hashlib.scrypt(token.encode(), salt=b"alita session", n=2**14, r=8, p=1)
        self._held: dict[str, _Held] = {}
        """By portable id, the one used longest ago first."""
        self._ended: dict[str, None] = {}
        """Sessions that their clients ended, oldest first: they are not continued."""
        self._continuing = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, with the SDK's id in place of the portable one."""
        if scope["type"] != "http" or scope["path"] != PATH:
            await self._application(scope, receive, send)
            return
        session = dict(scope["headers"]).get(_HEADER, b"").decode("latin-1")
        greeting = self._greeting_of(session)
        if not session:
            await self._begin(scope, receive, send)
        elif greeting is None or session in self._ended:
            await self._application(scope, receive, send)  # which knows no such session
        elif scope["method"] == "DELETE":
            await self._end(session, scope, receive, send)
        else:
            await self._continue(session, greeting, scope, receive, send)

    async def _begin(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request without a session on. If it begins one, the client gets its portable id."""
        body = bytearray()

        async def read() -> Message:
            message = await receive()
            if len(body) <= _LARGEST_GREETING:
                body.extend(message.get("body", b""))
            return message

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start" and (own := _session_in(message)):
                session = self._portable(_read_greeting(bytes(body)))
                await self._hold(session, _Held(own, _peer(scope)))
                message = _with_session(message, session)
            await send(message)

        await self._application(scope, read, answer)

    async def _continue(self, session: str, greeting: Greeting, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request of a session on; again, if the SDK has forgotten the session meanwhile."""
        parts: list[Message] = []

        async def read() -> Message:
            parts.append(await receive())
            return parts[-1]

        async def again() -> Message:
            return parts.pop(0) if parts else await receive()

        if not await self._passed(session, greeting, scope, read, send, is_last=False):
            self._held.pop(session, None)
            await self._passed(session, greeting, scope, again, send, is_last=True)

    async def _passed(
        self, session: str, greeting: Greeting, scope: Scope, receive: Receive, send: Send, *, is_last: bool
    ) -> bool:
        """Returns False, with nothing answered, if the SDK does not know the session."""
        async with self._continuing:
            held = self._held.pop(session, None) or await self._continued(greeting, _peer(scope))
            await self._hold(session, held)
        is_known = True

        async def answer(message: Message) -> None:
            nonlocal is_known
            if message["type"] == "http.response.start":
                is_known = is_last or message["status"] != 404
                message = _with_session(message, session)
            if is_known:
                await send(message)

        held.requests += 1
        try:
            await self._application(_with_session(scope, held.own), receive, answer)
        finally:
            held.requests -= 1
        return is_known

    async def _continued(self, greeting: Greeting, peer: str) -> _Held:
        """Greets the SDK in the place of a client that another replica greeted."""
        own = await self._post({"id": 0, "method": "initialize", "params": greeting})
        version = (b"mcp-protocol-version", str(greeting["protocolVersion"]).encode())
        await self._post({"method": "notifications/initialized"}, (_HEADER, own.encode()), version)
        return _Held(own, peer)

    async def _post(self, message: dict[str, Any], *headers: tuple[bytes, bytes]) -> str:
        """Sends the SDK a message. Returns the session in its answer."""
        session, parts = "", [json.dumps({"jsonrpc": "2.0", **message}).encode()]

        async def body() -> Message:
            if not parts:
                await asyncio.Event().wait()  # the client stays
            return {"type": "http.request", "body": parts.pop(), "more_body": False}

        async def heard(answer: Message) -> None:
            nonlocal session
            session = session or _session_in(answer)

        await self._application(_request("POST", *_JSON, *headers), body, heard)
        return session

    async def _end(self, session: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Ends a session for its client, also if another replica has it."""
        self._ended[session] = None
        if len(self._ended) > _MOST_ENDED:
            del self._ended[next(iter(self._ended))]
        if held := self._held.pop(session, None):
            await self._application(_with_session(scope, held.own), receive, send)
        else:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    async def _hold(self, session: str, held: _Held) -> None:
        """Notes a session as used last. If there are too many, one of the others is forgotten."""
        self._held[session] = held
        others = [one for one in self._held if one != session]
        of_peer = [one for one in others if self._held[one].peer == held.peer]
        if len(of_peer) < MOST_SESSIONS_OF_PEER and len(others) < MOST_SESSIONS:
            return
        candidates = of_peer if len(of_peer) >= MOST_SESSIONS_OF_PEER else others
        oldest = next((one for one in candidates if not self._held[one].requests), candidates[0])
        ending = _request("DELETE", *_JSON, (_HEADER, self._held.pop(oldest).own.encode()))
        await self._application(ending, _nothing, _unheard)

    def _portable(self, greeting: Greeting) -> str:
        content = base64.urlsafe_b64encode(json.dumps([secrets.token_urlsafe(18), greeting]).encode()).decode()
        return f"{content.rstrip('=')}.{self._signature(content.rstrip('='))}"

    def _greeting_of(self, session: str) -> Greeting | None:
        """The greeting in a portable id; None if this is not one that a server with our token made."""
        content, _, signature = session.partition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(content).encode()):
            return None
        greeting: Greeting = json.loads(base64.urlsafe_b64decode(content + "=" * (-len(content) % 4)))[1]
        return greeting

    def _signature(self, content: str) -> str:
        return hmac.new(self._key, content.encode(), hashlib.sha256).hexdigest()


def _read_greeting(body: bytes) -> Greeting:
    """The parameters of an `initialize` that the SDK accepted. Its client's name may be long, and is cut."""
    try:
        params = json.loads(body)["params"]
    except ValueError:  # a greeting so long that its end was not kept
        params = {}
    client, asks = params.get("clientInfo", {}), params.get("capabilities", {}).get("elicitation")
    return {
        "protocolVersion": params.get("protocolVersion", "2025-11-25"),
        "capabilities": {} if asks is None else {"elicitation": {name: {} for name in ("form", "url") if name in asks}},
        "clientInfo": {name: str(client.get(name, ""))[:_LONGEST_NAME] for name in ("name", "version")},
    }


def _session_in(message: Message) -> str:
    found: bytes = dict(message.get("headers", ())).get(_HEADER, b"")
    return found.decode()


def _with_session(message: Any, session: str) -> Any:
    """A request's scope or the start of an answer, with another session; without a session it is unchanged."""
    headers = [(name, session.encode() if name == _HEADER else value) for name, value in message["headers"]]
    return {**message, "headers": headers}


def _peer(scope: Scope) -> str:
    return str((scope.get("client") or ("",))[0])


def _request(method: str, *headers: tuple[bytes, bytes]) -> Scope:
    path = {"path": PATH, "raw_path": PATH.encode(), "root_path": "", "query_string": b""}
    all_headers = [(b"host", b"localhost"), *headers]
    return {"type": "http", "method": method, "http_version": "1.1", "scheme": "http", "headers": all_headers, **path}


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unheard(message: Message) -> None:
    pass
