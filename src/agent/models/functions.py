"""Function calls on every kind of endpoint: functions, else one JSON form, else JSON in text.

The conversation that is handed in is in native form. The two lower rungs rewrite it: the functions are listed in the
system message, a call is the JSON that the model would have written, and results are messages of the user.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

from agent.models.json_text import DECODER, NoJsonError, Schema, fitting_json, misfit, without_nulls
from agent.models.ladder import Rung, RungRequest, response_format
from agent.models.protocol import Completion, Message, ToolCall, ToolChoice
from agent.models.written_calls import UnreadCallError, written_calls
from mcp_tools.text import one_line
from mcp_tools.tool import object_schema

_NO_ARGUMENTS: Schema = {"type": "object", "properties": {}}
_NAMED: Schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
_FORM: Schema = object_schema(
    {"say": {"type": ["string", "null"]}, "calls": {"type": "array", "items": _NAMED}}, ()
) | {"minProperties": 1}
_QUESTION = 4
"""Messages at the beginning that hold the question."""
_ASKED = (
    "# Functions\nThese functions can be called; each line is the name of one, what it does, and the JSON Schema of "
    "its arguments.\n{functions}\n\nReply with one JSON object and nothing else, in this form:\n"
    '{{"say": "…", "calls": [{{"name": "…", "arguments": {{…}}}}]}}\n'
    "`calls` are the functions to call now; their results follow. {choice}"
)
_CHOICES: dict[ToolChoice, str] = {
    "auto": "Where nothing is to be called, `calls` is empty and `say` is the reply.",
    "required": "At least one function is called.",
}


def _sent(tool: dict[str, Any]) -> dict[str, Any]:
    """Return a function as it is sent, without the rule against other arguments, which is checked here."""
    function = tool["function"]
    parameters = {name: value for name, value in function["parameters"].items() if name != "additionalProperties"}
    return {**tool, "function": {**function, "parameters": parameters}}


class FunctionRequest:
    """One request for a reply that may call functions, as each rung puts it; the conversation is in native form."""

    def __init__(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]], choice: ToolChoice) -> None:
        self._messages = messages
        self._functions: dict[str, dict[str, Any]] = {tool["function"]["name"]: tool["function"] for tool in tools}
        self._choice = choice
        self._tools = list(tools)

    def step(self, rung: Rung) -> RungRequest:
        """The way in which a rung asks."""
        choice: dict[str, Any] = {"tool_choice": self._choice} if self._choice != "auto" else {}
        if rung == "native":
            extra = {"tools": [*map(_sent, self._tools)], **choice}
            return RungRequest(self._messages, extra, self._read_native, again="Call a function.")
        messages = in_words(self._messages, self._listing())
        if rung == "text":
            return RungRequest(messages, {}, self._read_written, tells_whole=True)
        return RungRequest(messages, response_format("reply", self._form()), self._read_written, tells_whole=True)

    def checked(self, completion: Completion) -> Completion:
        """Return the completion with a unique id for each call, and the problem of each call that cannot be made.

        Raises:
            NoJsonError: It calls nothing, though it must.
        """
        if not completion.tool_calls:
            if self._choice == "required":
                raise NoJsonError("no function is called")
            return completion
        used = {call["id"] for message in self._messages for call in message.get("tool_calls") or ()}
        calls = []
        for call in completion.tool_calls:
            free = (name for n in count(len(used) + 1) if (name := f"call_{n}") not in used)
            own = call.id if call.id and call.id not in used else next(free)
            used.add(own)
            calls.append(self._checked(replace(call, id=own), cut=completion.finish == "length"))
        finish = "tool_calls" if completion.finish == "stop" else completion.finish
        return replace(completion, tool_calls=tuple(calls), finish=finish)

    def _checked(self, call: ToolCall, *, cut: bool) -> ToolCall:
        function = self._functions.get(call.name)
        if function is None:
            known = one_line(", ".join(self._functions), 300)
            return replace(call, problem=f"there is no function {one_line(call.name, 64)!r}; there are: {known}")
        parameters = function.get("parameters") or _NO_ARGUMENTS
        try:
            values = DECODER.decode(call.arguments or "{}")
        except (ValueError, RecursionError) as error:
            why = "the reply reached its limit of length" if cut else one_line(str(error), 100)
            return replace(call, problem=f"the arguments are no whole JSON: {why}")
        if not isinstance(values, dict):
            return replace(call, problem="the arguments do not fit: they are no object")
        try:
            values = without_nulls(values, parameters)
            problem = misfit(values, parameters)
        except _unreadable_schemas():
            problem = None  # another server's schema, which cannot be held against a value; that server will see
        if problem is not None:
            return replace(call, problem=f"the arguments do not fit: {problem}")
        return replace(call, arguments=json.dumps(values, ensure_ascii=False))

    def _read_native(self, completion: Completion) -> Completion:
        if completion.tool_calls:
            return self.checked(completion)
        try:
            calls, said = written_calls(completion.text, self._functions, self._asked())
        except UnreadCallError as problem:
            raise NoJsonError(f"{problem}; there are: {', '.join(self._functions)}", is_json=True) from None
        return self.checked(replace(completion, text=said, tool_calls=tuple(calls)) if calls else completion)

    def _asked(self) -> str:
        """The user's words that are text."""
        said = (m.get("content") for m in self._messages[:_QUESTION] if m["role"] == "user")
        return "\n".join(content[:10_000] for content in said if isinstance(content, str))

    def _read_written(self, completion: Completion) -> Completion:
        """Reads the form. Prose is a reply, too, unless it tries to be the form and fails."""
        text = completion.text
        try:
            form = fitting_json(text, _FORM)
        except NoJsonError as problem:
            try:
                written, said = written_calls(text, self._functions, self._asked())
            except UnreadCallError:
                raise problem from None
            if written:
                return self.checked(replace(completion, text=said, tool_calls=tuple(written)))
            if any(f'"{word}"' in text for word in ("say", "calls", "arguments")):
                raise problem from None
            return self.checked(completion)
        calls = tuple(_tool_call(call) for call in form.get("calls", ()))
        return self.checked(replace(completion, text=form.get("say") or "", tool_calls=calls))

    def _listing(self) -> str:
        lines = [
            f"- {name}: {one_line(function.get('description', ''), 4_000)} "
            f"{json.dumps(function.get('parameters') or _NO_ARGUMENTS, ensure_ascii=False)}"
            for name, function in self._functions.items()
        ]
        return _ASKED.format(functions="\n".join(lines), choice=_CHOICES[self._choice])

    def _form(self) -> Schema:
        """The JSON Schema of a reply with calls."""
        calls = []
        for name, function in self._functions.items():
            parameters = function.get("parameters") or _NO_ARGUMENTS
            if '"$ref"' in json.dumps(parameters):  # definitions of several functions would meet
                parameters = {"type": "object"}
            properties = {"name": {"type": "string", "enum": [name]}, "arguments": parameters}
            calls.append(object_schema(properties))
        listed: Schema = {"type": "array", "items": {"anyOf": calls}}
        listed |= {"minItems": 1} if self._choice == "required" else {}
        return object_schema({"say": {"type": "string"}, "calls": listed})


def in_words(messages: Sequence[Message], functions: str = "") -> list[Message]:
    """A conversation in native form without calls and results: for an endpoint that knows neither.

    The system message says of the functions that can be called what `functions` says.
    """
    names = {call["id"]: call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()}
    rewritten: list[Message] = []
    if functions:
        leads = bool(messages) and messages[0]["role"] == "system"
        content = _both(messages[0]["content"], functions) if leads else functions
        rewritten, messages = [{"role": "system", "content": content}], messages[1 if leads else 0 :]
    for message in messages:
        role, content = message["role"], message.get("content") or ""
        if role == "assistant":
            made = [call["function"] for call in message.get("tool_calls") or ()]
            calls = [{"name": each["name"], "arguments": json.loads(each["arguments"])} for each in made]
            content = json.dumps({"say": content, "calls": calls}, ensure_ascii=False)
        elif role == "tool":
            said = f"Result of {names.get(message['tool_call_id'], 'a function')}:\n"
            role, content = "user", _both(said, content, between="")
        if rewritten and rewritten[-1]["role"] == role:  # many templates want the roles to take turns
            content = _both(rewritten.pop()["content"], content)
        rewritten.append({"role": role, "content": content})
    return rewritten


def _tool_call(written: dict[str, Any]) -> ToolCall:
    return ToolCall.of("", written["name"], written.get("arguments") or {})


def _unreadable_schemas() -> tuple[type[Exception], ...]:
    from jsonschema.exceptions import UnknownType
    from referencing.exceptions import Unresolvable

    return (UnknownType, Unresolvable, re.error)


def _both(first: Any, second: Any, between: str = "\n\n") -> Any:
    """Return two contents as one: texts, or parts if there are pictures."""
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}{between}{second}" if first and second else first or second
    return [*_parts(first), *_parts(second)]


def _parts(content: Any) -> list[Any]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []
