"""A `tools/call` from a client: its limits, its progress, and its result in MCP form."""

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
"""Fields that tell clients not to cache a result, because the library can change while it is served."""
FIXED: dict[str, Json] = {**COMPLETE, "ttlMs": 3_600_000, "cacheScope": "public"}

META_SANDBOX = "alita/sandbox"
META_SECONDS = "alita/seconds"
META_ERROR = "alita/error"

_SMALLER_CALL = "Ask for less, or call the tool with smaller arguments."
REMEDIES = {
    "exception": "Call the tool with other arguments; if these are right, make another tool with create_tool.",
    "syntax": "Correct the program.",
    "missing_function": "Define the function, or name one that the program defines.",
    "arguments": "Call the tool with arguments that fit its inputSchema.",
    "result": "The tool is wrong: its result does not fit its outputSchema. Make another with create_tool.",
    "result_size": "Ask for a smaller result.",
    "wall_time": _SMALLER_CALL,
    "cpu_time": _SMALLER_CALL,
    "memory": _SMALLER_CALL,
    "exit": "Call the tool with other arguments.",
    "quota": _SMALLER_CALL,
    "denied": "Only the user can allow this: show them this message, or do without it.",
    "sandbox": "Try again; if it happens again, the operator should run: alita doctor",
}


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """The limits of a server. A call that exceeds a limit fails with an error that names the limit."""

    argument_bytes: int = 1_000_000
    result_bytes: int = 1_000_000
    """Size limit of one result, as JSON. Clients cannot use larger results."""
    message_bytes: int = 4 * 1024 * 1024
    page: int = 1000
    call: Limits = field(default_factory=lambda: Limits(wall_seconds=30.0, cpu_seconds=30.0))
    program: Limits = field(default_factory=Limits)
    agent_seconds: float = 1800.0
    consent_seconds: float = 300.0


MAX_MARKERS = 2_000
"""Maximum number of markers. If there are more, those that expire first are dropped."""


class Markers(Protocol):
    """Short-lived strings that all replicas share: pending questions, and proposals that were sent back."""

    async def put(self, marker: str, seconds: float) -> None:
        """Store a marker, which expires after `seconds`."""
        ...

    async def has(self, marker: str) -> bool:
        """Return True if the marker is stored and has not expired."""
        ...

    async def take(self, marker: str) -> bool:
        """Remove a marker, and return True if it was stored. Of several concurrent callers, only one gets True."""
        ...


class InMemoryMarkers:
    """Markers of a single process, in memory."""

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
    """Return a short hash of one or more texts."""
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:32]


@dataclass(slots=True)
class ClientCall:
    """A running `tools/call`."""

    arguments: dict[str, Json]
    context: ServerRequestContext[Any, Any]
    params: CallToolRequestParams
    markers: Markers
    progress_reports: int = 0

    async def report_progress(self, text: str) -> None:
        """Send the client one line of progress."""
        self.progress_reports += 1
        await self.context.session.report_progress(self.progress_reports, None, text)


@dataclass(frozen=True, slots=True)
class ClientReply:
    """The result that the client gets for one call, and the outcome that goes to the audit log."""

    result: dict[str, Json]
    outcome: str
    """`ok`, or the kind of the error."""
    size: int = 0


@dataclass(frozen=True, slots=True)
class BuiltinTool:
    """A tool of the server itself, which every client sees."""

    definition: dict[str, Json]
    call: Callable[[ClientCall], Awaitable[ClientReply | InputRequiredResult]]

    @property
    def name(self) -> str:
        """The tool's name for clients."""
        return str(self.definition["name"])


def sandbox_meta(isolation: Isolation) -> dict[str, Json]:
    """Return the isolation level as metadata for clients."""
    return {"level": str(isolation.level), "backend": isolation.backend, "layers": list(isolation.layers)}


def outcome_meta(outcome: Outcome) -> dict[str, Json]:
    """Return the metadata that is attached to every result of a sandboxed call."""
    return {META_SANDBOX: sandbox_meta(outcome.isolation), META_SECONDS: round(outcome.seconds, 6)}


def value_reply(
    content: dict[str, Json],
    *,
    limit: int,
    meta: dict[str, Json] | None = None,
    files: Sequence[dict[str, Json]] = (),
) -> ClientReply:
    """Return a result with structured content and files. Clients that show only text get the JSON as text, too."""
    try:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (ValueError, RecursionError):
        return error_reply("result", "the result cannot be converted to JSON")
    if size > limit:
        return error_reply("result_size", f"the result has {size:,} bytes; the limit for clients is {limit:,}")
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
    """Return an error that the calling model can act on. It says what happened and what to do next.

    If `remedy` is None, the default for this kind of error is used.
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
    """Return an error for failed tool code. The message and traceback come from the code, so callers may see them."""
    detail = problem.traceback[-4000:] if problem.traceback else ""
    return error_reply(problem.kind, f"{who} failed: {problem.message[:4000]}", remedy=remedy, meta=meta, detail=detail)


def refusal_reply(error: AlitaError) -> ClientReply:
    """Return an error for a call that is not permitted.

    Clients never see the contents of the operator's policy file.
    """
    if isinstance(error, PolicyError):
        remedy = "The operator of this server should run: alita policy"
        return error_reply(
            "denied", "the policy file of this server has an error, so nothing is permitted", remedy=remedy
        )
    return error_reply("denied", error.message)


_HEARTBEAT_SECONDS = 1.0


@contextlib.asynccontextmanager
async def heartbeat(call: ClientCall, what: str, limit: float) -> AsyncIterator[None]:
    """Report the elapsed time while the block runs, so that clients that requested progress do not time out."""
    from anyio import BrokenResourceError, ClosedResourceError

    async def beat() -> None:
        seconds = 0.0
        with contextlib.suppress(BrokenResourceError, ClosedResourceError):  # the client is gone
            while True:
                await asyncio.sleep(_HEARTBEAT_SECONDS)
                seconds += _HEARTBEAT_SECONDS
                await call.report_progress(f"{what} has run for {seconds:.0f} of at most {limit:.0f} s")

    beating = asyncio.create_task(beat())
    try:
        yield
    finally:
        beating.cancel()
