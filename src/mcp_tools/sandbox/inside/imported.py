"""Import library tools into programs, check their arguments, and count their calls.

The check and the counter are compiled into a copy of the tool's function, so that calls remain nearly as fast. A
tool's recursive calls to itself are not counted.
"""

from __future__ import annotations

import functools
import importlib.machinery
import types
import typing
from collections.abc import Callable, Mapping
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

MAX_COUNTED_TOOLS = 50
_ARRAYS = (list, tuple, set, frozenset)
_JSON = (bool, str, int, float, type(None), dict, *_ARRAYS)
"""Types that are checked. Values of other types are passed to the tool without a check."""

Kinds = tuple[type, ...]


class SourceImporter:
    """Imports modules from the source code that came with a job."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._sources = sources
        self._counts: dict[str, tuple[CellType, CellType]] = {}

    def find_spec(self, fullname: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        """Return a module spec if the job has a module with this name."""
        if fullname not in self._sources:
            return None
        # not a subclass of `importlib.abc.Loader`, which is slow to import
        return importlib.machinery.ModuleSpec(fullname, self, origin=f"{fullname}.py")  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Create a module in which importers see the counted function, but the module's own code sees the original.

        The slot holds the counted function, and the module's `__dict__` the original.
        """
        kind: type[ModuleType] = type("ToolModule", (ModuleType,), {"__slots__": (spec.name,)})
        return kind(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Execute the source, and give importers the function with the check and the counter."""
        name, own = module.__name__, module.__dict__
        source = self._sources[name]
        exec(compile(source, f"{name}.py", "exec", dont_inherit=True), own)  # noqa: S102
        if name in own:
            function = own[name]
            if callable(function) and not isinstance(function, type):
                calls, failed = self._counts[name] = CellType(0), CellType(0)
                function = _counted(function, name, source, calls, failed)
            setattr(module, name, function)

    def get_source(self, fullname: str) -> str:
        """Return the source code, for `inspect` and tracebacks."""
        return self._sources[fullname]

    def take_counts(self) -> dict[str, list[int]]:
        """Return the numbers of calls and failed calls per tool, most called first, and reset the counters."""
        found = {}
        for name, (calls, failed) in self._counts.items():
            if calls.cell_contents:
                found[name] = [calls.cell_contents, min(failed.cell_contents, calls.cell_contents)]
                calls.cell_contents = failed.cell_contents = 0
        return dict(sorted(found.items(), key=lambda item: -item[1][0])[:MAX_COUNTED_TOOLS])


def _counted(
    function: Callable[..., Any], name: str, source: str, calls: CellType, failed: CellType
) -> Callable[..., Any]:
    """Return the function with an argument check and with counters, which are stored in the cells."""
    kinds, values = _wanted(function)
    annotated = [*getattr(function, "__annotations__", ())]

    def check(given: dict[str, Any]) -> None:
        for parameter, value in given.items():
            if parameter in kinds and not _fits(value, kinds[parameter]):
                wanted = " or ".join(dict.fromkeys(_name(kind) for kind in kinds[parameter]))
                raise TypeError(f"{name}(): {parameter} must be {wanted}, not {_name(type(value))}")
            if parameter in values and value not in values[parameter]:
                listed = ", ".join(map(repr, values[parameter]))
                raise ValueError(f"{name}(): {parameter} must be one of {listed}, not {value!r:.100}")

    if type(function) is FunctionType:
        cells = {"__alita_calls": calls, "__alita_failed": failed, "__alita_check": CellType(check)}
        if (made := _rewritten(function, name, source, {**kinds, **values}, cells)) is not None:
            return functools.update_wrapper(made, function)

    @functools.wraps(function)
    def call(*positional: Any, **named: Any) -> Any:
        check(dict(zip(annotated, positional, strict=False)) | named)
        calls.cell_contents += 1
        try:
            return function(*positional, **named)
        except Exception:
            failed.cell_contents += 1
            raise

    return call


def _wanted(function: Callable[..., Any]) -> tuple[dict[str, Kinds], dict[str, tuple[Any, ...]]]:
    """Return the types that each parameter accepts, and the values that `Literal` parameters accept."""
    try:
        hints = typing.get_type_hints(function)
    except Exception:  # noqa: BLE001 - annotations may be any code; without them nothing is checked
        return {}, {}
    hints.pop("return", None)
    kinds = {name: found for name, hint in hints.items() if (found := _kinds(hint))}
    values = {name: hint.__args__ for name, hint in hints.items() if typing.get_origin(hint) is typing.Literal}
    if type(function) is FunctionType:
        for name, value in _defaults(function).items():  # accept a default even if it does not match its annotation
            if name in kinds and type(value) in _JSON:
                kinds[name] = tuple(dict.fromkeys((*kinds[name], type(value))))
            if name in values and value not in values[name]:
                values[name] = (*values[name], value)
    return kinds, values


def _defaults(function: FunctionType) -> dict[str, Any]:
    code, values = function.__code__, function.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    return {**dict(zip(names[len(names) - len(values) :], values, strict=True)), **(function.__kwdefaults__ or {})}


def _rewritten(
    function: FunctionType, name: str, source: str, wanted: Mapping[str, tuple[Any, ...]], cells: dict[str, CellType]
) -> FunctionType | None:
    """Return the function with check and counter compiled in, or None unless it is a plain top-level function."""
    import ast  # imported here, because it is slow to import and most jobs with modules call no tool

    tree = ast.parse(source)
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    if not found or function.__code__.co_name != name or found[-1].lineno != function.__code__.co_firstlineno:
        return None
    misfit = " or ".join([_misfit(parameter, fits, cells) for parameter, fits in wanted.items()])
    check = f"__alita_check({{{', '.join(f'{parameter!r}: {parameter}' for parameter in wanted)}}})"
    cells["__alita_error"] = CellType(Exception)
    # closure variables are faster than globals
    around = f"""
def around({", ".join(cells)}):
    def inner():
        nonlocal __alita_calls, __alita_failed
        {f"if {misfit}: {check}" if wanted else "pass"}
        __alita_calls += 1
        try: pass
        except __alita_error:
            __alita_failed += 1
            raise
"""
    node, outer = found[-1], ast.parse(around).body[0]
    for part in ast.walk(outer):
        if isinstance(part, ast.stmt | ast.expr | ast.ExceptHandler):
            part.lineno = part.end_lineno = node.lineno
            part.col_offset = part.end_col_offset = 0
    assert isinstance(outer, ast.FunctionDef)
    inner = outer.body[-1]
    assert isinstance(inner, ast.FunctionDef)
    attempt = inner.body[-1]
    assert isinstance(attempt, ast.Try)
    attempt.body, node.body, outer.body = node.body, inner.body, [node]
    futures = [one for one in tree.body if isinstance(one, ast.ImportFrom) and one.module == "__future__"]
    tree.body = [*futures, outer]
    module = compile(tree, f"{name}.py", "exec", dont_inherit=True)
    code = _inside(_inside(module, "around"), name)
    cells[name] = CellType(function)  # so that recursive calls use the original function
    closure = tuple(cells[variable] for variable in code.co_freevars)
    made = FunctionType(code, function.__globals__, name, function.__defaults__, closure)
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _inside(code: CodeType, name: str) -> CodeType:
    return next(one for one in code.co_consts if isinstance(one, CodeType) and one.co_name == name)


def _misfit(parameter: str, fits: tuple[Any, ...], cells: dict[str, CellType]) -> str:
    """Return an expression that is false if a value certainly matches by its type or as one of the listed values."""
    if not all(isinstance(kind, type) for kind in fits):
        cells[f"__alita_values_of_{parameter}"] = CellType(fits)
        return f"{parameter} not in __alita_values_of_{parameter}"
    cells |= {f"__alita_{_name(kind)}": CellType(kind) for kind in fits}
    tests = (f"{parameter}.__class__ is not __alita_{_name(kind)}" for kind in fits)
    return f"({' and '.join(tests)})"


def _name(kind: type) -> str:
    return "None" if kind is type(None) else kind.__name__


def _kinds(hint: Any) -> Kinds:
    """Return the types in `_JSON` that an annotation accepts. Empty if it may accept other types."""
    origin = typing.get_origin(hint)
    if origin is typing.Annotated:
        return _kinds(typing.get_args(hint)[0])
    if origin in (typing.Union, types.UnionType):
        found = [_kinds(option) for option in typing.get_args(hint)]
        return tuple(dict.fromkeys(kind for kinds in found for kind in kinds)) if all(found) else ()
    kind = type(None) if hint is None else origin or hint
    if kind is float:
        return (float, int)
    return (kind,) if isinstance(kind, type) and kind in _JSON else ()


def _fits(value: Any, kinds: Kinds) -> bool:
    if type(value) in kinds:
        return True
    if isinstance(value, float) and float not in kinds and int in kinds:
        return bool(value.is_integer())
    if isinstance(value, _ARRAYS):
        return any(array in kinds for array in _ARRAYS)
    known = next((one for one in _JSON if isinstance(value, one)), None)
    return known is None or (isinstance(value, kinds) and (known is not bool or bool in kinds))
