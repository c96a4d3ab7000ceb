"""Structured output on any endpoint: a ladder of ways to ask, best first.

A new endpoint is asked in the best way. If it refuses the request, or the reply does not match, the next rung is tried.
The rung that worked is stored per endpoint and model, and used for later requests.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

from agent.errors import ModelOutputError
from agent.models.failures import Endpoint, Failure, Kind
from agent.models.json_text import NoJsonError, Schema, fitting_json, misfit, without_nulls
from agent.models.protocol import Completion, Message, Usage
from mcp_tools.data_files import JsonFile

Rung = Literal["native", "schema", "text"]
RUNGS: tuple[Rung, ...] = ("native", "schema", "text")
"""Native functions, a JSON schema, JSON in text. Structured answers only use the last two."""

_MAX_AGE_SECONDS = 24 * 3600.0
"""Age at which traits expire. The endpoint is then tested again, because endpoints gain features."""


TRAITS = "endpoints.json"
"""File in the cache folder that stores the traits."""


@dataclass(frozen=True, slots=True)
class ModelTraits:
    """Known features and limits of one model at one endpoint."""

    rung: Rung | None = None
    """The rung that works for structured answers; None before the first one."""
    without: tuple[str, ...] = ()
    """Request parameters that the endpoint refuses for this model."""
    most_output: int | None = None
    """Longest reply that the endpoint allows, in tokens; None if unknown."""
    tools: Rung | None = None
    """The rung that works for functions; None before the first call of one."""
    is_blind: bool = False
    """True if the endpoint refused pictures for this model."""
    at: float = field(default=0.0, compare=False)
    """Time of the last change, in seconds since 1970."""

    @property
    def shown(self) -> str:
        """The known limits on one line; empty if there are none."""
        limits = [f"without {', '.join(self.without)}"] if self.without else []
        limits += [f"at most {self.most_output:,} tokens of output"] if self.most_output else []
        limits += ["no pictures"] if self.is_blind else []
        limits += ["no native functions"] if self.tools in ("schema", "text") else []
        limits += ["no JSON Schema"] if self.rung == "text" else []
        return "; ".join(limits)


class TraitsCache:
    """Traits by endpoint and model, in memory and optionally in a file.

    Errors of the file are ignored, because losing it only costs a few refused requests.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._file = JsonFile(path, dict[str, ModelTraits], empty={}) if path else None
        self._known: dict[str, ModelTraits] | None = None

    def get(self, endpoint: Endpoint) -> ModelTraits:
        """Return the known traits; default traits if nothing is known."""
        if self._known is None:
            known = self._file.remembered() if self._file else {}
            self._known = {
                key: traits for key, traits in known.items() if 0 <= time.time() - traits.at < _MAX_AGE_SECONDS
            }
        return self._known.get(_key(endpoint), ModelTraits())

    def all(self) -> dict[str, ModelTraits]:
        """Return all known traits, by URL and model name."""
        self.get(Endpoint("", ""))
        return dict(self._known or {})

    def forget(self) -> int:
        """Delete all traits, and return their number."""
        forgotten = len(self.all())
        self._known = {}
        if self._file is not None:
            with self._file.changing() as known:
                known.clear()
        return forgotten

    def set(self, endpoint: Endpoint, traits: ModelTraits) -> None:
        """Store the traits, without overwriting those of other models that another process has stored."""
        if traits == self.get(endpoint):
            return
        assert self._known is not None
        self._known[_key(endpoint)] = traits = replace(traits, at=time.time())
        if self._file is not None:
            with contextlib.suppress(OSError), self._file.changing() as known:
                known[_key(endpoint)] = traits


def _key(endpoint: Endpoint) -> str:
    return f"{endpoint.shown_url} {endpoint.model}"


@dataclass(frozen=True, slots=True)
class RungRequest:
    """The request of one rung, and the function that reads its reply."""

    messages: Sequence[Message]
    extra: dict[str, Any] = field(default_factory=dict)
    read: Callable[[Completion], Completion] = lambda completion: completion
    """Fills in the parsed value or the calls; raises `NoJsonError` if the reply does not match."""
    streams: bool = True
    """False if the user's text is wrapped in JSON, so that it cannot be shown before the reply is complete."""
    again: str = "Answer again, with the whole JSON and nothing else."
    """Instruction to the model after a reply that does not match."""


Send = Callable[[RungRequest], Awaitable[Completion]]
"""Sends one request, with retries; raises `Failure`."""
Remember = Callable[[Rung, Completion], None]
"""Stores a rung after its first reply that matches."""
Ladder: TypeAlias = tuple[Sequence[Rung], Callable[[Rung], RungRequest], Rung | None, Remember]


async def climb(
    ask: Send,
    rungs: Sequence[Rung],
    step: Callable[[Rung], RungRequest],
    known: Rung | None,
    remember: Remember,
) -> Completion:
    """Return the completion of the first rung that works. Its usage is the sum of all attempts.

    Args:
        ask: Sends one request.
        rungs: The rungs to try, best first.
        step: Returns the request for a rung.
        known: The rung that worked before, if any. On this rung, a wrong reply is always repaired once.
        remember: Called with the rung that worked, if it is a new one.

    Raises:
        Failure: The endpoint failed, and not because of the form of the request.
        ModelOutputError: Neither the reply nor its repair matches.
    """
    spent, may_remember = Usage(), True
    for rung in rungs[rungs.index(known) if known in rungs else 0 :]:
        request, is_repair = step(rung), False
        while True:
            try:
                completion = await ask(request)
            except Failure as failure:
                if failure.kind is not Kind.REFUSED or is_repair or rung == rungs[-1]:
                    raise
                may_remember = may_remember and not failure.is_about_one_function
                break
            spent += completion.usage
            text = completion.text
            try:
                answer = request.read(completion)
            except NoJsonError as problem:
                if completion.finish == "length":
                    message = f"the model's JSON was cut off at {completion.usage.output_tokens} tokens"
                    raise ModelOutputError(message, remedy="Answer shorter.", text=text, usage=spent) from None
                if is_repair and rung in (known, rungs[-1]):
                    message = f"the model's answer does not fit what was asked: {problem}"
                    remedy = "Answer with JSON that fits the schema."
                    raise ModelOutputError(message, remedy=remedy, text=text, usage=spent) from None
                # JSON of another shape is worth one repair. No JSON at all, or a second failure, is not.
                if is_repair or (rung not in (known, rungs[-1]) and not problem.is_json):
                    break
                repair = [
                    {"role": "assistant", "content": text or "(nothing)"},
                    {"role": "user", "content": f"That does not fit: {problem}. {request.again}"},
                ]
                request, is_repair = replace(request, messages=[*request.messages, *repair]), True
                continue
            if rung != known and may_remember:
                remember(rung, answer)
            return replace(answer, usage=spent)
    raise AssertionError("the last rung returns or raises")


def structured_request(
    messages: Sequence[Message], schema: Schema, rung: Rung, *, enforced: bool = False
) -> RungRequest:
    """Return the rung's request for a value that matches the schema.

    `enforced` means that the endpoint enforces any schema with a grammar, so that non-objects need no wrapper.
    """
    read = partial(_read, schema=schema)
    if rung == "text":
        return RungRequest(_with_schema_in_text(messages, schema), read=read)
    if enforced or (wrapped := _object_schema(schema)) is schema:
        return RungRequest(messages, response_format("answer", schema), read)
    return RungRequest(_with_wrapped_examples(messages, schema), response_format("answer", wrapped), read)


def response_format(name: str, schema: Schema) -> dict[str, Any]:
    """Return the request parameter that asks for a reply with this schema."""
    return {"response_format": {"type": "json_schema", "json_schema": {"name": name, "schema": schema}}}


def _with_wrapped_examples(messages: Sequence[Message], schema: Schema) -> list[Message]:
    """Wrap the answers of earlier assistant messages in `{"value": …}`, like the answer that is asked for."""

    def wrapped_example(message: Message) -> Message:
        if message["role"] != "assistant" or not isinstance(message.get("content"), str):
            return message
        with contextlib.suppress(NoJsonError):
            example = json.dumps({"value": fitting_json(message["content"], schema)}, ensure_ascii=False)
            return {**message, "content": example}
        return message

    return [wrapped_example(message) for message in messages]


def _with_schema_in_text(messages: Sequence[Message], schema: Schema) -> list[Message]:
    """Append the schema at the end, so that the prompt cache still matches the beginning."""
    wanted = f"Answer with one JSON value that fits this JSON Schema, and nothing else:\n{json.dumps(schema)}"
    last = messages[-1] if messages else {}
    if last.get("role") == "user" and isinstance(last.get("content"), str):
        return [*messages[:-1], {**last, "content": f"{last['content']}\n\n{wanted}"}]
    return [*messages, {"role": "user", "content": wanted}]


def _object_schema(schema: Schema) -> Schema:
    """Wrap any schema except an object's as the property `value` of an object. Most endpoints accept only objects."""
    if schema.get("type") == "object":
        return schema
    inner = {key: value for key, value in schema.items() if key not in ("$defs", "definitions")}
    outer: Schema = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    return {"type": "object", "properties": {"value": inner}, "required": ["value"], **outer}


def _read(completion: Completion, *, schema: Schema) -> Completion:
    """Return the completion with its parsed value, with or without the wrapper object."""
    wrapped = _object_schema(schema)
    loose: Schema = {"type": "object"} | ({} if wrapped is schema else {"required": ["value"]})
    try:
        value = fitting_json(completion.text, schema)
    except NoJsonError as exc:
        try:
            found = without_nulls(fitting_json(completion.text, loose), wrapped)
        except NoJsonError:
            raise exc from None
        value = found if wrapped is schema else found["value"]
        if problem := misfit(value, schema):
            raise NoJsonError(problem, is_json=True) from None
    return replace(completion, parsed=value)
