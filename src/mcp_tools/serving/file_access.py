"""Files of the server's machine that a client wants read: a person is asked through the client first."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp_types import (
    ClientCapabilities,
    ElicitationCapability,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)

from mcp_tools.serving.client_call import ClientCall, ClientReply, error_reply
from mcp_tools.text import one_line
from mcp_tools.tool import Json

_MOST_FILES = 16
FILES_SCHEMA: dict[str, Json] = {
    "type": "array",
    "items": {"type": "string", "minLength": 1, "maxLength": 4096},
    "maxItems": _MOST_FILES,
    "description": "Absolute paths of files on the server's machine to read. A person is asked first.",
}
_FORM: dict[str, Json] = {
    "type": "object",
    "properties": {"allow": {"type": "boolean", "title": "Allow", "description": "Let these files be read."}},
    "required": ["allow"],
}


def can_ask(context: ServerRequestContext[Any, Any]) -> bool:
    """Whether the client said that it can ask a person."""
    return context.session.check_client_capability(ClientCapabilities(elicitation=ElicitationCapability()))


async def elicited(
    call: ClientCall, question: str, form: dict[str, Json], key: str, seconds: float
) -> ElicitResult | InputRequiredResult | None:
    """The answer, if there is one; in the era of 2026 the client is asked to call again with it.

    An answer under another key does not count.
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


async def granted(
    call: ClientCall, files: Sequence[str], who: str, seconds: float
) -> tuple[Path, ...] | ClientReply | InputRequiredResult:
    """The files that a person lets somebody read; a refusal; or the question, for a client that then calls again."""
    if len(files) > _MOST_FILES:
        message = f"{len(files)} files are named, and a call reads at most {_MOST_FILES}"
        return error_reply("arguments", message, remedy="")
    paths = tuple(Path(name) for name in files)
    if wrong := [path for path in paths if not path.is_absolute() or not path.is_file()]:
        message = f"there is no file {one_line(str(wrong[0]), 300)}"
        return error_reply("arguments", message, remedy="Give absolute paths of files on the server's machine.")
    real = tuple(path.resolve() for path in paths)
    if not can_ask(call.context):
        return _refusal("this client cannot ask a person whether the files may be read")
    question = f"May {who} read {', '.join(one_line(str(path), 300) for path in real)}?"
    key = "read-" + hashlib.sha256("\0".join([who, *map(str, real)]).encode()).hexdigest()[:24]
    answer = await elicited(call, question, _FORM, key, seconds)
    if isinstance(answer, InputRequiredResult):
        return answer
    if answer is None or answer.action != "accept" or not (answer.content or {}).get("allow"):
        return _refusal("nobody allowed that the files be read")
    if changed := [path for path in real if path.resolve() != path]:
        return _refusal(f"{one_line(str(changed[0]), 300)} has become a link since a person was asked")
    return real


def _refusal(message: str) -> ClientReply:
    return error_reply("denied", message, remedy="Give what is in them as arguments or in the question instead.")


def files_in(arguments: dict[str, Json]) -> list[str]:
    """The absolute paths of files that the arguments of a tool name."""
    values = [part for value in arguments.values() for part in (value if isinstance(value, list) else [value])]
    found = [value for value in values if isinstance(value, str) and value.startswith("/") and "\0" not in value]
    return [value for value in dict.fromkeys(found) if os.path.isfile(value)]  # noqa: PTH113 - Path raises on long names


def with_real_paths(arguments: dict[str, Json], files: Sequence[str], granted: Sequence[Path]) -> dict[str, Json]:
    """The arguments with the paths that were granted: one that was a link is the file that a person saw."""
    real = dict(zip(files, map(str, granted), strict=True))

    def put(value: Json) -> Json:
        if isinstance(value, list):
            return [put(inner) for inner in value]
        return real.get(value, value) if isinstance(value, str) else value

    return {name: put(value) for name, value in arguments.items()}
