"""One job, run: compile, execute, call, and report as JSON bytes."""

from __future__ import annotations

import importlib.machinery
import sys
from types import CodeType, FunctionType, ModuleType

from . import problems
from .problems import TOOL_FILE
from .result import ResultError, encode

# `typing` and what only some calls need is imported where it is used: the first call waits for what stands here
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .problems import Problem

    Job = dict[str, Any]
    """The host's `Job` as JSON: source, entry, arguments, modules, limits, and `what` is wanted."""

_DESCRIBE = "describe"
_VARIADIC = 0x04 | 0x08
"""Flags of a code object with star arguments."""


class _Failed(Exception):
    """Carries a problem out of a step."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem["message"])
        self.problem = problem


def run(job: Job, allowed: list[str], relieve: Callable[[], None] = lambda: None) -> bytes:
    """Runs the job and gives its report: `{"ok": true, "value": …}` or `{"ok": false, "problem": …}`.

    Args:
        job: What to run.
        allowed: The paths that this call may reach, its own folder first.
        relieve: Frees memory for the report after a MemoryError.
    """
    try:
        value = _value(job)
        return b'{"ok":true,"value":' + _encoded(value, job["limits"]["result_bytes"]) + b"}"
    except _Failed as failed:
        failure = failed.problem
    except BaseException as error:  # noqa: BLE001 - whatever the code raises is its outcome
        if isinstance(error, MemoryError):
            relieve()
        failure = problems.from_exception(
            error, sources=_sources(job), memory_mb=job["limits"]["memory_mb"], allowed=allowed
        )
    return b'{"ok":false,"problem":' + encode(failure) + b"}"


def _sources(job: Job) -> dict[str, str]:
    """The tool's own sources by file name."""
    return {TOOL_FILE: job["source"], **{f"{name}.py": source for name, source in job["modules"].items()}}


def _encoded(value: Any, limit: int) -> bytes:
    try:
        data = encode(value)
    except ResultError as error:
        raise _Failed(problems.problem("result", str(error))) from None
    if len(data) > limit:
        message = f"the result is {len(data):,} bytes of JSON; the limit is {limit:,}: return less"
        raise _Failed(problems.problem("result_size", message))
    return data


def _value(job: Job) -> Any:
    _offer_modules(job["modules"])
    code = _compiled(job["source"])
    entry = job["entry"]
    if entry is None:
        return _program(code)
    namespace = _executed(code, "tool")
    function = namespace.get(entry)
    if not callable(function):
        raise _Failed(problems.problem("missing_function", _missing(entry, namespace)))
    if job["what"] == _DESCRIBE:
        return _described(function)
    positional, keywords = _bound(function, job["arguments"])
    return _awaited(function(*positional, **keywords))


def _bound(function: Callable[..., Any], given: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    if _takes_plainly(function, given):
        return [], given
    from .arguments import ArgumentError, bind

    try:
        return bind(function, given)
    except ArgumentError as error:
        raise _Failed(problems.problem("arguments", str(error))) from None


def _takes_plainly(function: Callable[..., Any], given: dict[str, Any]) -> bool:
    """Whether a plain function with plain hints gets all its arguments by name, each of exactly its type.

    Most calls are so, and looking at the signature costs a fresh process more than the rest of the call.
    """
    code = getattr(function, "__code__", None)
    if type(function) is not FunctionType or code is None or "__wrapped__" in vars(function):
        return False
    if code.co_flags & _VARIADIC or code.co_posonlyargcount:
        return False
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    hints = function.__annotations__
    return len(names) == len(given) and all(
        name in given and hints.get(name, object) in (object, type(given[name])) for name in names
    )


def _compiled(source: str) -> CodeType:
    try:
        return compile(source, TOOL_FILE, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, UnicodeError, OverflowError) as error:
        raise _Failed(problems.from_syntax(error)) from None


def _executed(code: CodeType, name: str) -> dict[str, Any]:
    module = ModuleType(name)
    module.__file__ = TOOL_FILE
    sys.modules[name] = module
    exec(code, module.__dict__)  # noqa: S102 - running this source is what the sandbox is for
    return module.__dict__


def _program(code: CodeType) -> None:
    sys.argv = [TOOL_FILE]
    try:
        _executed(code, "__main__")
    except SystemExit as leaving:
        if leaving.code not in (None, 0):
            raise


def _missing(entry: str, namespace: dict[str, Any]) -> str:
    functions = [name for name, value in namespace.items() if callable(value) and not name.startswith("_")]
    return f"the source defines no function {entry!r}; it defines: {', '.join(functions) or 'none'}"


def _described(function: Callable[..., Any]) -> Any:
    from .schema import SchemaError, describe

    try:
        return describe(function)
    except SchemaError as error:
        raise _Failed(problems.problem("arguments", str(error))) from None


def _awaited(value: Any) -> Any:
    if not (hasattr(value, "__await__") and hasattr(value, "send")):
        return value
    import asyncio

    return asyncio.run(value)


def _offer_modules(modules: dict[str, str]) -> None:
    if modules:
        sys.meta_path.insert(0, Sources(modules))


class Sources:
    """Imports the sources that came with the job.

    Args:
        sources: By the name to import.
    """

    def __init__(self, sources: dict[str, str]) -> None:
        self._sources = sources

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A spec for each name that the job brought."""
        if fullname not in self._sources:
            return None
        # a loader by its methods: `importlib.abc` takes long to import
        return importlib.machinery.ModuleSpec(fullname, self, origin=f"{fullname}.py")  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """The ordinary kind of module will do."""

    def exec_module(self, module: ModuleType) -> None:
        """Runs the source."""
        source = self._sources[module.__name__]
        exec(compile(source, f"{module.__name__}.py", "exec", dont_inherit=True), module.__dict__)  # noqa: S102

    def get_source(self, fullname: str) -> str:
        """The source, for whoever inspects it."""
        return self._sources[fullname]
