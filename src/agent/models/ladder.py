"""The ladder of structured output: JSON schema → forced tool call → JSON in text with one repair.

An endpoint that is new to us is asked at the top; where it refuses the request or the answer does not fit,
one rung lower. The first rung that gives a fitting answer is remembered and used from then on.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Protocol

from agent.errors import ModelOutputError
from agent.models.failures import Failure, Kind
from agent.models.json_text import NoJsonError, fitting_json, misfit
from agent.models.protocol import Completion, Message, Usage
from agent.models.strict import strict_schema, with_nulls, without_nulls
from agent.models.traits import RUNGS, Rung
from agent.models.wire import RESPOND

Schema = dict[str, Any]
Ask = Callable[[Sequence[Message], dict[str, Any]], Awaitable[Completion]]
"""Sends messages with additional request fields, repeats what can be repeated, raises Failure."""


class RungMemory(Protocol):
    """Remembers which rung holds."""

    def rung(self) -> Rung | None:
        """The rung that gave a fitting answer before."""
        ...

    def hold(self, rung: Rung) -> None:
        """Remembers that this rung holds."""
        ...


async def structured(
    ask: Ask,
    messages: Sequence[Message],
    schema: Schema,
    memory: RungMemory,
    *,
    tools: Sequence[dict[str, Any]] | None = None,
    enforced: bool = False,
) -> Completion:
    """A completion whose `parsed` fits the schema, or one that asks for `tools`.

    Args:
        ask: Sends one request.
        messages: The conversation.
        schema: What the answer must fit.
        memory: Where the rung that holds is remembered.
        tools: The caller's own tools.
        enforced: The endpoint holds the output to the schema as it is (a grammar): no strict form is needed.

    Raises:
        Failure: The endpoint failed for another reason than the way it was asked.
        ModelOutputError: The answer did not fit, and neither did its repair.
    """
    held = memory.rung()
    spent = Usage()
    for rung in RUNGS[RUNGS.index(held or RUNGS[0]) :]:
        asked, extra = _request(rung, messages, schema, tools, enforced)
        try:
            completion = await ask(asked, extra)
        except Failure as failure:
            if failure.kind is not Kind.REFUSED or rung == RUNGS[-1]:
                raise
            continue
        spent += completion.usage
        try:
            answer = _read(completion, schema, enforced and rung == "schema")
        except NoJsonError as problem:
            _raise_if_cut(completion, spent)
            if rung != held and rung != RUNGS[-1]:
                continue
            answer = await _repair(ask, asked, extra, completion, problem, schema, spent)
            spent = answer.usage
        memory.hold(rung)
        return replace(answer, usage=spent)
    raise AssertionError("the last rung returns or raises")


async def _repair(
    ask: Ask,
    messages: Sequence[Message],
    extra: dict[str, Any],
    completion: Completion,
    problem: NoJsonError,
    schema: Schema,
    spent: Usage,
) -> Completion:
    """Shows the model once what does not fit; the usage of the result includes what was spent before."""
    said = _answer_text(completion) or "(nothing)"
    again = [
        *messages,
        {"role": "assistant", "content": said},
        {
            "role": "user",
            "content": f"That does not fit: {problem}. Answer again, with the whole JSON and nothing else.",
        },
    ]
    repaired = await ask(again, extra)
    spent += repaired.usage
    try:
        return replace(_read(repaired, schema, False), usage=spent)
    except NoJsonError as still:
        _raise_if_cut(repaired, spent)
        raise ModelOutputError(
            f"the model's answer does not fit what was asked: {still}",
            remedy="Answer with JSON that fits the schema.",
            text=_answer_text(repaired),
            usage=spent,
        ) from None


def _raise_if_cut(completion: Completion, spent: Usage) -> None:
    if completion.finish == "length":
        raise ModelOutputError(
            f"the model's JSON was cut off at {completion.usage.output_tokens} tokens",
            remedy="Answer shorter.",
            text=_answer_text(completion),
            usage=spent,
        )


def _request(
    rung: Rung,
    messages: Sequence[Message],
    schema: Schema,
    tools: Sequence[dict[str, Any]] | None,
    enforced: bool,
) -> tuple[Sequence[Message], dict[str, Any]]:
    extra: dict[str, Any] = {"tools": list(tools)} if tools else {}
    if rung == "schema":
        strict = None if enforced else strict_schema(_object(schema))
        wanted = schema if enforced else strict or _object(schema)
        shape = {"name": "answer", "schema": wanted, **({} if enforced else {"strict": strict is not None})}
        asked = messages if enforced else _in_form(messages, schema, strict=strict is not None)
        return asked, extra | {"response_format": {"type": "json_schema", "json_schema": shape}}
    if rung == "tool":
        respond = {
            "type": "function",
            "function": {"name": RESPOND, "description": "Gives the answer.", "parameters": _object(schema)},
        }
        choice = "required" if tools else {"type": "function", "function": {"name": RESPOND}}
        return _in_form(messages, schema, strict=False), {"tools": [*(tools or ()), respond], "tool_choice": choice}
    return _with_schema_in_text(messages, schema), extra


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


def _read(completion: Completion, schema: Schema, plain: bool) -> Completion:
    """The completion with its parsed value, unless the model asks for one of the caller's tools."""
    others = tuple(call for call in completion.tool_calls if call.name != RESPOND)
    if others:
        return replace(completion, tool_calls=others)
    text = _answer_text(completion)
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


def _answer_text(completion: Completion) -> str:
    for call in completion.tool_calls:
        if call.name == RESPOND:
            return call.arguments
    return completion.text
