"""A model that replays a script: for tests, demonstrations and `--model scripted:FILE`.

A script is a JSON Lines file with one answer per line. Empty lines and lines that start with `#` are skipped:

    {"text": "42"}                                       a text
    {"json": {"action": "answer"}}                       a JSON value (also the text)
    {"tool": "add", "arguments": {"a": 1}}               a tool call; `arguments` may also be a string, sent unchanged
    {"calls": [{"tool": "add", "arguments": {"a": 1}}]}  several tool calls
    {"error": "busy", "message": "try later"}            an error: auth, unknown, unreachable, busy, refused, output

Optional keys:

    "role": "writer"       only for this role              "when": "Fibonacci"   only if the messages contain this
    "delay": 0.2           seconds before the answer       "repeat": true        use the line forever (or N times)
    "usage": [10, 5]       input and output tokens         "finish": "length"    the finish reason
    "say": "First"         text next to tool calls

Each request gets the first line that matches and can still be used.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, get_args

from agent import errors
from agent.errors import ModelError, ModelOutputError, SettingsError
from agent.models.functions import FunctionRequest
from agent.models.json_text import NoJsonError, misfit
from agent.models.ladder import structured_request
from agent.models.protocol import SCRIPTED, Completion, Finish, Message, Request, ToolCall, Usage
from mcp_tools.errors import os_errors_as
from mcp_tools.small_files import JOURNAL, json_of, read_small
from mcp_tools.text import one_line

_ERRORS: dict[str, type[errors.AlitaError]] = {
    "auth": errors.ModelAuthError,
    "unknown": errors.ModelUnknownError,
    "unreachable": errors.ModelUnreachableError,
    "busy": errors.ModelBusyError,
    "refused": errors.ModelRefusedError,
    "output": errors.ModelOutputError,
}
_ANSWERS = ("text", "json", "tool", "calls", "error")
_TEXT = {"type": "string"}
_LINE = {
    "type": "object",
    "properties": {
        "text": _TEXT,
        "json": {},
        "tool": _TEXT,
        "arguments": {},
        "calls": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["tool"]}},
        "error": {"enum": list(_ERRORS)},
        **dict.fromkeys(("role", "when", "message", "say"), _TEXT),
        "delay": {"type": "number"},
        "repeat": {"type": ["boolean", "integer"]},
        "usage": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
        "finish": {"enum": list(get_args(Finish))},
    },
    "additionalProperties": False,
}


class ScriptLine:
    """One line of a script, and how many times it can still be used.

    Raises:
        SettingsError: The line is not a valid answer.
    """

    def __init__(self, entry: Any, where: str) -> None:
        if not isinstance(entry, dict) or sum(name in entry for name in _ANSWERS) != 1:
            raise SettingsError(f"{where}: a line needs exactly one of {', '.join(_ANSWERS)}")
        if problem := misfit(entry, _LINE):
            raise SettingsError(f"{where}: {problem}")
        self.entry: dict[str, Any] = entry
        self.where = where
        repeat = entry.get("repeat", 1)
        self.left = float("inf") if repeat is True else float(repeat)


class Script:
    """The lines of a script. Models of several roles may share one script."""

    def __init__(self, lines: Iterable[ScriptLine], name: str) -> None:
        self.lines = list(lines)
        self.name = name
        self.played = 0

    @classmethod
    def read(cls, path: Path) -> Script:
        """Read a script from a file.

        Raises:
            SettingsError: The file cannot be read, or a line is invalid.
        """
        remedy = "Give the name of a JSON Lines file: --model scripted:FILE"
        with os_errors_as(SettingsError, f"the script {path} cannot be read", remedy):
            text = read_small(path, JOURNAL).decode()
        lines = []
        for n, line in enumerate(text.split("\n"), 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            try:
                lines.append(ScriptLine(json_of(line), f"{path}:{n}"))
            except ValueError as exc:
                raise SettingsError(
                    f"{path}:{n} is not a JSON object: {exc}",
                    remedy='Each line must be a JSON object, for example {"text": "…"}.',
                ) from None
        return cls(lines, str(path))

    @classmethod
    def of(cls, answers: Iterable[dict[str, Any] | str]) -> Script:
        """Return a script of these lines. A string stands for `{"text": …}`."""
        entries = [{"text": answer} if isinstance(answer, str) else answer for answer in answers]
        return cls([ScriptLine(entry, f"answer {n}") for n, entry in enumerate(entries, 1)], "script")

    def next(self, role: str | None, text: str) -> ScriptLine:
        """Use and return the first line that matches the role and the messages' text.

        Raises:
            ModelError: No matching line is left.
        """
        for line in self.lines:
            if line.left > 0 and line.entry.get("role") in (None, role) and line.entry.get("when", "") in text:
                line.left -= 1
                self.played += 1
                return line
        last_line = one_line(text.rpartition("\n")[2] or text, 80)
        raise ModelError(
            f"the script {self.name} has no more lines for {role or 'this call'} after {self.played} calls: "
            f"{last_line!r}",
            remedy='Add a line such as {"text": "…"} to the script, or set "repeat" in a line.',
        )


class ScriptedModel:
    """Answers with the lines of a script that are meant for its role or for all roles."""

    def __init__(self, script: Script | Sequence[dict[str, Any] | str], *, role: str | None = None) -> None:
        self._script = script if isinstance(script, Script) else Script.of(script)
        self._role = role
        self.requests: list[list[Message]] = []
        """The requests so far, for tests."""

    @property
    def name(self) -> str:
        """The configured name, `scripted:FILE`."""
        return f"{SCRIPTED}{self._script.name}"

    async def complete(self, request: Request) -> Completion:
        """Return the next answer, checked like a real model's reply; see `agent.models.protocol.Model`."""
        messages = list(request.messages)
        self.requests.append(messages)
        line = self._script.next(self._role, _all_text(messages))
        await asyncio.sleep(line.entry.get("delay", 0))
        completion = self._completion(line)
        if request.on_delta and completion.text:
            request.on_delta(completion.text)
        try:
            if request.tools:
                return FunctionRequest(messages, request.tools, request.tool_choice).checked(completion)
            if request.schema is None or completion.tool_calls:
                return completion
            return structured_request(messages, request.schema, "text").read(completion)
        except NoJsonError as problem:
            raise ModelOutputError(f"{line.where}: {problem}", text=completion.text) from None

    async def aclose(self) -> None:
        """Do nothing; there are no connections."""

    def _completion(self, line: ScriptLine) -> Completion:
        entry = line.entry
        if "error" in entry:
            message = entry.get("message", f"the script {line.where} says: {entry['error']}")
            raise _ERRORS[entry["error"]](message)
        tokens = entry.get("usage", (0, 0))
        usage = Usage(tokens[0], tokens[1], calls=1)
        if called := [entry] if "tool" in entry else entry.get("calls"):
            first_id = f"call_{self._script.played}"
            calls = tuple(
                ToolCall.of(f"{first_id}_{n}" if n else first_id, call["tool"], call.get("arguments", {}))
                for n, call in enumerate(called)
            )
            return Completion(entry.get("say", ""), usage, None, calls, entry.get("finish", "tool_calls"), self.name)
        text = entry["text"] if "text" in entry else json.dumps(entry["json"], ensure_ascii=False)
        return Completion(text, usage, finish=entry.get("finish", "stop"), model=self.name)


def _all_text(messages: Sequence[Message]) -> str:
    texts = []
    for message in messages:
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        texts += [str(part.get("text") or "") for part in parts if isinstance(part, dict)]
    return "\n".join(texts)
