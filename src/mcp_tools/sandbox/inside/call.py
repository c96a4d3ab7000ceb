"""Run one job: compile the source, execute it, call the function, and report as JSON bytes."""

from __future__ import annotations

import errno
import os
import socket
import sys
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from .result import ResultError, encode

if TYPE_CHECKING:
    from .imported import SourceImporter

Job = dict[str, Any]
"""The host's `Job` as JSON: source, entry, arguments, modules, limits and `what` (`call` or `describe`)."""
Problem = dict[str, Any]
"""The fields of the host's `Problem`: kind, message, traceback, line."""

TOOL_FILE = "tool.py"
MAXIMUM_FRAMES = 10
_MAXIMUM_MESSAGE = 2000
_WALL_TIME_FACTOR = 3
"""Wall time limit of several calls in one process, as a multiple of one call's processor time limit."""
_VARIADIC = 0x04 | 0x08
"""Flags of the code object of a function with `*args` or `**kwargs`."""
_STARTERS = {"subprocess", "popen_fork", "popen_spawn_posix", "synchronize", "pty"}
"""Standard library modules that start processes. A denial in their frames is reported as a denied process."""


class Failed(Exception):
    """Raised with the problem that ends the job."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem["message"])
        self.problem = problem


def run(job: Job, allowed: list[str], free_memory: Callable[[], None] = lambda: None) -> bytes:
    """Run a job.

    Args:
        job: The job.
        allowed: The paths that the job may reach. The first one is its scratch folder.
        free_memory: Called after a MemoryError to free memory for the report.

    Returns:
        `{"ok": true, "value": …}` or `{"ok": false, "problem": …}`, with `called` if imported tools were called.
    """
    modules = None
    if job["modules"]:
        from .imported import SourceImporter

        modules = SourceImporter(job["modules"])
        sys.meta_path.insert(0, modules)
    calls = job.get("calls")
    report = _report(job, allowed, free_memory) if not calls else _reports(job, calls, allowed, free_memory)
    return report[:-1] + _called(modules) + b"}"


def _report(job: Job, allowed: list[str], free_memory: Callable[[], None]) -> bytes:
    try:
        return b'{"ok":true,"value":' + _encoded(_value(job), job["limits"]["result_bytes"]) + b"}"
    except Failed as failed:
        failure = failed.problem
    except BaseException as error:  # noqa: BLE001 - any exception of the code is its outcome
        if isinstance(error, MemoryError):
            free_memory()
        sources = {TOOL_FILE: job["source"], **{f"{name}.py": source for name, source in job["modules"].items()}}
        failure = from_exception(error, sources=sources, memory_mb=job["limits"]["memory_mb"], allowed=allowed)
    return b'{"ok":false,"problem":' + encode(failure) + b"}"


def _reports(job: Job, calls: list[dict[str, Any]], allowed: list[str], free_memory: Callable[[], None]) -> bytes:
    """Make several calls, and return one report that contains their reports.

    Stop after a call that exceeds its processor time limit, or once the total wall time is used up.
    """
    import signal
    import time

    if job.get("loads"):
        _load_imports(job["source"])
    end = time.monotonic() + _WALL_TIME_FACTOR * job["call_seconds"]
    late, message = False, f"the call was stopped at its limit of {job['call_seconds']:.1f} s of processor time"

    def interrupt(*_: Any) -> None:
        nonlocal late
        late = True
        raise Failed(problem("cpu_time", message))

    signal.signal(signal.SIGVTALRM, interrupt)
    reports: list[bytes] = []
    for arguments in calls:
        signal.setitimer(signal.ITIMER_VIRTUAL, job["call_seconds"])
        job["arguments"] = arguments
        report = _report(job, allowed, free_memory)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        if late:
            reports.append(b'{"ok":false,"problem":' + encode(problem("cpu_time", message)) + b"}")
            break
        reports.append(report)
        if time.monotonic() > end:
            break
    return b'{"ok":true,"value":[' + b",".join(reports) + b"]}"


def _load_imports(source: str) -> None:
    """Import all modules that a source imports anywhere, so that loading them does not count towards a call's time."""
    import ast
    import contextlib
    import importlib

    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
        for name in names:
            with contextlib.suppress(Exception):  # the call that needs the module gets the error
                importlib.import_module(name)


def _called(modules: SourceImporter | None) -> bytes:
    """Return the call counts of imported tools as a member of the report. Empty if there were no calls."""
    called = modules.take_counts() if modules is not None else None
    return b',"called":' + encode(called) if called else b""


def _encoded(value: Any, limit: int) -> bytes:
    try:
        data = encode(value)
    except ResultError as error:
        raise Failed(problem("result", str(error))) from None
    if len(data) > limit:
        message = f"the result is {len(data):,} bytes of JSON; the limit is {limit:,}: return less"
        raise Failed(problem("result_size", message))
    return data


def _value(job: Job) -> Any:
    if job.get("hosts"):
        from .network import host_channel, open_hosts

        open_hosts(host_channel())
    try:
        code = job["code"] if "code" in job else compile(job["source"], TOOL_FILE, "exec", dont_inherit=True)
        job["code"] = code
    except COMPILE_ERRORS as error:
        raise Failed(from_syntax(error)) from None
    entry = job["entry"]
    if entry is None:
        sys.argv = [TOOL_FILE]
        try:
            _executed(code, "__main__")
        except SystemExit as leaving:
            if leaving.code not in (None, 0):
                raise
        return None
    namespace = _executed(code, "tool")
    function = namespace.get(entry)
    if not callable(function):
        there = [name for name, value in namespace.items() if callable(value) and not name.startswith("_")]
        message = f"the source defines no function {entry!r}; it defines: {', '.join(there) or 'none'}"
        raise Failed(problem("missing_function", message))
    positional: list[Any] = []
    keywords = job["arguments"]
    if job["what"] == "describe" or not _matches_exactly(function, keywords):
        from .schema import ArgumentError, SchemaError, bind, describe

        try:
            if job["what"] == "describe":
                return describe(function)
            positional, keywords = bind(function, keywords)
        except (ArgumentError, SchemaError) as error:
            raise Failed(problem("arguments", str(error))) from None
    value = function(*positional, **keywords)
    if not (hasattr(value, "__await__") and hasattr(value, "send")):
        return value
    import asyncio

    return asyncio.run(value)


def _matches_exactly(function: Callable[..., Any], given: dict[str, Any]) -> bool:
    """Return True if all parameters of a plain function are given and each value has exactly the annotated type.

    This is a fast path for most calls: importing `inspect` would cost a fresh process more than the rest of the call.
    """
    if type(function) is not FunctionType or "__wrapped__" in vars(function):
        return False
    code, hints = function.__code__, function.__annotations__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    if code.co_flags & _VARIADIC or code.co_posonlyargcount or len(names) != len(given):
        return False
    return all(name in given and hints.get(name, object) in (object, type(given[name])) for name in names)


COMPILE_ERRORS = (SyntaxError, ValueError, RecursionError, UnicodeError, OverflowError)
"""Exceptions that `compile` raises for invalid source code."""


def _executed(code: CodeType, name: str) -> dict[str, Any]:
    module = ModuleType(name)
    module.__file__ = TOOL_FILE
    sys.modules[name] = module
    exec(code, module.__dict__)  # noqa: S102 - the sandbox exists to run this source
    return module.__dict__


def problem(kind: str, message: str, *, trace: str = "", line: int | None = None) -> Problem:
    """Return a problem in the form that the host expects."""
    return {"kind": kind, "message": message[:_MAXIMUM_MESSAGE], "traceback": trace, "line": line}


def from_exception(
    error: BaseException, *, sources: dict[str, str], memory_mb: int, allowed: list[str], file: str = TOOL_FILE
) -> Problem:
    """Return the problem that describes an exception in the code.

    Args:
        error: The exception.
        sources: Source code of the tool and its modules, by file name.
        memory_mb: The memory limit, for the message.
        allowed: Paths that the call may reach, scratch folder first. Files elsewhere are denied, not missing.
        file: The name of the file for which a line number is reported.
    """
    trace, line = _own_frames(error, sources, file)
    if isinstance(error, MemoryError):
        return problem("memory", f"the memory limit of {memory_mb} MiB was reached", trace=trace, line=line)
    if isinstance(error, SystemExit):
        return problem("exit", f"the code called sys.exit({error.code!r})"[:200], trace=trace, line=line)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return problem("quota", "the scratch folder of this call is full", trace=trace, line=line)
    if denial := _denial(error, allowed):
        return problem("denied", denial, trace=trace, line=line)
    return problem("exception", described(error), trace=trace, line=line)


def from_syntax(error: Exception) -> Problem:
    """Return the problem for source code that does not compile."""
    if isinstance(error, SyntaxError):
        shown = f": {error.text.strip()[:200]}" if error.text else ""
        return problem("syntax", f"line {error.lineno}: {error.msg}{shown}", line=error.lineno)
    return problem("syntax", f"the source does not compile: {described(error)}")


def described(error: BaseException) -> str:
    """Return text such as `ZeroDivisionError: division by zero`, even if the exception's `__str__` itself raises."""
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - `__str__` may be the tool's code
        text = "(its message cannot be shown)"
    text = text.encode("utf-8", "backslashreplace").decode()
    return f"{name}: {text}" if text else name


def _own_frames(error: BaseException, sources: dict[str, str], file: str) -> tuple[str, int | None]:
    import linecache
    import traceback

    for name, source in sources.items():
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    frames = [
        (frame, number) for frame, number in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename in sources
    ]  # fmt: skip
    if not frames:
        return "", None
    half = MAXIMUM_FRAMES // 2  # infinite recursion has thousands of identical frames
    shown = frames if len(frames) <= MAXIMUM_FRAMES else frames[:half] + frames[-half:]
    extracted = traceback.StackSummary.extract(iter(shown), lookup_lines=True)
    text = "Traceback (most recent call last):\n" + "".join(extracted.format())
    in_tool = [number for frame, number in frames if frame.f_code.co_filename == file]
    return text + described(error)[:_MAXIMUM_MESSAGE], in_tool[-1] if in_tool else None


def _denial(error: BaseException, allowed: list[str]) -> str:
    """If the sandbox caused the exception by denying something, return a message. Otherwise, return an empty string."""
    seen: list[BaseException] = []
    waiting: list[Any] = [error]
    while waiting and len(seen) < 20:
        current = waiting.pop(0)
        if isinstance(current, BaseException) and current not in seen:
            if isinstance(current, OSError) and (message := _denied_call(current, allowed)):
                return message
            seen.append(current)
            # urllib stores the original exception in `reason`
            waiting += [getattr(current, "reason", None), current.__cause__, current.__context__]
    return ""


def _denied_call(error: OSError, allowed: list[str]) -> str:
    code = error.errno
    if code in (errno.EPERM, errno.EACCES, errno.ENOENT, errno.ENOSYS) and _files_of(error.__traceback__) & _STARTERS:
        return "this tool is not allowed to start processes"
    if isinstance(error, socket.gaierror):
        return "network access is not granted to this tool"
    if code == errno.EFBIG:
        return "the file would exceed the file size limit of this call"
    if isinstance(error.filename, (str, bytes)):
        return _denied_file(os.fsdecode(error.filename), code, allowed)
    if code == errno.EACCES:
        return "network access is not granted to this tool"
    return "this tool is not allowed to start processes or change the system" if code == errno.EPERM else ""


def _denied_file(name: str, code: int | None, allowed: list[str]) -> str:
    path = os.path.normpath(os.path.join(os.getcwd(), name))
    inside = any(path == root or path.startswith(root.rstrip("/") + "/") for root in allowed)
    if code in (errno.EPERM, errno.EACCES, errno.EROFS):
        if inside and path.startswith(allowed[0]):
            return f"this tool is not allowed to use this operation on {name!r}"
        if inside:
            return f"this tool can read {name!r}, but is not allowed to change it"
        return f"this tool has no access to the path {name!r}"
    if code == errno.ENOENT and os.path.isabs(name) and not inside:
        return f"this tool has no access to the path {name!r}: it sees only granted files"
    return ""


def _files_of(trace: TracebackType | None) -> set[str]:
    names = set()
    while trace is not None:
        names.add(os.path.splitext(os.path.basename(trace.tb_frame.f_code.co_filename))[0])
        trace = trace.tb_next
    return names
