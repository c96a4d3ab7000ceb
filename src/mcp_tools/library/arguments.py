"""Converts arguments to the types of a tool's schema, and validates arguments and results."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_tools.errors import ArgumentsError
from mcp_tools.tool import Json, Tool

if TYPE_CHECKING:
    from jsonschema import ValidationError

_KINDS: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
_OF_TYPE: dict[type, tuple[str, ...]] = {
    type(None): ("null",), bool: ("boolean",), int: ("integer", "number"), float: ("number",), str: ("string",),
    list: ("array",), dict: ("object",),
}  # fmt: skip
_MAX_DEPTH = 50
_LARGE_CHARS = 20_000
"""Length of JSON above which a value is validated in a thread, because other calls would be blocked."""

T = TypeVar("T")


async def aside(value: Json, check: Callable[..., T], *given: Any) -> T:
    """Run a check on a value. Large values are checked in a thread, so that other calls can continue."""
    if len(json.dumps(value, default=str)) <= _LARGE_CHARS:
        return check(*given)
    return await asyncio.to_thread(check, *given)


def surely_fits(value: Any, schema: Any, depth: int = 0) -> bool:
    """Return True if a value fits a schema. False may also mean that the schema uses an unsupported keyword.

    For most calls, this avoids importing jsonschema, which takes longer than the call.
    """
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return False
    return all(_surely_keeps(keyword, wanted, value, schema, depth + 1) for keyword, wanted in schema.items())


def _surely_keeps(keyword: str, wanted: Any, value: Any, schema: dict[str, Any], depth: int) -> bool:
    match keyword, wanted:
        case (("title" | "description" | "default" | "examples"), _):
            return True
        case "type", str() | list():
            kinds = [wanted] if isinstance(wanted, str) else wanted
            return any(isinstance(kind, str) and kind in _KINDS and _KINDS[kind](value) for kind in kinds)
        case "properties", dict() if isinstance(value, dict):
            return all(surely_fits(value[name], inner, depth) for name, inner in wanted.items() if name in value)
        case "required", list() if isinstance(value, dict):
            return all(isinstance(name, str) and name in value for name in wanted)
        case "additionalProperties", _ if isinstance(value, dict) and "patternProperties" not in schema:
            if not isinstance(properties := schema.get("properties", {}), dict):
                return False
            others = [inner for name, inner in value.items() if name not in properties]
            return wanted is True or all(surely_fits(inner, wanted, depth) for inner in others)
        case "items", _ if isinstance(value, list):
            return all(surely_fits(item, wanted, depth) for item in value)
        case "anyOf", list():
            return any(surely_fits(value, branch, depth) for branch in wanted)
        case "enum", list() if isinstance(value, str):
            return value in wanted
        case "const", str():
            return bool(value == wanted)
        case "maxLength", int() if isinstance(value, str):
            return type(wanted) is int and len(value) <= wanted
    return False


_EXACT = 2**53
"""Limit below which floats represent every integer exactly."""


def read_arguments(name: str, schema: dict[str, Json], arguments: dict[str, Json]) -> dict[str, Json]:
    """Correct harmless deviations from a tool's schema. Other errors are left for `validate_arguments`.

    An optional argument that is null is dropped. A string is parsed as JSON if the schema does not allow strings and
    the parsed value fits. A float without a fractional part (`2.0`) becomes an integer if the schema requires one.

    Raises:
        ArgumentsError: An integer was sent as a float that is too large to be exact.

    Example:
        >>> schema = {"properties": {"n": {"type": "integer"}}, "required": ["n"]}
        >>> read_arguments("double", schema, {"n": "21"})
        {'n': 21}
    """
    try:
        read = _read(arguments, {**schema, "type": "object"}, schema, 0)
    except ValueError as error:
        raise ArgumentsError(f"the arguments do not fit {name!r}:\n- {error}", remedy=_usage(name, schema)) from None
    return read if isinstance(read, dict) else arguments


def _read(value: Json, schema: Json, root: dict[str, Json], depth: int) -> Json:
    kinds = kinds_of(schema, root)
    if depth > _MAX_DEPTH or not isinstance(schema, dict):
        return value
    if isinstance(value, str) and not kinds & {"string"}:
        try:
            given = json.loads(value, parse_constant=_no_json, object_pairs_hook=_without_twins)
        except (ValueError, RecursionError):
            return value
        given = _read(given, schema, root, depth + 1)
        return value if isinstance(given, str) or _misfits(_with_definitions(schema, root), given) else given
    if isinstance(value, float) and value.is_integer() and "integer" in kinds and "number" not in kinds:
        if abs(value) >= _EXACT:
            raise ValueError(f"{value!r} is not exact: write the whole number without a decimal point or exponent")
        return int(value)
    if isinstance(value, dict):
        inner = _branch(schema, root, "object")
        own, others, required = (
            _dict(inner.get("properties")),
            inner.get("additionalProperties"),
            inner.get("required", []),
        )
        absent = {
            key for key, one in value.items() if one is None and "null" not in kinds_of(own.get(key, others), root)
        }
        return {
            key: _read(member, own.get(key, others), root, depth + 1)
            for key, member in value.items()
            if key not in absent or key in required or (key not in own and others is not False)
        }
    if isinstance(value, list):
        items = _branch(schema, root, "array").get("items")
        return [_read(item, items, root, depth + 1) for item in value]
    return value


def _no_json(constant: str) -> Json:
    raise ValueError(f"{constant} is not valid JSON")


def _without_twins(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _dict(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _with_definitions(schema: dict[str, Json], root: dict[str, Json]) -> dict[str, Json]:
    return {key: root[key] for key in ("$defs", "definitions") if key in root} | schema


def alternatives(
    schema: Json, root: dict[str, Json], depth: int = 0, followed: set[str] | None = None
) -> list[dict[str, Json]]:
    """Return the alternatives in a schema: the branches of `anyOf` and `oneOf`, with references resolved."""
    if not isinstance(schema, dict) or depth > _MAX_DEPTH:
        return [] if schema is False else [{}]
    followed = set() if followed is None else followed
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        if reference in followed:
            return []
        followed.add(reference)
        target: Json = root
        for part in reference[2:].split("/"):
            target = _dict(target).get(part.replace("~1", "/").replace("~0", "~"), {})
        return alternatives(target, root, depth + 1, followed)
    branches = schema.get("anyOf") or schema.get("oneOf")
    if "type" in schema or not isinstance(branches, list):
        return [schema]
    return [one for branch in branches for one in alternatives(branch, root, depth + 1, followed)]


def kinds_of(schema: Json, root: dict[str, Json]) -> set[str]:
    """Return the JSON types that a schema allows. A schema that names no type allows all of them."""
    return {kind for one in alternatives(schema, root) for kind in _own_kinds(one)}


def _own_kinds(schema: dict[str, Json]) -> set[str]:
    kinds = schema.get("type")
    if isinstance(kinds, str | list):
        return {kinds} if isinstance(kinds, str) else {kind for kind in kinds if isinstance(kind, str)}
    values = schema.get("enum")
    if not isinstance(values, list):
        values = [schema["const"]] if "const" in schema else []
    return {kind for found in {*map(type, values)} for kind in _OF_TYPE.get(found, ())} or set(_KINDS)


def _branch(schema: Json, root: dict[str, Json], kind: str) -> dict[str, Json]:
    """Return the only alternative that allows values of a type; empty if there are several."""
    found = [one for one in alternatives(schema, root) if kind in _own_kinds(one)]
    return found[0] if len(found) == 1 else {}


_MAX_SHOWN = 8
_MAX_MESSAGE_CHARS = 200


def validate_arguments(name: str, schema: dict[str, Json], arguments: dict[str, Json]) -> None:
    """Check arguments against a tool's inputSchema.

    Raises:
        ArgumentsError: The arguments do not fit. The message lists each error with its path, the value and the
            expected type.
    """
    if not isinstance(arguments, dict):
        raise ArgumentsError(f"the arguments of {name!r} must be one JSON object", remedy=_usage(name, schema))
    misfits = _misfits(schema, arguments)
    if misfits:
        listed = "\n".join(f"- {misfit}" for misfit in misfits)
        raise ArgumentsError(f"the arguments do not fit {name!r}:\n{listed}", remedy=_usage(name, schema))


def validate_result(tool: Tool, value: Json) -> list[str]:
    """Return the errors in a result according to the tool's outputSchema. The list is empty if the result is valid."""
    return _misfits(tool.output_schema, {"result": value})


def _usage(name: str, schema: dict[str, Json]) -> str:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return f"{name} takes any JSON object"
    listed = schema.get("required", [])
    required = listed if isinstance(listed, list) else []
    parts = [f"{key}{'' if key in required else '?'}: {_expected(inner)}" for key, inner in properties.items()]
    return f"{name} takes {{{', '.join(parts)}}}"


def _expected(schema: Json) -> str:
    """Summarize a schema, such as "integer", "array of string" or "one of 1, 2"."""
    if not isinstance(schema, dict):
        return "anything"
    if isinstance(schema.get("enum"), list):
        return "one of " + ", ".join(map(repr, schema["enum"]))
    if isinstance(schema.get("anyOf"), list):
        return " or ".join(map(_expected, schema["anyOf"]))
    kind = schema.get("type", "anything")
    if isinstance(kind, list):
        return " or ".join(map(str, kind))
    if kind == "array" and isinstance(schema.get("items"), dict):
        return f"array of {_expected(schema['items'])}"
    return str(kind)


def _misfits(schema: dict[str, Json], value: Json) -> list[str]:
    if surely_fits(value, schema):
        return []
    from jsonschema.exceptions import SchemaError
    from referencing.exceptions import Unresolvable

    from mcp_tools.library.validator import MAX_MISFITS, TooMuchWorkError, misfits_in

    try:
        errors = misfits_in(schema, value)
    except RecursionError:
        return ["the arguments are nested too deeply"]
    except TooMuchWorkError:
        return ["the tool's own schema cannot be used: it refers to itself too often"]
    except (SchemaError, Unresolvable) as error:
        return [f"the tool's own schema cannot be used: {str(error).partition(chr(10))[0][:_MAX_MESSAGE_CHARS]}"]
    errors.sort(key=lambda error: [str(part) for part in error.absolute_path])
    messages = list(dict.fromkeys(map(_described, errors)))
    least = "at least " if len(errors) == MAX_MISFITS else ""
    more = [f"and {least}{len(messages) - _MAX_SHOWN} more"] if len(messages) > _MAX_SHOWN else []
    return messages[:_MAX_SHOWN] + more


_IN_WORDS = {
    "integer": "a whole number", "number": "a number", "string": "a string", "boolean": "true or false",
    "array": "a list", "object": "an object",
}  # fmt: skip


def _described(error: ValidationError) -> str:
    """Return an error with its path. The middle of a long message is cut out."""
    place = f"{error.json_path.removeprefix('$.')}: " if error.absolute_path else ""
    text, half = _in_words(error), _MAX_MESSAGE_CHARS // 2
    return f"{place}{text}" if len(text) <= _MAX_MESSAGE_CHARS else f"{place}{text[:half]} … {text[-half:]}"


def _in_words(error: ValidationError) -> str:
    """Return an error as a plain sentence. For a rare keyword, it is the message of jsonschema."""
    wanted: Any = error.validator_value
    schema: Any = error.schema
    instance: Any = error.instance
    member = "key" if error.absolute_path else "parameter"
    match error.validator:
        case "type":
            kinds = [wanted] if isinstance(wanted, str) else wanted
            return f"{instance!r} is not {' or '.join(_IN_WORDS.get(kind, kind) for kind in kinds)}"
        case "enum":
            return f"{instance!r} is not one of {', '.join(map(repr, wanted))}"
        case "anyOf":
            return f"{instance!r} is not {_expected(schema)}"
        case "required":
            return f"the {member} {error.message.removesuffix(' is a required property')} is missing"
        case "additionalProperties" if wanted is False and isinstance(schema, dict):
            unknown = [repr(name) for name in instance if name not in schema.get("properties", {})]
            return f"there is no {member} {', '.join(unknown)}"
    return error.message
