"""The spec of a small model, mended by rule: what the question does not hold is left out, what is missing is added."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from decimal import Decimal

from mcp_tools.create.literals import as_number, in_context, invented, leaves, stands_in
from mcp_tools.create.protocol import Request, Writer
from mcp_tools.create.spec import Asked, Wanted, ask_spec
from mcp_tools.create.spec_values import type_of
from mcp_tools.tool import Parameter

_MOST_BY_RULE = 8
_ROLES = {"from": "start", "to": "end", "in": "place", "for": "subject", "by": "actor"}
"""Names of parameters for what stands after these words."""


async def write_spec(request: Request, writer: Writer, *, prompts: str) -> Wanted:
    """Asks for a spec, and once more when values of the question are missing from it.

    Raises:
        CreationError: The model gave no usable spec.
    """
    asked = Asked.about(request)
    first = await _ask(asked, request, writer, prompts)
    if not first.missing:
        return first
    missed = " | ".join(in_context(value, request.question) for value in first.missing)
    note = f"\nThese must be among the parameters too, each named after what it means: {missed}"
    second = _without_fillers(await _ask(asked, request, writer, prompts, note), first, asked)
    better = min(first, second, key=lambda wanted: len(wanted.missing) + invented(wanted.arguments, request.question))
    return _with_missing(better, asked)


async def _ask(asked: Asked, request: Request, writer: Writer, prompts: str, note: str = "") -> Wanted:
    wanted = await ask_spec(asked, request, writer, prompts=prompts, note=note)
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
