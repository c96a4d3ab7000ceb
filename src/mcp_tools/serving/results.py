"""Results of calls as MCP carries them. What went wrong is a result too, which the model that called can act on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mcp_tools.sandbox.protocol import Isolation, Problem
from mcp_tools.text import printable
from mcp_tools.tool import Json

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
