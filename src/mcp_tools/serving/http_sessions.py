"""HTTP sessions of the 2025 protocol that any replica with the same token can continue.

The SDK keeps each session in one process. Here, the session id itself holds the client's `initialize` parameters,
signed with a key derived from the token. A replica that does not know a session replays `initialize` to its own SDK and
then continues the session. The 2026 protocol has no sessions.
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
"""Seconds without a request after which a process drops a session. Longer than the longest call."""
MAX_SESSIONS = 500
MAX_SESSIONS_PER_PEER = 200
"""Maximum number of sessions per client address. If there are more, the least recently used idle session is dropped."""
_MAX_ENDED = 10_000
_MAX_INITIALIZE_BYTES = 65_536
_MAX_NAME_CHARS = 100
_HEADER = b"mcp-session-id"
_JSON = [(b"content-type", b"application/json"), (b"accept", b"application/json, text/event-stream")]

InitializeParams = dict[str, Any]
"""The `initialize` parameters that the server uses."""


@dataclass(slots=True)
class _LocalSession:
    sdk_id: str
    peer: str
    running_requests: int = 0


class PortableSessions:
    """ASGI middleware that gives clients portable session ids in place of the SDK's.

    Args:
        application: The SDK's ASGI application.
        token: The bearer token, which all replicas share.
    """

    def __init__(self, application: ASGIApp, token: str) -> None:
        self._application = application
        # scrypt is deliberately slow: session ids end up in proxy logs and must not help anyone guess a short token
        self._key = hashlib.scrypt(token.encode(), salt=b"alita session", n=2**14, r=8, p=1)
        self._local: dict[str, _LocalSession] = {}
        """Sessions by portable id, least recently used first."""
        self._ended: dict[str, None] = {}
        """Ids of sessions that clients ended, oldest first. These sessions are never continued."""
        self._starting = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request, replacing the portable session id with the SDK's."""
        if scope["type"] != "http" or scope["path"] != PATH:
            await self._application(scope, receive, send)
            return
        session = dict(scope["headers"]).get(_HEADER, b"").decode("latin-1")
        params = self._verified_params(session)
        if not session:
            await self._begin(scope, receive, send)
        elif params is None or session in self._ended:
            await self._application(scope, receive, send)  # the SDK answers 404
        elif scope["method"] == "DELETE":
            await self._end(session, scope, receive, send)
        else:
            await self._continue(session, params, scope, receive, send)

    async def _begin(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Forward a request without a session id. If it starts a session, the client gets a portable id."""
        body = bytearray()

        async def read() -> Message:
            message = await receive()
            if len(body) <= _MAX_INITIALIZE_BYTES:
                body.extend(message.get("body", b""))
            return message

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start" and (sdk_id := _session_in(message)):
                session = self._portable_id(_read_initialize(bytes(body)))
                await self._keep(session, _LocalSession(sdk_id, _peer(scope)))
                message = _with_session(message, session)
            await send(message)

        await self._application(scope, read, answer)

    async def _continue(
        self, session: str, params: InitializeParams, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Forward a request that belongs to a session. If the SDK has dropped the session, restart it and retry."""
        parts: list[Message] = []

        async def read() -> Message:
            parts.append(await receive())
            return parts[-1]

        async def reread() -> Message:
            return parts.pop(0) if parts else await receive()

        if not await self._pass_on(session, params, scope, read, send, is_last=False):
            self._local.pop(session, None)
            await self._pass_on(session, params, scope, reread, send, is_last=True)

    async def _pass_on(
        self, session: str, params: InitializeParams, scope: Scope, receive: Receive, send: Send, *, is_last: bool
    ) -> bool:
        """Forward a request. Return False, without replying, if the SDK lost the session and `is_last` is not set."""
        async with self._starting:
            local = self._local.pop(session, None) or await self._restart(params, _peer(scope))
            await self._keep(session, local)
        is_known = True

        async def answer(message: Message) -> None:
            nonlocal is_known
            if message["type"] == "http.response.start":
                is_known = is_last or message["status"] != 404
                message = _with_session(message, session)
            if is_known:
                await send(message)

        local.running_requests += 1
        try:
            await self._application(_with_session(scope, local.sdk_id), receive, answer)
        finally:
            local.running_requests -= 1
        return is_known

    async def _restart(self, params: InitializeParams, peer: str) -> _LocalSession:
        """Replay the client's handshake with another replica to our own SDK."""
        sdk_id = await self._post({"id": 0, "method": "initialize", "params": params})
        version = (b"mcp-protocol-version", str(params["protocolVersion"]).encode())
        await self._post({"method": "notifications/initialized"}, (_HEADER, sdk_id.encode()), version)
        return _LocalSession(sdk_id, peer)

    async def _post(self, message: dict[str, Any], *headers: tuple[bytes, bytes]) -> str:
        """Send the SDK a message, and return the session id from its response."""
        session, parts = "", [json.dumps({"jsonrpc": "2.0", **message}).encode()]

        async def body() -> Message:
            if not parts:
                await asyncio.Event().wait()  # block, so that no disconnect is reported
            return {"type": "http.request", "body": parts.pop(), "more_body": False}

        async def read_session(response: Message) -> None:
            nonlocal session
            session = session or _session_in(response)

        await self._application(_request("POST", *_JSON, *headers), body, read_session)
        return session

    async def _end(self, session: str, scope: Scope, receive: Receive, send: Send) -> None:
        """End a session at the client's request, even if only another replica has it in memory."""
        self._ended[session] = None
        if len(self._ended) > _MAX_ENDED:
            del self._ended[next(iter(self._ended))]
        if local := self._local.pop(session, None):
            await self._application(_with_session(scope, local.sdk_id), receive, send)
        else:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b""})

    async def _keep(self, session: str, local: _LocalSession) -> None:
        """Record a session as the most recently used one. If there are too many, drop another one."""
        self._local[session] = local
        others = [one for one in self._local if one != session]
        of_peer = [one for one in others if self._local[one].peer == local.peer]
        if len(of_peer) < MAX_SESSIONS_PER_PEER and len(others) < MAX_SESSIONS:
            return
        candidates = of_peer if len(of_peer) >= MAX_SESSIONS_PER_PEER else others
        oldest = next((one for one in candidates if not self._local[one].running_requests), candidates[0])
        ending = _request("DELETE", *_JSON, (_HEADER, self._local.pop(oldest).sdk_id.encode()))
        await self._application(ending, _empty_body, _discard)

    def _portable_id(self, params: InitializeParams) -> str:
        content = base64.urlsafe_b64encode(json.dumps([secrets.token_urlsafe(18), params]).encode()).decode()
        return f"{content.rstrip('=')}.{self._signature(content.rstrip('='))}"

    def _verified_params(self, session: str) -> InitializeParams | None:
        """Return the parameters in a portable id, or None unless a server with our token signed it."""
        content, _, signature = session.partition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(content).encode()):
            return None
        params: InitializeParams = json.loads(base64.urlsafe_b64decode(content + "=" * (-len(content) % 4)))[1]
        return params

    def _signature(self, content: str) -> str:
        return hmac.new(self._key, content.encode(), hashlib.sha256).hexdigest()


def _read_initialize(body: bytes) -> InitializeParams:
    """Return the parameters of an `initialize` request that the SDK accepted. A long client name is truncated."""
    try:
        params = json.loads(body)["params"]
    except ValueError:  # the body was too long, so we kept only its beginning
        params = {}
    client, elicitation = params.get("clientInfo", {}), params.get("capabilities", {}).get("elicitation")
    return {
        "protocolVersion": params.get("protocolVersion", "2025-11-25"),
        "capabilities": {}
        if elicitation is None
        else {"elicitation": {name: {} for name in ("form", "url") if name in elicitation}},
        "clientInfo": {name: str(client.get(name, ""))[:_MAX_NAME_CHARS] for name in ("name", "version")},
    }


def _session_in(message: Message) -> str:
    found: bytes = dict(message.get("headers", ())).get(_HEADER, b"")
    return found.decode()


def _with_session(message: Any, session: str) -> Any:
    """Return a request scope or response start in which the session id, if there is one, is replaced."""
    headers = [(name, session.encode() if name == _HEADER else value) for name, value in message["headers"]]
    return {**message, "headers": headers}


def _peer(scope: Scope) -> str:
    return str((scope.get("client") or ("",))[0])


def _request(method: str, *headers: tuple[bytes, bytes]) -> Scope:
    path = {"path": PATH, "raw_path": PATH.encode(), "root_path": "", "query_string": b""}
    all_headers = [(b"host", b"localhost"), *headers]
    return {"type": "http", "method": method, "http_version": "1.1", "scheme": "http", "headers": all_headers, **path}


async def _empty_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _discard(message: Message) -> None:
    pass
