"""A ladder: one request, put to an endpoint in several ways, the best first.

An endpoint that is new to us is asked at the top; where it refuses the request or the reply does not fit, one rung
lower. The rung that gave a fitting reply is remembered and used from then on.
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
from mcp_tools.json_file import JsonFile

Rung = Literal["native", "schema", "text"]
RUNGS: tuple[Rung, ...] = ("native", "schema", "text")
"""Functions of the endpoint's own, one JSON form, JSON in text: for a structured answer the last two."""

_KEPT_FOR = 24 * 3600.0
"""Seconds after which an endpoint is tested again, since endpoints get new features."""


TRAITS = "endpoints.json"
"""The file of what is known of endpoints, in the cache folder."""


@dataclass(frozen=True, slots=True)
class Traits:
    """Known traits of one model at one endpoint."""

    rung: Rung | None = None
    """The rung that holds for structured answers; None before the first one."""
    without: tuple[str, ...] = ()
    """Request parameters that the endpoint refuses for this model."""
    most_output: int | None = None
    """The most tokens of a reply that the endpoint allows, as far as it said."""
    tools: Rung | None = None
    """The rung that holds for functions; None before the first call of one."""
    is_blind: bool = False
    """True if the endpoint refused pictures for this model."""
    at: float = field(default=0.0, compare=False)
    """When it was learned, in seconds since 1970."""

    @property
    def shown(self) -> str:
        """The refused features on one line; empty if none are known."""
        told = [f"without {', '.join(self.without)}"] if self.without else []
        told += [f"at most {self.most_output:,} tokens of output"] if self.most_output else []
        told += ["no pictures"] if self.is_blind else []
        told += ["no native functions"] if self.tools in ("schema", "text") else []
        told += ["no JSON Schema"] if self.rung == "text" else []
        return "; ".join(told)


class TraitsCache:
    """Traits by endpoint and model, in memory and, if a file is given, in that file.

    Losing the file costs a few refused requests, so nothing here ever fails.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._file = JsonFile(path, dict[str, Traits], empty={}) if path else None
        self._known: dict[str, Traits] | None = None

    def get(self, endpoint: Endpoint) -> Traits:
        """Return the known traits; empty traits if nothing is known."""
        if self._known is None:
            known = self._file.remembered() if self._file else {}
            self._known = {key: traits for key, traits in known.items() if 0 <= time.time() - traits.at < _KEPT_FOR}
        return self._known.get(_key(endpoint), Traits())

    def all(self) -> dict[str, Traits]:
        """Return the known traits of all stored endpoints and models."""
        self.get(Endpoint("", ""))
        return dict(self._known or {})

    def forget(self) -> int:
        """Forgets everything, and gives the number of models forgotten."""
        forgotten = len(self.all())
        self._known = {}
        if self._file is not None:
            with self._file.changing() as known:
                known.clear()
        return forgotten

    def set(self, endpoint: Endpoint, traits: Traits) -> None:
        """Store the traits, and keep what other processes wrote in the meantime."""
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
    """The request and the reading of replies of one rung."""

    messages: Sequence[Message]
    extra: dict[str, Any] = field(default_factory=dict)
    read: Callable[[Completion], Completion] = lambda completion: completion
    """Gives the completion as the caller wants it; raises `NoJsonError` where the reply does not fit."""
    tells_whole: bool = False
    """True if the text is part of a form, so that it is passed on as a whole and not in pieces."""
    again: str = "Answer again, with the whole JSON and nothing else."
    """The message to a model after a reply that does not fit."""


Send = Callable[[RungRequest], Awaitable[Completion]]
"""Sends one request, repeats what can be repeated, raises Failure."""
Hold = Callable[[Rung, Completion], None]
"""Remembers a rung, given its first fitting reply."""
Ladder: TypeAlias = tuple[Sequence[Rung], Callable[[Rung], RungRequest], Rung | None, Hold]


async def climb(
    ask: Send,
    rungs: Sequence[Rung],
    step: Callable[[Rung], RungRequest],
    held: Rung | None,
    hold: Hold,
) -> Completion:
    """The completion of the first rung that holds; its usage is what all attempts cost.

    Args:
        ask: Sends one request.
        rungs: The best first.
        step: Request of each rung.
        held: The rung that gave a fitting reply before; there, a model is always shown once what does not fit.
        hold: Remembers it.

    Raises:
        Failure: The endpoint failed for another reason than the way it was asked.
        ModelOutputError: The reply did not fit, and neither did its repair.
    """
    spent, lasting = Usage(), True
    for rung in rungs[rungs.index(held) if held in rungs else 0 :]:
        asked, is_shown = step(rung), False
        while True:
            try:
                completion = await ask(asked)
            except Failure as failure:
                if failure.kind is not Kind.REFUSED or is_shown or rung == rungs[-1]:
                    raise
                lasting = lasting and not failure.is_about_one_function
                break
            spent += completion.usage
            text = completion.text
            try:
                answer = asked.read(completion)
            except NoJsonError as problem:
                if completion.finish == "length":
                    said = f"the model's JSON was cut off at {completion.usage.output_tokens} tokens"
                    raise ModelOutputError(said, remedy="Answer shorter.", text=text, usage=spent) from None
                if is_shown and rung in (held, rungs[-1]):
                    said = f"the model's answer does not fit what was asked: {problem}"
                    remedy = "Answer with JSON that fits the schema."
                    raise ModelOutputError(said, remedy=remedy, text=text, usage=spent) from None
                # A model that writes other JSON may still follow the form; one that writes no JSON, or the same
                # again, does not.
                if is_shown or (rung not in (held, rungs[-1]) and not problem.is_json):
                    break
                told = f"That does not fit: {problem}. {asked.again}"
                shown = [{"role": "assistant", "content": text or "(nothing)"}, {"role": "user", "content": told}]
                asked, is_shown = replace(asked, messages=[*asked.messages, *shown]), True
                continue
            if rung != held and lasting:
                hold(rung, answer)
            return replace(answer, usage=spent)
    raise AssertionError("the last rung returns or raises")


def structured_request(
    messages: Sequence[Message], schema: Schema, rung: Rung, *, enforced: bool = False
) -> RungRequest:
    """Return the rung's request for a value that fits the schema.

    Where this is `enforced`, the endpoint holds the output to any schema by a grammar, be it that of an object or not.
    """
    read = partial(_read, schema=schema)
    if rung == "text":
        return RungRequest(_with_schema_in_text(messages, schema), read=read)
    if enforced or (wrapped := _object(schema)) is schema:
        return RungRequest(messages, response_format("answer", schema), read)
    return RungRequest(_with_examples_in_objects(messages, schema), response_format("answer", wrapped), read)


def response_format(name: str, schema: Schema) -> dict[str, Any]:
    """Return the request for a reply that fits a schema."""
    return {"response_format": {"type": "json_schema", "json_schema": {"name": name, "schema": schema}}}


def _with_examples_in_objects(messages: Sequence[Message], schema: Schema) -> list[Message]:
    """Every example of an answer in the object that is asked for."""

    def shaped(message: Message) -> Message:
        if message["role"] != "assistant" or not isinstance(message.get("content"), str):
            return message
        with contextlib.suppress(NoJsonError):
            example = json.dumps({"value": fitting_json(message["content"], schema)}, ensure_ascii=False)
            return {**message, "content": example}
        return message

    return [shaped(message) for message in messages]


def _with_schema_in_text(messages: Sequence[Message], schema: Schema) -> list[Message]:
    """The schema is at the end, so that the prefix stays the same and cached."""
    wanted = f"Answer with one JSON value that fits this JSON Schema, and nothing else:\n{json.dumps(schema)}"
    last = messages[-1] if messages else {}
    if last.get("role") == "user" and isinstance(last.get("content"), str):
        return [*messages[:-1], {**last, "content": f"{last['content']}\n\n{wanted}"}]
    return [*messages, {"role": "user", "content": wanted}]


def _object(schema: Schema) -> Schema:
    """Most endpoints want the schema of an object: anything else becomes one's property `value`."""
    if schema.get("type") == "object":
        return schema
    inner = {key: value for key, value in schema.items() if key not in ("$defs", "definitions")}
    outer: Schema = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
    return {"type": "object", "properties": {"value": inner}, "required": ["value"], **outer}


def _read(completion: Completion, *, schema: Schema) -> Completion:
    """Return the completion with its parsed value, from the text or the object around it."""
    wrapped = _object(schema)
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
