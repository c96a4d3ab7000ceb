"""A call from a client: the limits it has, the person who is asked through its client, and its result as MCP has it."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types import (
    ClientCapabilities,
    ElicitationCapability,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)

from mcp_tools.sandbox.protocol import Isolation, Limits, Problem
from mcp_tools.text import one_line, printable
from mcp_tools.tool import Json, Tool

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp_types import CallToolRequestParams, InputRequiredResult


COMPLETE: dict[str, Json] = {"resultType": "complete"}
"""Nothing more is asked of the client."""
FRESH: dict[str, Json] = {**COMPLETE, "ttlMs": 0, "cacheScope": "private"}
"""May not be kept by the client: the library grows while it is served."""
FIXED: dict[str, Json] = {**COMPLETE, "ttlMs": 3_600_000, "cacheScope": "public"}
"""Stays the same while the server runs."""


META_SANDBOX = "alita/sandbox"
META_SECONDS = "alita/seconds"
META_ERROR = "alita/error"

_REMEDIES = {
    "exception": "Call it with other arguments; if they are right, the tool is wrong: create_tool makes another.",
    "syntax": "Correct the program.",
    "missing_function": "Define the function, or name one that is there.",
    "arguments": "Call it with arguments that fit its inputSchema.",
    "result": "The tool's result is not what it promises: create_tool makes another.",
    "result_size": "Ask for less at once.",
    "wall_time": "Ask for less at once, or call it with smaller arguments.",
    "cpu_time": "Ask for less at once, or call it with smaller arguments.",
    "memory": "Ask for less at once, or call it with smaller arguments.",
    "exit": "Call it with other arguments.",
    "denied": "Tools compute and nothing else: give what they need as arguments.",
    "sandbox": "Try again; if it happens again, the operator runs: alita doctor",
}


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of one call: the result for the client, and how the audit log calls it."""

    result: dict[str, Json]
    """A `CallToolResult` as JSON."""
    outcome: str
    """`ok`, or the kind of error."""
    size: int = 0
    """Bytes of the result's text."""


def sandbox_meta(isolation: Isolation) -> dict[str, Json]:
    """The isolation as clients see it."""
    return {"level": str(isolation.level), "backend": isolation.backend, "layers": list(isolation.layers)}


def value_reply(
    content: dict[str, Json],
    *,
    limit: int,
    meta: dict[str, Json] | None = None,
    shown: dict[str, Json] | None = None,
    media: Sequence[dict[str, Json]] = (),
) -> Reply:
    """A result as structured content, and the same JSON as text for clients that show only text.

    Args:
        content: The result.
        limit: Bytes that it may have as JSON.
        meta: What else is told of the call.
        shown: What the text says instead, where the result holds media.
        media: The media, as MCP content.
    """
    try:
        text = _text(content)
        size = len(text) if text.isascii() else len(text.encode())
    except (ValueError, RecursionError, UnicodeEncodeError):
        return error_reply("result", "the result cannot be carried as JSON", remedy=_REMEDIES["result"])
    if size > limit:
        message = f"the result has {size:,} bytes, and a client gets at most {limit:,}"
        return error_reply("result_size", message, remedy=_REMEDIES["result_size"])
    result: dict[str, Any] = {
        **COMPLETE,
        "content": [{"type": "text", "text": text if shown is None else _text(shown)}, *media],
        "structuredContent": content,
        "isError": False,
    }
    if meta:
        result["_meta"] = meta
    return Reply(result, "ok", size)


def _text(content: dict[str, Json]) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def error_reply(
    kind: str, message: str, *, remedy: str = "", meta: dict[str, Json] | None = None, detail: str = ""
) -> Reply:
    """An error that the calling model can act on: what happened, and what to do next.

    Args:
        kind: A short word for programs.
        message: What happened.
        remedy: What to do next.
        meta: What else is told of the call.
        detail: The tool's own words, such as its traceback.
    """
    parts = [f"{printable(message).strip()} ({kind})", printable(detail).strip(), printable(remedy).strip()]
    text = "\n".join(part for part in parts if part)
    error = {"kind": kind, "message": printable(message), "remedy": printable(remedy)}
    result: dict[str, Any] = {
        **COMPLETE,
        "content": [{"type": "text", "text": text}],
        "isError": True,
        "_meta": {**(meta or {}), META_ERROR: error},
    }
    return Reply(result, kind, len(text.encode("utf-8", "replace")))


def problem_reply(problem: Problem, *, who: str, meta: dict[str, Json] | None = None) -> Reply:
    """A failure of tool code: its own message and traceback are its output, and the caller's to read."""
    detail = problem.traceback[-4000:] if problem.traceback else ""
    message = f"{who} failed: {problem.message[:4000]}"
    return error_reply(problem.kind, message, remedy=_REMEDIES.get(problem.kind, ""), meta=meta, detail=detail)


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """The limits of a server. Past any of them a call ends with an error that names the limit."""

    argument_bytes: int = 1_000_000
    """The arguments of one call as JSON."""
    result_bytes: int = 1_000_000
    """The result of one call as JSON: what a client can still use."""
    message_bytes: int = 4 * 1024 * 1024
    """One message on the wire."""
    page: int = 1000
    """Tools of the library on one page of the list."""
    resource_page: int = 100
    """Tools whose resources are on one page."""
    call: Limits = field(default_factory=lambda: Limits(wall_seconds=30.0, cpu_seconds=30.0))
    """What one call of a tool may use in the sandbox."""
    program: Limits = field(default_factory=Limits)
    """What one program of `run_code` may use."""
    agent_seconds: float = 1800.0
    """One call of `ask` or `create_tool`."""
    body_seconds: float = 30.0
    """How long the body of one HTTP request may take to arrive."""
    session_idle_seconds: float = 3600.0
    """A session over HTTP with no request and no open stream for so long is forgotten; its client begins anew."""
    sessions: int = 1000
    """Sessions over HTTP at once, each of which takes some memory."""
    consent_seconds: float = 300.0
    """How long a person may take to answer."""


GONE = "alita.gone"
"""In the scope of an HTTP request: the event that its client went away."""


@dataclass(slots=True)
class Call:
    """One `tools/call` under way."""

    arguments: dict[str, Json]
    context: ServerRequestContext[Any, Any]
    params: CallToolRequestParams
    told: int = field(default=0)
    """How many progress messages were sent."""

    async def tell(self, text: str, *, total: float | None = None) -> None:
        """Tells the client one line of what is being done."""
        self.told += 1
        await self.context.session.report_progress(self.told, total, text)


@dataclass(frozen=True, slots=True)
class ConstantTool:
    """A tool of the server itself, which every client sees whatever the library holds."""

    definition: dict[str, Json]
    """The MCP tool object."""
    call: Callable[[Call], Awaitable[Reply | InputRequiredResult]]
    """Carries out a call whose arguments fit the definition's inputSchema."""

    @property
    def name(self) -> str:
        """How it is called."""
        return str(self.definition["name"])

    def as_tool(self) -> Tool:
        """The form in which arguments are validated."""
        schema = self.definition["inputSchema"]
        return Tool(self.name, self.definition["description"], schema, self.definition.get("outputSchema", {}), "")


def can_ask(context: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client said that it can ask a person."""
    return context.session.check_client_capability(ClientCapabilities(elicitation=ElicitationCapability()))


async def elicited(
    call: Call, question: str, form: dict[str, Json], key: str, seconds: float
) -> ElicitResult | InputRequiredResult | None:
    """The answer, if there is one; in the era of 2026 the client is asked to call again with it.

    Args:
        call: The call for which is asked.
        question: What the person reads.
        form: The schema of the answer: an object of plain values.
        key: The name of the question: an answer under another one does not count.
        seconds: How long the person may take.
    """
    if call.context.session.can_send_request:
        try:
            async with asyncio.timeout(seconds):
                return await call.context.session.elicit_form(question, form, call.context.request_id)
        except (TimeoutError, MCPError, NoBackChannelError, ValueError):
            return None
    given = (call.params.input_responses or {}).get(key)
    if isinstance(given, ElicitResult):
        return given
    params = ElicitRequestFormParams(message=question, requested_schema=form)
    return InputRequiredResult(input_requests={key: ElicitRequest(params=params)})


_MOST_FILES = 16
_LONGEST_PATH = 4096

FILES_SCHEMA: dict[str, Json] = {
    "type": "array",
    "items": {"type": "string", "minLength": 1, "maxLength": _LONGEST_PATH},
    "maxItems": _MOST_FILES,
    "description": "Absolute paths of files on the server's machine to read. A person is asked first.",
}

_FORM: dict[str, Json] = {
    "type": "object",
    "properties": {"allow": {"type": "boolean", "title": "Allow", "description": "Let these files be read."}},
    "required": ["allow"],
}


async def granted(
    call: Call, files: Sequence[str], who: str, seconds: float
) -> tuple[Path, ...] | Reply | InputRequiredResult:
    """The files that a person lets somebody read; a refusal; or the question, for a client that asks and calls again.

    Args:
        call: The call that wants them.
        files: Their paths.
        who: Who wants to read them, for the person who is asked.
        seconds: How long that person may take.
    """
    if len(files) > _MOST_FILES:
        return error_reply("arguments", f"{len(files)} files are named, and a call reads at most {_MOST_FILES}")
    paths = tuple(Path(name) for name in files)
    if wrong := [path for path in paths if not path.is_absolute() or not path.is_file()]:
        message = f"there is no file {one_line(str(wrong[0]), 300)}"
        return error_reply("arguments", message, remedy="Give absolute paths of files on the server's machine.")
    real = tuple(path.resolve() for path in paths)
    question = f"May {who} read {', '.join(one_line(str(path), 300) for path in real)}?"
    if not can_ask(call.context):
        return _refusal("this client cannot ask a person whether the files may be read")
    answer = await elicited(call, question, _FORM, _key(who, real), seconds)
    if isinstance(answer, InputRequiredResult):
        return answer
    if answer is None or answer.action != "accept" or not (answer.content or {}).get("allow"):
        return _refusal("nobody allowed that the files be read")
    if changed := [path for path in real if path.resolve() != path]:
        return _refusal(f"{one_line(str(changed[0]), 300)} has become a link since a person was asked")
    return real


def files_in(arguments: dict[str, Json]) -> list[str]:
    """The absolute paths of files that the arguments of a tool name."""
    found = [value for value in _texts(arguments) if value.startswith("/") and "\0" not in value]
    return [value for value in dict.fromkeys(found) if os.path.isfile(value)]  # noqa: PTH113 - Path raises on long names


def with_real_paths(arguments: dict[str, Json], files: Sequence[str], granted: Sequence[Path]) -> dict[str, Json]:
    """The arguments with the paths that were granted: one that was a link is the file that a person saw."""
    real = dict(zip(files, map(str, granted), strict=True))

    def put(value: Json) -> Json:
        if isinstance(value, list):
            return [put(inner) for inner in value]
        return real.get(value, value) if isinstance(value, str) else value

    return {name: put(value) for name, value in arguments.items()}


def _texts(arguments: dict[str, Json]) -> Iterator[str]:
    for value in arguments.values():
        yield from (part for part in (value if isinstance(value, list) else [value]) if isinstance(part, str))


def _refusal(message: str) -> Reply:
    return error_reply("denied", message, remedy="Give what is in them as arguments or in the question instead.")


def _key(who: str, paths: Sequence[Path]) -> str:
    """The name of the question: an answer to another one does not count."""
    return "read-" + hashlib.sha256("\0".join([who, *map(str, paths)]).encode()).hexdigest()[:24]
