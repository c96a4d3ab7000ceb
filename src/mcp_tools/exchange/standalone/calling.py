"""Calls a tool with JSON arguments. It runs in this process, so nothing isolates it."""

from __future__ import annotations

import importlib.machinery
import json
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

_PLAIN = (int, float, str, bool, list, dict, object, type(None), Any)


class Sources:
    """Imports tools from their sources, by name."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self.sources = sources
        sys.meta_path.insert(0, self)

    def find_spec(self, name: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        """Find a tool, unless the standard library has a module of that name."""
        if name not in self.sources or name in sys.stdlib_module_names:
            return None
        return importlib.machinery.ModuleSpec(name, self, origin=f"{name}.py")  # type: ignore[arg-type]

    def create_module(self, _: object) -> None:
        """Let Python create the module."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the source of a tool."""
        self._run(module.__name__, module)

    def function(self, name: str) -> Callable[..., Any]:
        """Return the function of a tool."""
        module = types.ModuleType(f"tool {name}")
        sys.modules[module.__name__] = module  # dataclasses look up their module
        self._run(name, module)
        found: Callable[..., Any] = getattr(module, name)
        return found

    def _run(self, name: str, module: types.ModuleType) -> None:
        exec(compile(self.sources[name], f"{name}.py", "exec", dont_inherit=True), module.__dict__)  # noqa: S102


def call(function: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    """Call a function, and return its result as a JSON value. Pydantic converts dates and other types."""
    hints = typing.get_type_hints(function, include_extras=True)
    given = {name: _converted(value, hints.get(name, Any)) for name, value in arguments.items()}
    return json.loads(json.dumps(function(**given), default=_as_json, allow_nan=False))


def _converted(value: Any, hint: Any) -> Any:
    if _is_plain(hint):
        return value
    from pydantic import TypeAdapter

    return TypeAdapter(hint).validate_python(value)


def _is_plain(hint: Any) -> bool:
    origin = typing.get_origin(hint)
    if origin is None:
        return hint in _PLAIN or typing.is_typeddict(hint)
    inner = typing.get_args(hint)
    if origin is typing.Annotated:
        return _is_plain(inner[0])
    return origin is typing.Literal or (
        origin in (list, dict, typing.Union, types.UnionType) and all(map(_is_plain, inner))
    )


def _as_json(value: Any) -> Any:
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    if hasattr(value, "to_dict"):  # pandas
        return value.to_dict("records") if hasattr(value, "columns") else value.tolist()
    if hasattr(value, "tolist"):  # numpy
        return value.tolist()
    if hasattr(value, "total_seconds"):
        return value.total_seconds()
    if type(value).__name__ in {"Decimal", "Fraction"}:  # a float if that is exact
        number = float(value)
        return number if type(value)(str(number)) == value else str(value)
    from pydantic_core import to_jsonable_python

    return to_jsonable_python(value, fallback=str)
