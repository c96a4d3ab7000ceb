"""Answers in a form of the user's: JSON that fits a schema."""

from __future__ import annotations

import json
import re
from typing import Any

from agent.context import Context
from agent.errors import ModelOutputError, UsageError
from agent.models.json_text import DECODER, misfit
from agent.models.protocol import Message, Role
from mcp_tools.prompt import data_block

ATTEMPTS = 2
_FENCED = re.compile(r"```\w*\n(.*?)\n?```", re.DOTALL)
_TOKENS = 8_000
_SYSTEM = (
    "You write an answer that is already found as JSON of the form asked for. You add nothing and leave out nothing."
)


def checked_schema(text: str, name: str) -> dict[str, Any]:
    """The JSON Schema that a text holds.

    Args:
        text: Of the file.
        name: How a message calls it.

    Raises:
        UsageError: It is none.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        schema = DECODER.decode(text.strip())
        if not isinstance(schema, dict):
            raise ValueError("a schema is an object")
        Draft202012Validator.check_schema(schema)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} holds no JSON Schema: {error}.") from None
    except SchemaError as error:
        raise UsageError(f"{name} holds no valid JSON Schema: {error.message}.") from None
    return schema


def wanted_form(schema: dict[str, Any]) -> str:
    """What a model is told of it."""
    return f"The answer is one JSON value, and nothing else, that fits this JSON Schema:\n{json.dumps(schema)}"


async def in_schema(text: str, question: str, schema: dict[str, Any], context: Context) -> str:
    """The answer as JSON: as it is where it fits, else written anew by the model.

    Raises:
        ModelOutputError: The model wrote nothing that fits.
        ModelError: It could not be asked.
        StoppedError: A limit of the run is reached.
    """
    fenced = _FENCED.fullmatch(text.strip())
    try:
        value = DECODER.decode(fenced[1] if fenced else text.strip())
        problem = misfit(value, schema, lengths=True)
    except (ValueError, RecursionError):
        problem = "this is no JSON"
    messages: list[Message] = [
        {"role": "system", "content": _SYSTEM},
        {"role": "user", "content": f"Question: {question}\n\n{data_block('answer', text)}"},
    ]
    for _ in range(ATTEMPTS if problem else 0):
        told = await context.complete(Role.COORDINATOR, messages, schema=schema, temperature=0, max_tokens=_TOKENS)
        value = told.parsed
        if not (problem := misfit(value, schema, lengths=True)):
            break
        wrong = {"role": "user", "content": f"It does not fit: {problem}. Write it again."}
        messages += [{"role": "assistant", "content": told.text}, wrong]
    if problem:
        raise ModelOutputError(f"no answer fits the schema: {problem}")
    return json.dumps(value, ensure_ascii=False)
