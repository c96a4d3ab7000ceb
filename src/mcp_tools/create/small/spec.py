"""The spec of a tool: written before any code, generalised from the question, and mended by rule."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from mcp_tools.create.literals import (
    as_number,
    in_context,
    invented,
    leaves,
    names_asked_for,
    question_values,
    stands_in,
    uncovered,
)
from mcp_tools.create.passages import named, with_names
from mcp_tools.create.protocol import Request, Writer
from mcp_tools.create.small.spec_names import free_of_modules, usable_name
from mcp_tools.create.small.spec_values import TYPES, as_declared, referred, type_of
from mcp_tools.errors import CreationError
from mcp_tools.library import valid_name
from mcp_tools.prompt import load_prompt
from mcp_tools.tool import Json, Parameter, ToolSpec

_MOST_BY_RULE = 8
_ROLES = {"from": "start", "to": "end", "in": "place", "for": "subject", "by": "actor"}
"""Names of parameters for what stands after these words."""
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


async def write_spec(request: Request, writer: Writer) -> Wanted:
    """Asks for a spec, and once more when values of the question are missing from it.

    Raises:
        CreationError: The model gave no usable spec.
    """
    asked = Asked.about(request)
    first = await _ask(asked, request, writer)
    if not first.missing:
        return first
    missed = " | ".join(in_context(value, request.question) for value in first.missing)
    note = f"\nThese must be among the parameters too, each named after what it means: {missed}"
    second = _without_fillers(await _ask(asked, request, writer, note), first, asked)
    better = min(first, second, key=lambda wanted: len(wanted.missing) + invented(wanted.arguments, request.question))
    return _with_missing(better, asked)


async def _ask(asked: Asked, request: Request, writer: Writer, note: str = "") -> Wanted:
    messages = load_prompt("mcp_tools.create.small", "spec").render(
        question=with_names(asked.question), values=" | ".join(asked.values) or "none", complaint=note
    )
    wanted = _understood(await writer.fill(messages, SPEC_SCHEMA, part="writer"), request, asked)
    unknown = [name for name, value in wanted.arguments.items() if not stands_in(value, request.question)]
    return _without(wanted, unknown, asked)


def _without_fillers(second: Wanted, first: Wanted, asked: Asked) -> Wanted:
    """The spec without texts that were neither there before nor asked for: a complaint makes small models add some."""
    known = {str(leaf) for leaf in leaves(first.arguments)} | set(first.missing) | set(asked.texts.values())
    texts = {name: value for name, value in second.arguments.items() if isinstance(value, str)}
    fillers = {name for name, text in texts.items() if not any(value in text for value in known)}
    return _without(second, fillers, asked)


def _without(wanted: Wanted, names: Collection[str], asked: Asked) -> Wanted:
    """The spec without some parameters, which is said."""
    if not names:
        return wanted
    parameters = tuple(parameter for parameter in wanted.spec.parameters if parameter.name not in names)
    arguments = {name: value for name, value in wanted.arguments.items() if name not in names}
    changes = [f"left out of the spec: {name} = {wanted.arguments[name]!r}, which nobody asked for" for name in names]
    return Wanted(
        replace(wanted.spec, parameters=parameters),
        arguments,
        asked.missing(arguments),
        (*wanted.changes, *changes),
    )


def _with_missing(wanted: Wanted, asked: Asked) -> Wanted:
    """The spec with a parameter more for each value that it lacks, named after its kind or its role."""
    arguments = dict(wanted.arguments)
    added = []
    for value in wanted.missing[:_MOST_BY_RULE]:
        number = as_number(value)
        role = re.search(rf"\b({'|'.join(_ROLES)}) {re.escape(value)}(?!\w)", asked.rest)
        kind = "text" if number is None else "number"
        names = [_ROLES[role[1]]] if role and number is None else []
        name = next(name for name in (*names, *(f"{kind}_{n}" for n in range(1, 99))) if name not in arguments)
        arguments[name] = asked.texts.get(value, value) if number is None else _plain(number)
        added.append(Parameter(name, type_of(arguments[name], "str")))
    spec = replace(wanted.spec, parameters=(*wanted.spec.parameters, *added))
    changes = [f"added to the spec: {parameter.name} = {arguments[parameter.name]!r}" for parameter in added]
    return Wanted(spec, arguments, wanted.missing[_MOST_BY_RULE:], (*wanted.changes, *changes))


def _plain(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


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
