"""Running a tool of the library for a client: arguments checked, sandbox, result checked."""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from mcp_tools.errors import ArgumentsError
from mcp_tools.library import Library
from mcp_tools.run import limits_of, run_tool
from mcp_tools.sandbox.protocol import Outcome, Sandbox
from mcp_tools.serving.call import Call, ServerLimits
from mcp_tools.serving.consent import files_in, granted, with_real_paths
from mcp_tools.serving.results import (
    META_SANDBOX,
    META_SECONDS,
    Reply,
    error_reply,
    problem_reply,
    sandbox_meta,
    value_reply,
)
from mcp_tools.tool import Json, Tool

if TYPE_CHECKING:
    from mcp_types import InputRequiredResult


_MEDIA_TYPE = re.compile(r"[a-z]+/[a-z0-9.+-]{1,100}")


def with_media(tool: Tool, value: Json) -> tuple[Json, list[dict[str, Json]]]:
    """A result as text shows it, with the size of each image or sound in its place, and the media as MCP content.

    JSON Schema 2020-12 has the words for what an outputSchema marks: `contentMediaType`, and `contentEncoding: base64`
    for what is binary (Validation, section 8). What is no base64, although it is marked so, stays as it is.
    """
    schema = tool.output_schema.get("properties", {}).get("result", {})
    if "contentMediaType" in schema:
        return _shown(tool.name, schema, value, 0)
    if not isinstance(value, list) or not ("prefixItems" in schema or "items" in schema):
        return value, []
    parts = [_shown(tool.name, inner, item, at) for at, (inner, item) in enumerate(_items(schema, value))]
    return [shown for shown, _ in parts], [block for _, blocks in parts for block in blocks]


def _items(schema: dict[str, Json], values: list[Json]) -> Iterator[tuple[dict[str, Json], Json]]:
    first = schema.get("prefixItems", [])
    for at, value in enumerate(values):
        found = first[at] if at < len(first) else schema.get("items")
        yield found if isinstance(found, dict) else {}, value


def _shown(name: str, schema: dict[str, Json], value: Json, at: int) -> tuple[Json, list[dict[str, Json]]]:
    media_type = schema.get("contentMediaType")
    if not isinstance(value, str) or not isinstance(media_type, str) or not _MEDIA_TYPE.fullmatch(media_type):
        return value, []
    uri = f"alita://results/{name}/{at}"
    if schema.get("contentEncoding") != "base64":
        return value, [{"type": "resource", "resource": {"uri": uri, "mimeType": media_type, "text": value}}]
    try:
        size = len(base64.b64decode(value, validate=True))
    except (binascii.Error, ValueError):
        return value, []
    kind = media_type.partition("/")[0]
    block: dict[str, Json] = {"type": kind, "data": value, "mimeType": media_type}
    if kind not in {"image", "audio"}:
        block = {"type": "resource", "resource": {"uri": uri, "mimeType": media_type, "blob": value}}
    return f"{media_type}, {size:,} bytes", [block]


_HEARTBEAT_SECONDS = 1.0


class Runner:
    """Runs tools in the sandbox, and says what came of it in the words of MCP.

    Args:
        library: Counts the calls.
        sandbox: Where the tools run.
        limits: What a call may use.
    """

    def __init__(self, library: Library, sandbox: Sandbox, limits: ServerLimits) -> None:
        self.sandbox = sandbox
        self._library = library
        self._limits = limits

    async def run(
        self, tool: Tool, arguments: dict[str, Json], call: Call, *, files: Sequence[str] = ()
    ) -> Reply | InputRequiredResult:
        """Runs one call of a tool. A call that is cancelled kills its process.

        Args:
            tool: The tool. If it reads files, a person is asked about those that its arguments name.
            arguments: Its arguments.
            call: The client's call.
            files: Paths of more files that it should read.

        Raises:
            IsolationError: The sandbox is out of order.
        """
        read: tuple[Path, ...] = ()
        wanted = list(dict.fromkeys([*files, *files_in(arguments)])) if tool.capabilities.read else []
        if wanted:
            answer = await granted(call, wanted, f"the tool {tool.name}", self._limits.consent_seconds)
            if not isinstance(answer, tuple):
                return answer
            read, arguments = answer, with_real_paths(arguments, wanted, answer)
        try:
            async with heartbeat(call, tool.name, limits_of(tool, self._limits.call).wall_seconds):
                outcome = await run_tool(tool, arguments, self.sandbox, read=read, limits=self._limits.call)
        except ArgumentsError as error:
            return error_reply("arguments", error.message, remedy=error.remedy)
        self._library.record_call(tool.name, outcome.ok, outcome.problem.kind if outcome.problem else None)
        if outcome.problem is not None:
            return problem_reply(outcome.problem, who=tool.name, meta=outcome_meta(outcome))
        shown, media = with_media(tool, outcome.value)
        return value_reply(
            {"result": outcome.value},
            limit=self._limits.result_bytes,
            meta=outcome_meta(outcome),
            shown={"result": shown} if media else None,
            media=media,
        )


def outcome_meta(outcome: Outcome) -> dict[str, Json]:
    """What every result says of how it came about."""
    return {META_SANDBOX: sandbox_meta(outcome.isolation), META_SECONDS: round(outcome.seconds, 6)}


@contextlib.asynccontextmanager
async def heartbeat(call: Call, what: str, limit: float) -> AsyncIterator[None]:
    """Meanwhile tells a client that asked for progress how long it has been, so that it does not give up."""
    loop = asyncio.get_running_loop()
    beating: list[asyncio.Task[None]] = []
    timer = loop.call_later(_HEARTBEAT_SECONDS, lambda: beating.append(loop.create_task(_beat(call, what, limit))))
    try:
        yield
    finally:
        timer.cancel()
        for task in beating:
            task.cancel()


async def _beat(call: Call, what: str, limit: float) -> None:
    seconds = _HEARTBEAT_SECONDS
    with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the client is gone
        while True:
            await call.tell(f"{what} runs, {seconds:.0f} of at most {limit:.0f} s")
            await asyncio.sleep(_HEARTBEAT_SECONDS)
            seconds += _HEARTBEAT_SECONDS
