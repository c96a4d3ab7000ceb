"""The spec of a tool: written before any code, generalised from the question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcp_tools.create.literals import (
    names_asked_for,
    question_values,
    uncovered,
)
from mcp_tools.create.passages import named, with_names
from mcp_tools.create.protocol import Request, Writer
from mcp_tools.create.spec_names import free_of_modules, usable_name
from mcp_tools.create.spec_values import TYPES, as_declared, referred, type_of
from mcp_tools.errors import CreationError
from mcp_tools.library import valid_name
from mcp_tools.prompt import load_prompt
from mcp_tools.tool import Json, Parameter, ToolSpec

LONGEST_SHOWN = 1000
"""Characters of an argument that a prompt shows."""
_IDENTIFIER = "^[a-z][a-z0-9_]{0,30}$"

SPEC_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "purpose": {"type": "string", "maxLength": 200},
        "name": {"type": "string", "pattern": "^[a-z][a-z_]{2,40}$"},
        "parameters": {
            "type": "array",
            "maxItems": 10,
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "pattern": _IDENTIFIER},
                    "type": {"enum": TYPES},
                    "value": {},
                },
                "required": ["name", "type", "value"],
                "additionalProperties": False,
            },
        },
        "returns": {"enum": TYPES},
    },
    "required": ["purpose", "name", "parameters", "returns"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A spec, and the arguments with which the tool answers the present question."""

    spec: ToolSpec
    arguments: dict[str, Json]
    missing: tuple[str, ...] = ()
    """Values of the question that no argument holds."""
    changes: tuple[str, ...] = ()
    """What a rule added to what the model wrote, or left out of it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and what of it a spec must take."""

    question: str
    texts: dict[str, str]
    """Its passages of data, as `TEXT1`, `TEXT2` …"""
    rest: str
    """The question without its passages."""
    names: list[str]
    """Names that it asks about."""

    @classmethod
    def about(cls, request: Request) -> Asked:
        """What there is in the question of a request."""
        texts = named(request.question)
        rest = request.question
        for text in texts.values():
            rest = rest.replace(text, " ", 1)
        return cls(request.question, texts, rest, names_asked_for(request.question, rest))

    @property
    def values(self) -> list[str]:
        """Everything that may become a parameter."""
        return [*self.texts, *question_values(self.rest), *self.names]

    def missing(self, arguments: dict[str, Json]) -> tuple[str, ...]:
        """The passages, values and names that no argument holds."""
        whole = {name: text for name, text in self.texts.items() if text in arguments.values()}
        whole |= {name: text for name, text in self.texts.items() if text.splitlines() in arguments.values()}
        taken = [*whole.values(), *(text.splitlines() for text in whole.values())]
        others = {name: value for name, value in arguments.items() if value not in taken}
        names = [name for name in self.names if name not in arguments.values()]
        return (*(name for name in self.texts if name not in whole), *uncovered(self.rest, others), *names)


async def ask_spec(asked: Asked, request: Request, writer: Writer, *, prompts: str, note: str = "") -> Wanted:
    """The spec that the model writes.

    Args:
        asked: What the request asks.
        request: The request.
        writer: Writes it.
        prompts: The package whose prompt is used.
        note: Added to the prompt.

    Raises:
        CreationError: The model gave no usable spec.
    """
    messages = load_prompt(prompts, "spec").render(
        question=with_names(asked.question), values=" | ".join(asked.values) or "none", complaint=note
    )
    return _understood(await writer.fill(messages, SPEC_SCHEMA, part="writer"), request, asked)


def _understood(form: Json, request: Request, asked: Asked) -> Wanted:
    """What the model wrote; values are taken as they stand.

    Raises:
        CreationError: A parameter has no name that Python can take, or two of them have the same.
    """
    parameters, arguments = [], dict[str, Json]()
    for field in form["parameters"]:
        value = referred(field["value"], field["type"], asked.texts)
        value = as_declared(field["value"], field["type"]) if value is None else value
        name = free_of_modules(field["name"])
        if not valid_name(name):
            raise CreationError(f"no parameter can be called {field['name']!r}")
        if name not in arguments:
            parameters.append(Parameter(name, type_of(value, field["type"])))
        elif arguments[name] != value:
            raise CreationError(f"the spec has two parameters {name!r}: {arguments[name]!r} and {value!r}")
        arguments[name] = value
    name = usable_name(form["name"], form["purpose"])
    spec = ToolSpec(name, form["purpose"], tuple(parameters), form["returns"], capabilities=request.capabilities)
    return Wanted(spec, arguments, asked.missing(arguments))
