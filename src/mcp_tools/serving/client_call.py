"""A call from a client: its limits, its progress, and its result in MCP's form."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from mcp_tools.errors import AlitaError, PolicyError
from mcp_tools.sandbox.protocol import Isolation, Limits, Outcome, Problem
from mcp_tools.text import printable
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams, InputRequiredResult

COMPLETE: dict[str, Json] = {"resultType": "complete"}
FRESH: dict[str, Json] = {**COMPLETE, "ttlMs": 0, "cacheScope": "private"}
"""May not be kept by the client: the library grows while it is served."""
FIXED: dict[str, Json] = {**COMPLETE, "ttlMs": 3_600_000, "cacheScope": "public"}

META_SANDBOX = "alita/sandbox"
META_SECONDS = "alita/seconds"
META_ERROR = "alita/error"

_LESS = "Ask for less at once, or call it with smaller arguments."
REMEDIES = {
    "exception": "Call it with other arguments; if they are right, the tool is wrong: create_tool makes another.",
    "syntax": "Correct the program.",
    "missing_function": "Define the function, or name one that is there.",
    "arguments": "Call it with arguments that fit its inputSchema.",
    "result": "The tool's result is not what it promises: create_tool makes another.",
    "result_size": "Ask for less at once.",
    "wall_time": _LESS,
    "cpu_time": _LESS,
    "memory": _LESS,
    "exit": "Call it with other arguments.",
    "quota": _LESS,
    "denied": "Only the user can allow this: tell them what the message says; or do without it.",
    "sandbox": "Try again; if it happens again, the operator runs: alita doctor",
}


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """The limits of a server. At any limit, a call ends with an error that names it."""

    argument_bytes: int = 1_000_000
    result_bytes: int = 1_000_000
    """The result of one call as JSON: what a client can still use."""
    message_bytes: int = 4 * 1024 * 1024
    page: int = 1000
    call: Limits = field(default_factory=lambda: Limits(wall_seconds=30.0, cpu_seconds=30.0))
    program: Limits = field(default_factory=Limits)
    agent_seconds: float = 1800.0
    consent_seconds: float = 300.0


MAX_MARKERS = 2_000
"""Limit of notes; those that expire first are dropped."""


class Markers(Protocol):
    """Markers, each with the time at which it expires. All replicas have the same."""

    async def put(self, marker: str, seconds: float) -> None:
        """Keeps a note for some seconds."""
        ...

    async def has(self, marker: str) -> bool:
        """True if there is such a note."""
        ...

    async def take(self, marker: str) -> bool:
        """Removes a note. Returns True to one caller only."""
        ...


class InMemoryMarkers:
    """The markers of one process."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}

    async def put(self, marker: str, seconds: float) -> None:
        """See `Markers`."""
        now = time.monotonic()
        self._until = {one: until for one, until in self._until.items() if until > now}
        if len(self._until) >= MAX_MARKERS:
            del self._until[min(self._until, key=self._until.__getitem__)]
        self._until[marker] = now + seconds

    async def has(self, marker: str) -> bool:
        """See `Markers`."""
        return self._until.get(marker, 0.0) > time.monotonic()

    async def take(self, marker: str) -> bool:
        """See `Markers`."""
        return self._until.pop(marker, 0.0) > time.monotonic()


def digest(*parts: str) -> str:
    """A short name for texts of any length."""
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:32]


@dataclass(slots=True)
class ClientCall:
    """One `tools/call` under way."""

    arguments: dict[str, Json]
    context: ServerRequestContext[Any, Any]
    params: CallToolRequestParams
    markers: Markers
    told: int = 0

    async def tell(self, text: str) -> None:
        """Tells the client one line of what is being done."""
        self.told += 1
        await self.context.session.report_progress(self.told, None, text)


@dataclass(frozen=True, slots=True)
class ClientReply:
    """The outcome of one call: the result for the client, and its name in the audit log."""

    result: dict[str, Json]
    outcome: str
    size: int = 0


@dataclass(frozen=True, slots=True)
class BuiltinTool:
    """A tool of the server itself, which every client sees."""

    definition: dict[str, Json]
    call: Callable[[ClientCall], Awaitable[ClientReply | InputRequiredResult]]

    @property
    def name(self) -> str:
        """Its function."""
        return str(self.definition["name"])


def sandbox_meta(isolation: Isolation) -> dict[str, Json]:
    """The isolation as clients see it."""
    return {"level": str(isolation.level), "backend": isolation.backend, "layers": list(isolation.layers)}


def outcome_meta(outcome: Outcome) -> dict[str, Json]:
    """Metadata of every result."""
    return {META_SANDBOX: sandbox_meta(outcome.isolation), META_SECONDS: round(outcome.seconds, 6)}


def value_reply(
    content: dict[str, Json],
    *,
    limit: int,
    meta: dict[str, Json] | None = None,
    files: Sequence[dict[str, Json]] = (),
) -> ClientReply:
    """A result as structured content, and the same JSON as text for clients that show only text; then its files."""
    try:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (ValueError, RecursionError):
        return error_reply("result", "the result cannot be carried as JSON")
    if size > limit:
        return error_reply("result_size", f"the result has {size:,} bytes, and a client gets at most {limit:,}")
    result: dict[str, Any] = {
        **COMPLETE,
        "content": [{"type": "text", "text": text}, *files],
        "structuredContent": content,
        "isError": False,
    }
    if meta:
        result["_meta"] = meta
    return ClientReply(result, "ok", size)


def error_reply(
    kind: str, message: str, *, remedy: str | None = None, meta: dict[str, Json] | None = None, detail: str = ""
) -> ClientReply:
    """An error that the calling model can act on: what happened, and what to do next.

    Without a remedy, the client gets the usual one for this kind of error.
    """
    message, remedy = (
        printable(message).strip(),
        printable(REMEDIES.get(kind, "") if remedy is None else remedy).strip(),
    )
    text = "\n".join(filter(None, (f"{message} ({kind})", printable(detail).strip(), remedy)))
    result: dict[str, Any] = {
        **COMPLETE,
        "content": [{"type": "text", "text": text}],
        "isError": True,
        "_meta": {**(meta or {}), META_ERROR: {"kind": kind, "message": message, "remedy": remedy}},
    }
    return ClientReply(result, kind, len(text.encode("utf-8", "replace")))


def problem_reply(
    problem: Problem, *, who: str, meta: dict[str, Json] | None = None, remedy: str | None = None
) -> ClientReply:
    """A failure of tool code: its own message and traceback are its output, and the caller's to read."""
    detail = problem.traceback[-4000:] if problem.traceback else ""
    return error_reply(problem.kind, f"{who} failed: {problem.message[:4000]}", remedy=remedy, meta=meta, detail=detail)


def refusal_reply(error: AlitaError) -> ClientReply:
    """A call that is not permitted. The operator's policy file is no business of the client."""
    if isinstance(error, PolicyError):
        remedy = "The operator of this server runs: alita policy"
        return error_reply("denied", "the policy file of this server has an error: nothing is permitted", remedy=remedy)
    return error_reply("denied", error.message)


_HEARTBEAT_SECONDS = 1.0


@contextlib.asynccontextmanager
async def heartbeat(call: ClientCall, what: str, limit: float) -> AsyncIterator[None]:
    """In the meantime, report the elapsed time to a client that asked for progress, so that it does not give up."""
    from anyio import BrokenResourceError, ClosedResourceError

    async def beat() -> None:
        seconds = 0.0
        with contextlib.suppress(BrokenResourceError, ClosedResourceError):  # the client is gone
            while True:
                await asyncio.sleep(_HEARTBEAT_SECONDS)
                seconds += _HEARTBEAT_SECONDS
                await call.tell(f"{what} runs, {seconds:.0f} of at most {limit:.0f} s")

    beating = asyncio.create_task(beat())
    try:
        yield
    finally:
        beating.cancel()
