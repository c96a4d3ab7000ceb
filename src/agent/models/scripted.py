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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from agent import errors
from agent.errors import ModelError, ModelOutputError, SettingsError
from agent.models.functions import FunctionRequest
from agent.models.json_text import NoJsonError, misfit
from agent.models.protocol import SCRIPTED, Completion, Finish, Message, Request, ToolCall, Usage
from mcp_tools.text import one_line

_ERRORS: dict[str, type[errors.AlitaError]] = {
    "auth": errors.ModelAuthError,
    "unknown": errors.ModelUnknownError,
    "unreachable": errors.ModelUnreachableError,
    "busy": errors.ModelBusyError,
    "refused": errors.ModelRefusedError,
    "output": errors.ModelOutputError,
}
_ANSWERS = {"text", "json", "tool", "calls", "error"}
_IS_TEXT = (lambda value: isinstance(value, str), "a string")
_SHAPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "text": _IS_TEXT,
    "tool": _IS_TEXT,
    "say": _IS_TEXT,
    "calls": (
        lambda value: (
            isinstance(value, list) and value != [] and all(isinstance(c, dict) and "tool" in c for c in value)
        ),
        'a list of {"tool": …, "arguments": …}',
    ),
    "role": _IS_TEXT,
    "when": _IS_TEXT,
    "message": _IS_TEXT,
    "delay": (lambda value: isinstance(value, int | float) and value >= 0, "a number of seconds"),
    "repeat": (lambda value: isinstance(value, int) and value >= 0, "true or a number"),
    "usage": (lambda value: isinstance(value, list) and [type(v) for v in value] == [int, int], "two numbers"),
    "finish": (lambda value: value in get_args(Finish), f"one of {', '.join(get_args(Finish))}"),
}
_BESIDES = {"role", "when", "delay", "repeat", "usage", "finish", "arguments", "message", "say"}


@dataclass(slots=True)
class Line:
    """One answer of a script, and how often it may still be given."""

    entry: dict[str, Any]
    where: str
    left: float = field(init=False)

    def __post_init__(self) -> None:
        repeat = self.entry.get("repeat", 1)
        self.left = float("inf") if repeat is True else float(repeat)

    def fits(self, role: str | None, said: str) -> bool:
        """It is for this role and these messages, and not used up."""
        for_role = self.entry.get("role")
        return self.left > 0 and for_role in (None, role) and self.entry.get("when", "") in said


class Script:
    """Lines that answer in order; models of several roles may share one."""

    def __init__(self, lines: Iterable[Line], name: str) -> None:
        self.lines = list(lines)
        self.name = name
        self.played = 0

    @classmethod
    def read(cls, path: Path) -> Script:
        """Reads a script.

        Raises:
            SettingsError: The file cannot be read, or a line is no answer.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as exc:
            raise SettingsError(
                f"the script {path} cannot be read: {exc}", remedy="Name a JSON-lines file: --model scripted:FILE"
            ) from None
        numbered = enumerate(text.split("\n"), 1)
        lines = [_line(t, f"{path}:{n}") for n, t in numbered if t.strip() and not t.lstrip().startswith("#")]
        return cls(lines, str(path))

    @classmethod
    def of(cls, answers: Iterable[dict[str, Any] | str]) -> Script:
        """A script from answers in memory; a plain string is a text."""
        entries = [{"text": answer} if isinstance(answer, str) else answer for answer in answers]
        return cls([Line(_checked(e, f"answer {n}"), f"answer {n}") for n, e in enumerate(entries, 1)], "script")

    def next(self, role: str | None, said: str) -> Line:
        """The line that answers now.

        Raises:
            ModelError: None is left that fits.
        """
        for line in self.lines:
            if line.fits(role, said):
                line.left -= 1
                self.played += 1
                return line
        asked = one_line(said.rpartition("\n")[2] or said, 80)
        raise ModelError(
            f"the script {self.name} has no answer left for {role or 'this call'} after {self.played}: {asked!r}",
            remedy='Add a line to it, for example {"text": "…"}, or let one repeat.',
        )


class ScriptedModel:
    """Plays a script instead of asking a model.

    Args:
        script: A file, the answers themselves, or a script that is shared with other roles.
        role: Which role's lines it plays besides those for all.
    """

    def __init__(
        self, script: Path | str | Script | Sequence[dict[str, Any] | str], *, role: str | None = None
    ) -> None:
        if isinstance(script, str | Path):
            self._script = Script.read(Path(script))
        else:
            self._script = script if isinstance(script, Script) else Script.of(script)
        self._role = role
        self.requests: list[list[Message]] = []
        """What was asked, for tests to look at."""

    @property
    def name(self) -> str:
        """`scripted:FILE`."""
        return f"{SCRIPTED}{self._script.name}"

    async def complete(self, request: Request) -> Completion:
        """Gives the script's next answer; see `agent.models.protocol.Model`."""
        messages = list(request.messages)
        self.requests.append(messages)
        line = self._script.next(self._role, _said(messages))
        await asyncio.sleep(line.entry.get("delay", 0))
        completion = self._completion(line)
        if request.on_delta and completion.text:
            request.on_delta(completion.text)
        if request.tools:
            return _called(completion, FunctionRequest(messages, request.tools, request.tool_choice), line)
        return completion if request.schema is None else _fitted(completion, request.schema, line)

    async def aclose(self) -> None:
        """Nothing is open."""

    def _completion(self, line: Line) -> Completion:
        entry = line.entry
        if "error" in entry:
            message = entry.get("message", f"the script {line.where} says: {entry['error']}")
            raise _ERRORS[entry["error"]](message)
        tokens = entry.get("usage", [0, 0])
        usage = Usage(int(tokens[0]), int(tokens[1]), calls=1)
        if called := [entry] if "tool" in entry else entry.get("calls"):
            own = f"call_{self._script.played}"
            calls = tuple(_tool_call(call, f"{own}_{n}" if n else own) for n, call in enumerate(called))
            return Completion(entry.get("say", ""), usage, None, calls, entry.get("finish", "tool_calls"), self.name)
        text = entry["text"] if "text" in entry else json.dumps(entry["json"], ensure_ascii=False)
        return Completion(text, usage, finish=entry.get("finish", "stop"), model=self.name)


def _fitted(completion: Completion, schema: dict[str, Any], line: Line) -> Completion:
    """The completion with its JSON value, which must fit as a real model's must."""
    from dataclasses import replace

    if completion.tool_calls:
        return completion
    try:
        value = json.loads(completion.text)
    except ValueError:
        raise ModelOutputError(f"{line.where} is no JSON: {one_line(completion.text, 80)!r}") from None
    if problem := misfit(value, schema):
        raise ModelOutputError(f"{line.where} does not fit the schema: {problem}", text=completion.text)
    return replace(completion, parsed=value)


def _called(completion: Completion, request: FunctionRequest, line: Line) -> Completion:
    """The completion with its calls checked, as a real model's are."""
    try:
        return request.checked(completion)
    except NoJsonError as problem:
        raise ModelOutputError(f"{line.where}: {problem}", text=completion.text) from None


def _tool_call(call: dict[str, Any], own: str) -> ToolCall:
    arguments = call.get("arguments", {})
    return ToolCall(own, str(call["tool"]), arguments if isinstance(arguments, str) else json.dumps(arguments))


def _line(text: str, where: str) -> Line:
    try:
        return Line(_checked(json.loads(text), where), where)
    except ValueError as exc:
        raise SettingsError(
            f"{where} is no JSON object: {exc}", remedy='A line is, for example, {"text": "…"}.'
        ) from None


def _checked(entry: Any, where: str) -> dict[str, Any]:
    """The entry, if it is one answer with nothing unknown in it."""
    if not isinstance(entry, dict) or len(_ANSWERS & set(entry)) != 1:
        raise SettingsError(f"{where}: an answer has exactly one of {', '.join(sorted(_ANSWERS))}")
    if unknown := set(entry) - _ANSWERS - _BESIDES:
        raise SettingsError(f"{where}: unknown {', '.join(sorted(unknown))}")
    if "error" in entry and entry["error"] not in _ERRORS:
        raise SettingsError(f"{where}: unknown error {entry['error']!r}; one of {', '.join(_ERRORS)}")
    for name, (fits, wanted) in _SHAPES.items():
        if name in entry and not fits(entry[name]):
            raise SettingsError(f"{where}: `{name}` is {wanted}, not {one_line(repr(entry[name]), 40)}")
    return entry


def _said(messages: Sequence[Message]) -> str:
    """The text of all messages."""
    texts = []
    for message in messages:
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        texts += [str(part.get("text") or "") for part in parts if isinstance(part, dict)]
    return "\n".join(texts)
