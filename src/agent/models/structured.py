"""Structured output: a JSON value that fits a schema, by JSON schema → forced tool call → JSON in text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from agent.models.json_text import NoJsonError, fitting_json, misfit
from agent.models.ladder import Step, answer_text
from agent.models.protocol import Completion, Message
from agent.models.strict import strict_schema, with_nulls, without_nulls
from agent.models.traits import Rung
from agent.models.wire import RESPOND

Schema = dict[str, Any]


def structured_step(messages: Sequence[Message], schema: Schema, rung: Rung, *, enforced: bool = False) -> Step:
    """How a rung asks for a value that fits the schema.

    Args:
        messages: The conversation.
        schema: What the value must fit.
        rung: The way it is asked.
        enforced: The endpoint holds the output to the schema as it is (a grammar): no strict form is needed.
    """
    if enforced and rung == "schema":
        shape: dict[str, Any] = {"name": "answer", "schema": schema}
        return Step(messages, _response_format(shape), partial(_read, schema=schema, plain=True))
    read = partial(_read, schema=schema, plain=False)
    if rung == "schema":
        strict = strict_schema(_object(schema))
        shape = {"name": "answer", "schema": strict or _object(schema), "strict": strict is not None}
        return Step(_in_form(messages, schema, strict=strict is not None), _response_format(shape), read)
    if rung == "tool":
        function = {"name": RESPOND, "description": "Gives the answer.", "parameters": _object(schema)}
        choice = {"type": "function", "function": {"name": RESPOND}}
        extra = {"tools": [{"type": "function", "function": function}], "tool_choice": choice}
        return Step(_in_form(messages, schema, strict=False), extra, read)
    return Step(_with_schema_in_text(messages, schema), read=read)


def _response_format(shape: dict[str, Any]) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": shape}}


def _in_form(messages: Sequence[Message], schema: Schema, *, strict: bool) -> list[Message]:
    """The messages with every example of an answer as the schema that is sent wants it."""
    wanted = json.dumps(schema)

    def shaped(message: Message) -> Message:
        if message.get("role") != "assistant" or not isinstance(message.get("content"), str):
            return message
        return {**message, "content": _example(message["content"], wanted, strict)}

    return [shaped(message) for message in messages]


@lru_cache(maxsize=256)
def _example(content: str, wanted: str, strict: bool) -> str:
    """An example of an answer as the schema wants it. Every call sends the same ones."""
    schema = json.loads(wanted)
    try:
        value = fitting_json(content, schema)
    except NoJsonError:
        return content
    value = with_nulls(value, schema) if strict else value
    wrapped = value if _object(schema) is schema else {"value": value}
    return json.dumps(wrapped, ensure_ascii=False, separators=(",", ":"))


def _with_schema_in_text(messages: Sequence[Message], schema: Schema) -> list[Message]:
    """The schema stands at the end, so that the prefix stays the same and cached."""
    wanted = f"Answer with one JSON value that fits this JSON Schema, and nothing else:\n{json.dumps(schema)}"
    last = messages[-1] if messages else {}
    if last.get("role") == "user" and isinstance(last.get("content"), str):
        return [*messages[:-1], {**last, "content": f"{last['content']}\n\n{wanted}"}]
    return [*messages, {"role": "user", "content": wanted}]


def _object(schema: Schema) -> Schema:
    """Strict schemas and tool parameters must be objects: anything else becomes one's property `value`."""
    if schema.get("type") == "object":
        return schema
    inner = {key: value for key, value in schema.items() if key not in ("$defs", "definitions")}
    outer: Schema = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    return {"type": "object", "properties": {"value": inner}, "required": ["value"], **outer}


def _read(completion: Completion, *, schema: Schema, plain: bool) -> Completion:
    """The completion with its parsed value."""
    text = answer_text(completion)
    value = fitting_json(text, schema) if plain else _unwrapped(text, schema)
    finish = "stop" if completion.finish == "tool_calls" else completion.finish
    return replace(completion, text=text, parsed=value, tool_calls=(), finish=finish)


def _unwrapped(text: str, schema: Schema) -> Any:
    """The value in the text, or in the object that strict mode and tools need around it."""
    wrapped = _object(schema)
    loose = {"type": wrapped["type"]} if wrapped is schema else {"required": ["value"], "type": "object"}
    try:
        value = fitting_json(text, schema)
    except NoJsonError as exc:
        try:
            found = without_nulls(fitting_json(text, loose), wrapped)
        except NoJsonError:
            raise exc from None
        value = found if wrapped is schema else found["value"]
        if problem := misfit(value, schema):
            raise NoJsonError(problem) from None
    return value
