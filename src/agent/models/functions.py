"""Function calls on any endpoint: native functions if they are supported, else JSON with a schema, else JSON in text.

Callers pass a conversation with native calls. For endpoints without functions, the conversation is rewritten: the
system message lists the functions, each call becomes the JSON that the model would have written, and each result
becomes a user message.
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
from agent.models.wire import joined_contents
from agent.models.written_calls import UnreadCallError, written_calls
from mcp_tools.text import one_line
from mcp_tools.tool import object_schema

_NO_ARGUMENTS: Schema = {"type": "object", "properties": {}}
_ANY_CALL: Schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
_ANY_REPLY: Schema = object_schema(
    {"say": {"type": ["string", "null"]}, "calls": {"type": "array", "items": _ANY_CALL}}, ()
) | {"minProperties": 1}
_QUESTION_MESSAGES = 4
"""Number of messages at the start of a conversation, among which is the user's question."""
_INSTRUCTIONS = (
    "# Functions\nThese functions can be called; each line is the name of one, what it does, and the JSON Schema of "
    "its arguments.\n{functions}\n\nReply with one JSON object and nothing else, in this form:\n"
    '{{"say": "…", "calls": [{{"name": "…", "arguments": {{…}}}}]}}\n'
    "`calls` are the functions to call now; their results follow. {choice}"
)
_CHOICES: dict[ToolChoice, str] = {
    "auto": "Where nothing is to be called, `calls` is empty and `say` is the reply.",
    "required": "At least one function is called.",
}


def _without_strict_arguments(tool: dict[str, Any]) -> dict[str, Any]:
    """Remove `additionalProperties`, which some endpoints refuse. Arguments are checked here anyway."""
    function = tool["function"]
    parameters = {name: value for name, value in function["parameters"].items() if name != "additionalProperties"}
    return {**tool, "function": {**function, "parameters": parameters}}


class FunctionRequest:
    """A request with functions, in the form that each rung of the ladder needs."""

    def __init__(self, messages: Sequence[Message], tools: Sequence[dict[str, Any]], choice: ToolChoice) -> None:
        self._messages = messages
        self._functions: dict[str, dict[str, Any]] = {tool["function"]["name"]: tool["function"] for tool in tools}
        self._choice = choice
        self._tools = list(tools)

    def step(self, rung: Rung) -> RungRequest:
        """Return the request for a rung."""
        choice: dict[str, Any] = {"tool_choice": self._choice} if self._choice != "auto" else {}
        if rung == "native":
            extra = {"tools": [*map(_without_strict_arguments, self._tools)], **choice}
            return RungRequest(self._messages, extra, self._read_native, again="Call a function.")
        messages = without_native_calls(self._messages, self._listing())
        if rung == "text":
            return RungRequest(messages, {}, self._read_json, streams=False)
        return RungRequest(messages, response_format("reply", self._reply_schema()), self._read_json, streams=False)

    def checked(self, completion: Completion) -> Completion:
        """Return the completion with checked arguments and a unique id for each call.

        A call that cannot be made keeps its arguments and gets a `problem`.

        Raises:
            NoJsonError: A call is required, but the reply has none.
        """
        if not completion.tool_calls:
            if self._choice == "required":
                raise NoJsonError("no function is called")
            return completion
        used = {call["id"] for message in self._messages for call in message.get("tool_calls") or ()}
        calls = []
        for call in completion.tool_calls:
            free = (name for n in count(len(used) + 1) if (name := f"call_{n}") not in used)
            call_id = call.id if call.id and call.id not in used else next(free)
            used.add(call_id)
            calls.append(self._checked(replace(call, id=call_id), cut=completion.finish == "length"))
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
            problem = None  # an external server's invalid schema: that server checks the arguments itself
        if problem is not None:
            return replace(call, problem=f"the arguments do not fit: {problem}")
        return replace(call, arguments=json.dumps(values, ensure_ascii=False))

    def _read_native(self, completion: Completion) -> Completion:
        if completion.tool_calls:
            return self.checked(completion)
        try:
            calls, text = written_calls(completion.text, self._functions, self._question())
        except UnreadCallError as problem:
            raise NoJsonError(f"{problem}; there are: {', '.join(self._functions)}", is_json=True) from None
        return self.checked(replace(completion, text=text, tool_calls=tuple(calls)) if calls else completion)

    def _question(self) -> str:
        contents = (m.get("content") for m in self._messages[:_QUESTION_MESSAGES] if m["role"] == "user")
        return "\n".join(content[:10_000] for content in contents if isinstance(content, str))

    def _read_json(self, completion: Completion) -> Completion:
        """Read the JSON reply. Prose also counts as a reply, unless it looks like a failed attempt at the JSON."""
        text = completion.text
        try:
            reply = fitting_json(text, _ANY_REPLY)
        except NoJsonError as problem:
            try:
                written, before = written_calls(text, self._functions, self._question())
            except UnreadCallError:
                raise problem from None
            if written:
                return self.checked(replace(completion, text=before, tool_calls=tuple(written)))
            if any(f'"{word}"' in text for word in ("say", "calls", "arguments")):
                raise problem from None
            return self.checked(completion)
        calls = tuple(ToolCall.of("", call["name"], call.get("arguments") or {}) for call in reply.get("calls", ()))
        return self.checked(replace(completion, text=reply.get("say") or "", tool_calls=calls))

    def _listing(self) -> str:
        lines = [
            f"- {name}: {one_line(function.get('description', ''), 4_000)} "
            f"{json.dumps(function.get('parameters') or _NO_ARGUMENTS, ensure_ascii=False)}"
            for name, function in self._functions.items()
        ]
        return _INSTRUCTIONS.format(functions="\n".join(lines), choice=_CHOICES[self._choice])

    def _reply_schema(self) -> Schema:
        calls = []
        for name, function in self._functions.items():
            parameters = function.get("parameters") or _NO_ARGUMENTS
            if '"$ref"' in json.dumps(parameters):  # definitions of several functions could clash
                parameters = {"type": "object"}
            properties = {"name": {"type": "string", "enum": [name]}, "arguments": parameters}
            calls.append(object_schema(properties))
        call_list: Schema = {"type": "array", "items": {"anyOf": calls}}
        call_list |= {"minItems": 1} if self._choice == "required" else {}
        return object_schema({"say": {"type": "string"}, "calls": call_list})


def without_native_calls(messages: Sequence[Message], functions: str = "") -> list[Message]:
    """Rewrite native calls and their results as plain text, for endpoints that do not support functions.

    `functions` describes the functions that can be called; it is added to the system message.
    """
    names = {call["id"]: call["function"]["name"] for message in messages for call in message.get("tool_calls") or ()}
    rewritten: list[Message] = []
    if functions:
        has_system = bool(messages) and messages[0]["role"] == "system"
        content = joined_contents(messages[0]["content"], functions) if has_system else functions
        rewritten, messages = [{"role": "system", "content": content}], messages[1 if has_system else 0 :]
    for message in messages:
        role, content = message["role"], message.get("content") or ""
        if role == "assistant":
            made = [call["function"] for call in message.get("tool_calls") or ()]
            calls = [{"name": each["name"], "arguments": json.loads(each["arguments"])} for each in made]
            content = json.dumps({"say": content, "calls": calls}, ensure_ascii=False)
        elif role == "tool":
            heading = f"Result of {names.get(message['tool_call_id'], 'a function')}:\n"
            role, content = "user", joined_contents(heading, content, between="")
        if rewritten and rewritten[-1]["role"] == role:  # many chat templates require alternating roles
            content = joined_contents(rewritten.pop()["content"], content)
        rewritten.append({"role": role, "content": content})
    return rewritten


def _unreadable_schemas() -> tuple[type[Exception], ...]:
    from jsonschema.exceptions import UnknownType
    from referencing.exceptions import Unresolvable

    return (UnknownType, Unresolvable, re.error)
