"""Stores each message and each long value of a journal once: a call's record never repeats the history."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from agent.store.redact import Redactor
from mcp_tools.tool import Json

LONG = 200
"""Strings longer than this are stored once and referred to."""
WORTH_SHARING = 500
"""Characters in common with the text before it from which only the rest is stored."""


def canonical(value: Json) -> str:
    """The one JSON text of a value: sorted keys, no spaces."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def digest(text: str) -> str:
    """96 bits of SHA-256, in hexadecimal."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]


class Blobs:
    """Values by their hash.

    A request is a JSON object; lists in it (messages, tools) are referred to item by item, objects and long
    strings as a whole. Messages seen before cost a dictionary look-up, whatever their length: Python keeps
    the hash of a string with the string.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._values: dict[str, Json] = {}
        self._seen: dict[Any, str] = {}
        self._last_text: dict[str, str] = {}
        """Per role, the last message whose text may begin the next one's."""

    def put(self, request: dict[str, Json]) -> tuple[dict[str, Json], list[dict[str, Json]]]:
        """The request with references, and the lines that must be written before it can be read again."""
        fresh: list[dict[str, Json]] = []
        return {name: self._refer(value, fresh) for name, value in request.items()}, fresh

    def expand(self, request: dict[str, Json]) -> dict[str, Json]:
        """The request that `put` was given, without its keys."""
        return {name: self._resolve(value) for name, value in request.items()}

    def load(self, line: dict[str, Json]) -> None:
        """Learns one line that `put` gave."""
        name, value = line["blob"], line["value"]
        if "base" in line:
            value = {
                **value,
                "content": self._values[line["base"]]["content"][: line["keep"]] + value["content"],
            }
        self._values[name] = value

    def _refer(self, value: Json, fresh: list[dict[str, Json]]) -> Json:
        if isinstance(value, list | tuple):
            return {"$list": [self._store(item, fresh) for item in value]}
        if isinstance(value, dict) or (isinstance(value, str) and len(value) > LONG):
            return {"$": self._store(value, fresh)}
        return value

    def _store(self, value: Json, fresh: list[dict[str, Json]]) -> str:
        shortcut = _shortcut(value)
        name = self._seen.get(shortcut)
        if name is None:
            name = self._seen[shortcut] = digest(canonical(value))
        if name not in self._values:
            clean = self._redactor.json(value)
            fresh.append(self._line(name, clean))
            self._values[name] = dict(clean) if isinstance(clean, dict) else clean
        return name

    def _line(self, name: str, value: Json) -> dict[str, Json]:
        role = value.get("role") if isinstance(value, dict) else None
        text = value.get("content") if role else None
        if not isinstance(role, str) or not isinstance(text, str) or len(text) < WORTH_SHARING:
            return {"blob": name, "value": value}
        base, self._last_text[role] = self._last_text.get(role), name
        keep = _common_prefix(self._values[base]["content"], text) if base else 0
        if keep < WORTH_SHARING:
            return {"blob": name, "value": value}
        return {"blob": name, "base": base, "keep": keep, "value": {**value, "content": text[keep:]}}

    def _resolve(self, value: Json) -> Json:
        if isinstance(value, dict) and "$list" in value:
            return [self._values[name] for name in value["$list"]]
        if isinstance(value, dict) and "$" in value:
            return self._values[value["$"]]
        return value


def _shortcut(value: Json) -> Any:
    """Something hashable that is equal for equal values only: 1, 1.0 and True stay apart."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        if all(type(item) is str for item in value.values()):
            return ("{", *value.items())
        return ("{", *((name, _shortcut(item)) for name, item in value.items()))
    if isinstance(value, list | tuple):
        return ("[", *map(_shortcut, value))
    return (type(value), value)


def _common_prefix(one: str, other: str) -> int:
    """How many characters both begin with, by bisection: comparing slices is far faster than characters."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
