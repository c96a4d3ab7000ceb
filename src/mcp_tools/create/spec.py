"""The spec of a tool: written before any code, generalised from the question."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from mcp_tools.checks.number_words import spoken_numbers
from mcp_tools.create.assemble import COMMON_MODULES
from mcp_tools.create.literals import (
    as_number,
    enumerated,
    grounded,
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
from mcp_tools.errors import CreationError
from mcp_tools.library import valid_name
from mcp_tools.prompt import load_prompt
from mcp_tools.tool import Json, Parameter, ToolSpec

_SCALARS = ["int", "float", "str", "bool"]
TYPES = [
    *_SCALARS,
    *(f"list[{scalar}]" for scalar in _SCALARS),
    "list[list[int]]",
    "list[list[float]]",
    "list[list[str]]",
    *(f"dict[str, {scalar}]" for scalar in _SCALARS),
    "dict[str, list[int]]",
    "dict[str, list[str]]",
    "list[dict[str, str]]",
]
_HIDING = frozenset({"date", "time", "timedelta", "deque", "counter", "permutations", "combinations", "product", "gcd"})
_MOST_BY_RULE = 8
_LARGEST_TRIVIAL = 2
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


async def write_spec(request: Request, writer: Writer) -> Wanted:
    """Asks for a spec, and once more when values of the question are missing from it.

    A passage of data is never copied by the model: it stands as `TEXT1`, `TEXT2` … in the form. What is missing after
    that becomes a parameter by rule.

    Raises:
        CreationError: The model gave no usable spec.
    """
    asked = _Asked.about(request)
    first = await _ask(asked, request, writer, complaint="")
    if not first.missing:
        return first
    missed = " | ".join(in_context(value, request.question) for value in first.missing)
    complaint = f"\nThese must be among the parameters too, each named after what it means: {missed}"
    second = _without_fillers(await _ask(asked, request, writer, complaint=complaint), first, asked)
    better = min(first, second, key=lambda wanted: len(wanted.missing) + invented(wanted.arguments, request.question))
    return _with_missing(better, asked)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question, and what of it a spec must take."""

    question: str
    texts: dict[str, str]
    """Its passages of data, as `TEXT1`, `TEXT2` …"""
    rest: str
    """The question without its passages."""
    names: list[str]
    """Names that it asks about."""

    @classmethod
    def about(cls, request: Request) -> _Asked:
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


def _without_fillers(second: Wanted, first: Wanted, asked: _Asked) -> Wanted:
    """The spec without texts that were neither there before nor asked for: a complaint makes small models add some."""
    known = {str(leaf) for leaf in leaves(first.arguments)} | set(first.missing) | set(asked.texts.values())
    texts = {name: value for name, value in second.arguments.items() if isinstance(value, str)}
    fillers = {name for name, text in texts.items() if not any(value in text for value in known)}
    parameters = tuple(parameter for parameter in second.spec.parameters if parameter.name not in fillers)
    arguments = {name: value for name, value in second.arguments.items() if name not in fillers}
    return Wanted(replace(second.spec, parameters=parameters), arguments, asked.missing(arguments))


async def _ask(asked: _Asked, request: Request, writer: Writer, *, complaint: str) -> Wanted:
    messages = load_prompt("mcp_tools.create", "spec").render(
        question=with_names(asked.question),
        values=" | ".join(asked.values) or "none",
        complaint=complaint,
    )
    return _understood(await writer.fill(messages, SPEC_SCHEMA, part="writer"), request, asked)


def _understood(form: Json, request: Request, asked: _Asked) -> Wanted:
    parameters, arguments = [], {}
    for field in form["parameters"]:
        value = _referred(field["value"], field["type"], asked.texts)
        if value is None:
            value = _fitting(_typed(grounded(field["value"], request.question), request.question), field["type"])
            value = enumerated(value, request.question)
        parameter = _free_of_modules("number" if _spells(field["name"], value) else field["name"])
        if parameter in arguments or not valid_name(parameter) or not stands_in(value, request.question):
            continue
        parameters.append(Parameter(parameter, _type_of(value, field["type"])))
        arguments[parameter] = value
    name, purpose = (
        _general_name(form["name"], form["purpose"], arguments),
        _general_purpose(form["purpose"], arguments),
    )
    spec = ToolSpec(name, purpose, tuple(parameters), form["returns"], capabilities=request.capabilities)
    return Wanted(spec, arguments, asked.missing(arguments))


def _referred(value: Json, type_: str, texts: dict[str, str]) -> Json:
    """The passage that a value refers to, as text or as lines; None when it refers to none."""
    name = value[0] if isinstance(value, list) and len(value) == 1 else value
    text = texts.get(name) if isinstance(name, str) else None
    return text.splitlines() if text is not None and (type_ == "list[str]" or isinstance(value, list)) else text


def _spells(name: str, value: Json) -> bool:
    """Whether a parameter is called by its value, as in `three=3`."""
    return type(value) is int and value in spoken_numbers(name.replace("_", " "))


def _with_missing(wanted: Wanted, asked: _Asked) -> Wanted:
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
        added.append(Parameter(name, _type_of(arguments[name], "str")))
    spec = replace(wanted.spec, parameters=(*wanted.spec.parameters, *added))
    return Wanted(spec, arguments, wanted.missing[_MOST_BY_RULE:])


def _plain(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


def _general_name(name: str, purpose: str, arguments: dict[str, Json]) -> str:
    """The name without digits and without the arguments' numbers in words, and never one of Python's own."""
    numbers = {value for value in arguments.values() if type(value) is int}
    words = [word for word in re.sub(r"\d+", "", name).split("_") if word and not spoken_numbers(word) & numbers]
    general = "_".join(words)
    if valid_name(general):
        return general
    general = "_".join(re.findall(r"[a-z]+", purpose.lower())[:4])
    if not valid_name(general):
        raise CreationError(f"the spec has no usable name: {name!r}")
    return general


def _general_purpose(purpose: str, arguments: dict[str, Json]) -> str:
    """The purpose with the names of the parameters where it holds their numbers: "the last `count` numbers"."""
    for name, value in arguments.items():
        if isinstance(value, int | float) and abs(value) > _LARGEST_TRIVIAL:
            purpose = re.sub(rf"(?<![\w.,]){re.escape(str(value))}(?!\w|[.,]\d)", f"`{name}`", purpose)
    return purpose


def _free_of_modules(name: str) -> str:
    """A parameter's name that hides no builtin, module or class that code for it is likely to use."""
    if name in _HIDING or name in COMMON_MODULES or not valid_name(name):
        return f"given_{name}"
    return name


def _typed(value: Json, question: str) -> Json:
    """Numbers, points and lists that the model wrote as text become what they are.

    Text that the question quotes stays text, and so do digits that start with 0.
    """
    if isinstance(value, list):
        return [_typed(inner, question) for inner in value]
    if isinstance(value, str) and value[:1] in "([{" and value[-1:] in ")]}":
        try:
            return json.loads(json.dumps(ast.literal_eval(value)))
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            return value
    if isinstance(value, str) and re.fullmatch(r"[1-9]\d*", value) and not re.search(rf"['\"`]{value}['\"`]", question):
        return int(value)
    return value


def _fitting(value: Json, type_: str) -> Json:
    """The value in the declared scalar type, where nothing is lost by it."""
    if type_ == "float" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type_ == "int" and isinstance(value, float) and value.is_integer():
        return int(value)
    if type_ in {"int", "float"} and isinstance(value, str):
        try:
            number = float(value.replace(",", "").rstrip("%"))
        except ValueError:
            return value
        return int(number) if type_ == "int" and number.is_integer() else number
    return value


def _type_of(value: Json, declared: str) -> str:
    """The declared type, or the value's own where the two disagree."""
    kinds = {bool: "bool", int: "int", float: "float", str: "str"}
    if declared in _SCALARS:
        own = kinds.get(type(value))
        return own if own and (own, declared) != ("int", "float") else _container(value, declared)
    return _container(value, declared)


def _container(value: Json, declared: str) -> str:
    if isinstance(value, dict) and not declared.startswith("dict"):
        return f"dict[str, {_inner(list(value.values()))}]"
    if isinstance(value, list) and not declared.startswith("list"):
        return f"list[{_inner(value)}]"
    if isinstance(value, list) and declared.startswith("list["):
        return f"list[{_inner(value)}]" if value else declared
    if isinstance(value, dict) and value:
        return f"dict[str, {_inner(list(value.values()))}]"
    return declared


def _inner(values: list[Json]) -> str:
    kinds = {type(value) for value in values}
    if kinds <= {int}:
        return "int"
    if kinds <= {int, float}:
        return "float"
    if kinds == {str}:
        return "str"
    if kinds == {bool}:
        return "bool"
    if kinds == {list}:
        return f"list[{_inner([inner for value in values for inner in value])}]"
    if kinds == {dict}:
        return f"dict[str, {_inner([inner for value in values for inner in value.values()])}]"
    return "Any"


def call_text(name: str, arguments: dict[str, Json], *, longest: int | None = None) -> str:
    """A call as Python writes it, `name(a=1, b='x')`; each argument cut after `longest` characters."""
    return f"{name}({', '.join(f'{key}={_cut(repr(value), longest)}' for key, value in arguments.items())})"


def _cut(text: str, longest: int | None) -> str:
    return text if longest is None or len(text) <= longest else f"{text[:longest]}…"
