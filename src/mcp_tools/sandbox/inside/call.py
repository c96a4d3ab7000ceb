"""One job, run: compile, execute, call, and report as JSON bytes."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import linecache
import sys
from collections.abc import Callable, Sequence
from types import CodeType, ModuleType
from typing import Any

from . import arguments as binding
from . import problems
from .problems import TOOL_FILE, Problem
from .result import ResultError, encode

Job = dict[str, Any]
"""The host's `Job` as JSON: source, entry, arguments, modules, limits, and `what` is wanted."""

_DESCRIBE = "describe"


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
    own_files = {TOOL_FILE, *(f"{name}.py" for name in job["modules"])}
    try:
        value = _value(job)
        return b'{"ok":true,"value":' + _encoded(value, job["limits"]["result_bytes"]) + b"}"
    except _Failed as failed:
        failure = failed.problem
    except BaseException as error:  # noqa: BLE001 - whatever the code raises is its outcome
        if isinstance(error, MemoryError):
            relieve()
        failure = problems.from_exception(
            error, own_files=own_files, memory_mb=job["limits"]["memory_mb"], allowed=allowed
        )
    return b'{"ok":false,"problem":' + encode(failure) + b"}"


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
    try:
        positional, keywords = binding.bind(function, job["arguments"])
    except binding.ArgumentError as error:
        raise _Failed(problems.problem("arguments", str(error))) from None
    return _awaited(function(*positional, **keywords))


def _compiled(source: str) -> CodeType:
    linecache.cache[TOOL_FILE] = (len(source), None, source.splitlines(keepends=True), TOOL_FILE)
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
        sys.meta_path.insert(0, _Sources(modules))


class _Sources(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports the sources that came with the job."""

    def __init__(self, sources: dict[str, str]) -> None:
        self._sources = sources

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A spec for each name that the job brought."""
        if fullname not in self._sources:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, origin=f"{fullname}.py")

    def get_source(self, fullname: str) -> str:
        """The source, also for tracebacks."""
        source = self._sources[fullname]
        linecache.cache[f"{fullname}.py"] = (len(source), None, source.splitlines(True), f"{fullname}.py")
        return source

    def get_code(self, fullname: str) -> CodeType:
        """The compiled source."""
        return compile(self.get_source(fullname), f"{fullname}.py", "exec", dont_inherit=True)
