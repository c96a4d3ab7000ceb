"""What speaks against serving a definition: every string of it is looked at, keys, enums and defaults included."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from mcp_tools.definition.characters import hidden_characters
from mcp_tools.definition.phrases import suspicious_phrases
from mcp_tools.definition.rules import Flag, flag
from mcp_tools.text import one_line
from mcp_tools.tool import Json

_NAME = re.compile(r"[A-Za-z0-9._-]{1,128}")
_LONGEST_KEY = 128
_LONGEST_TITLE = 200
_LONGEST_TEXT = 8_000
_LONGEST_ALTOGETHER = 100_000
_DEEPEST = 60
_MOST_FLAGS = 100
_WIDTH = 80
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")


class _Text(NamedTuple):
    """One string of a definition."""

    text: str
    where: str
    is_key: bool


def lint(definition: dict[str, Json], *, warnings: bool = True) -> list[Flag]:
    """What speaks against a definition, errors first; at most a hundred flags.

    Args:
        definition: An MCP tool object; of another server's too.
        warnings: Whether suspicious phrases are looked for, which takes most of the time.
    """
    flags: list[Flag] = [*_shape(definition), *_schemas(definition), *_texts(definition, warnings=warnings)]
    unique = list(dict.fromkeys(flags))
    return sorted(unique, key=lambda found: found.severity)[:_MOST_FLAGS]


def _shape(definition: dict[str, Json]) -> Iterator[Flag]:
    name = definition.get("name")
    if not isinstance(name, str):
        yield flag("shape", "name", "it is no text")
    elif not _NAME.fullmatch(name):
        yield flag("name", "name", f"{_shown(name)} cannot name a tool; use 1 to 128 of A-Z a-z 0-9 . _ -")
    for key, longest in (("title", _LONGEST_TITLE), ("description", _LONGEST_TEXT)):
        text = definition.get(key)
        if text is not None and not isinstance(text, str):
            yield flag("shape", key, "it is no text")
        elif text is not None and len(text) > longest:
            yield flag("length", key, f"it has {len(text):,} characters; {longest:,} are allowed")
    if not isinstance(definition.get("annotations") or {}, dict):
        yield flag("shape", "annotations", "they are no object")


def _schemas(definition: dict[str, Json]) -> Iterator[Flag]:
    for key in ("inputSchema", "outputSchema"):
        schema = definition.get(key)
        if schema is None and key == "outputSchema":
            continue
        if not isinstance(schema, dict) or schema.get("type") != "object":
            yield flag("schema-root", key, 'its root must say "type": "object"')
    given = definition.get("inputSchema")
    properties = given.get("properties") if isinstance(given, dict) else None
    for name in properties if isinstance(properties, dict) else ():
        if isinstance(name, str) and not name.isascii():
            where = f"inputSchema.properties.{_shown(name)} (key)"
            yield flag("parameter-name", where, f"{name!a} has characters beyond ASCII")


def _texts(definition: dict[str, Json], *, warnings: bool) -> Iterator[Flag]:
    total = 0
    for found in _walk(definition):
        if isinstance(found, Flag):
            yield found
            continue
        total += len(found.text)
        yield from _errors(found)
        if warnings:
            yield from _warnings(found)
        if total > _LONGEST_ALTOGETHER:
            yield flag("length", "definition", f"all texts together exceed {_LONGEST_ALTOGETHER:,} characters")
            return


def _errors(found: _Text) -> Iterator[Flag]:
    text, where, is_key = found
    longest = _LONGEST_KEY if is_key else _LONGEST_TEXT
    if len(text) > longest:
        yield flag("length", where, f"it has {len(text):,} characters; {longest:,} are allowed")
        text = text[:longest]
    one_liner = is_key or where in {"name", "title"}
    for rule, character in dict.fromkeys(hidden_characters(text, lines=not one_liner)):
        yield flag(rule, where, f"it holds {character}")
    if where.rpartition(".")[2] in _REFERENCES and not is_key and not text.startswith("#"):
        yield flag("reference", where, f"{_shown(text)} leads out of the schema")


def _warnings(found: _Text) -> Iterator[Flag]:
    text = found.text[:_LONGEST_TEXT]
    for rule, phrase in suspicious_phrases(text.replace("_", " ") if found.is_key else text):
        yield flag(rule, found.where, f"it says {_shown(phrase)}")


def _walk(definition: Json) -> Iterator[_Text | Flag]:
    """Every string, keys too, without recursion: a hostile nesting must not overflow the stack."""
    waiting: list[tuple[Json, str, int]] = [(definition, "", 0)]
    while waiting:
        value, where, depth = waiting.pop()
        if isinstance(value, str):
            yield _Text(value, where, False)
        elif isinstance(value, dict | list) and depth >= _DEEPEST:
            yield flag("depth", where[:200], f"it is nested deeper than {_DEEPEST} levels")
        elif isinstance(value, dict):
            for key, inner in value.items():
                if not isinstance(key, str):
                    yield flag("shape", where, f"the key {key!r} is no text")
                    continue
                place = f"{where}.{_shown(key)}" if where else _shown(key)
                yield _Text(key, f"{place} (key)", True)
                waiting.append((inner, place, depth + 1))
        elif isinstance(value, list):
            waiting.extend((inner, f"{where}[{index}]", depth + 1) for index, inner in enumerate(value))
        elif isinstance(value, float) and not math.isfinite(value):
            yield flag("shape", where, f"{value} is no JSON")
        elif value is not None and not isinstance(value, bool | int | float):
            yield flag("shape", where, f"a {type(value).__name__} is no JSON")


def _shown(text: str) -> str:
    is_plain = len(text) <= _WIDTH and text.isascii() and text.isprintable()
    return text if is_plain else one_line(text, _WIDTH)
