"""A model that plays a script: for tests, demonstrations and `--model scripted:FILE`.

A script is JSON lines, one answer each; empty lines and lines that start with `#` are skipped:

    {"text": "42"}                                       a text
    {"json": {"action": "answer"}}                       a JSON value (also the text)
    {"tool": "add", "arguments": {"a": 1}}               a tool call; a text as arguments stands as it is
    {"calls": [{"tool": "add", "arguments": {"a": 1}}]}  several of them
    {"error": "busy", "message": "try later"}            an error: auth, unknown, unreachable, busy, refused, output

and besides, where wanted:

    "role": "writer"       only for this role              "when": "Fibonacci"   only if the messages contain this
    "delay": 0.2           seconds before the answer       "repeat": true        again and again (or a number)
    "usage": [10, 5]       input and output tokens         "finish": "length"    why it ended
    "say": "First"         the text beside tool calls

The first line that fits and is not used up answers.
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
    """One answer of a script, and how often it may still be given.

    Raises:
        SettingsError: It is no answer.
    """

    def __init__(self, entry: Any, where: str) -> None:
        if not isinstance(entry, dict) or sum(name in entry for name in _ANSWERS) != 1:
            raise SettingsError(f"{where}: an answer has exactly one of {', '.join(_ANSWERS)}")
        if problem := misfit(entry, _LINE):
            raise SettingsError(f"{where}: {problem}")
        self.entry: dict[str, Any] = entry
        self.where = where
        repeat = entry.get("repeat", 1)
        self.left = float("inf") if repeat is True else float(repeat)


class Script:
    """Lines that answer in order; models of several roles may share one."""

    def __init__(self, lines: Iterable[ScriptLine], name: str) -> None:
        self.lines = list(lines)
        self.name = name
        self.played = 0

    @classmethod
    def read(cls, path: Path) -> Script:
        """Reads a script.

        Raises:
            SettingsError: The file cannot be read, or a line is no answer.
        """
        remedy = "Name a JSON-lines file: --model scripted:FILE"
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
                    remedy='Each line is a JSON object, for example {"text": "…"}.',
                ) from None
        return cls(lines, str(path))

    @classmethod
    def of(cls, answers: Iterable[dict[str, Any] | str]) -> Script:
        """A script from answers in memory; a plain string is a text."""
        entries = [{"text": answer} if isinstance(answer, str) else answer for answer in answers]
        return cls([ScriptLine(entry, f"answer {n}") for n, entry in enumerate(entries, 1)], "script")

    def next(self, role: str | None, said: str) -> ScriptLine:
        """The line that answers now.

        Raises:
            ModelError: None is left that fits.
        """
        for line in self.lines:
            if line.left > 0 and line.entry.get("role") in (None, role) and line.entry.get("when", "") in said:
                line.left -= 1
                self.played += 1
                return line
        asked = one_line(said.rpartition("\n")[2] or said, 80)
        raise ModelError(
            f"the script {self.name} has no line left for {role or 'this call'} after {self.played}: {asked!r}",
            remedy='Add a line to it, for example {"text": "…"}, or let one repeat.',
        )


class ScriptedModel:
    """Plays the lines for all roles, and those for its own, of a script that other roles may share."""

    def __init__(self, script: Script | Sequence[dict[str, Any] | str], *, role: str | None = None) -> None:
        self._script = script if isinstance(script, Script) else Script.of(script)
        self._role = role
        self.requests: list[list[Message]] = []
        """The requests so far, for tests."""

    @property
    def name(self) -> str:
        """`scripted:FILE`."""
        return f"{SCRIPTED}{self._script.name}"

    async def complete(self, request: Request) -> Completion:
        """Gives the script's next answer, checked as a real model's is; see `agent.models.protocol.Model`."""
        messages = list(request.messages)
        self.requests.append(messages)
        line = self._script.next(self._role, _said(messages))
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
        """Do nothing, since nothing is open."""

    def _completion(self, line: ScriptLine) -> Completion:
        entry = line.entry
        if "error" in entry:
            message = entry.get("message", f"the script {line.where} says: {entry['error']}")
            raise _ERRORS[entry["error"]](message)
        tokens = entry.get("usage", (0, 0))
        usage = Usage(tokens[0], tokens[1], calls=1)
        if called := [entry] if "tool" in entry else entry.get("calls"):
            own = f"call_{self._script.played}"
            calls = tuple(
                ToolCall.of(f"{own}_{n}" if n else own, call["tool"], call.get("arguments", {}))
                for n, call in enumerate(called)
            )
            return Completion(entry.get("say", ""), usage, None, calls, entry.get("finish", "tool_calls"), self.name)
        text = entry["text"] if "text" in entry else json.dumps(entry["json"], ensure_ascii=False)
        return Completion(text, usage, finish=entry.get("finish", "stop"), model=self.name)


def _said(messages: Sequence[Message]) -> str:
    """The text of all messages."""
    texts = []
    for message in messages:
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        texts += [str(part.get("text") or "") for part in parts if isinstance(part, dict)]
    return "\n".join(texts)
