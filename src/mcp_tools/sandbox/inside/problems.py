"""An exception of the tool's code as a problem: kind, message, the tool's own frames, line."""

from __future__ import annotations

import errno
import os
import sys

TYPE_CHECKING = False  # `typing` is not imported: see call.py
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any

    Problem = dict[str, Any]
    """The fields of the host's `Problem`: kind, message, traceback, line."""

MAXIMUM_FRAMES = 10
_MAXIMUM_MESSAGE = 2000

TOOL_FILE = "tool.py"

_STARTERS = {"subprocess", "popen_fork", "popen_spawn_posix", "synchronize", "pty"}
"""Modules of the standard library that start processes or need others to make sense."""


def problem(kind: str, message: str, *, trace: str = "", line: int | None = None) -> Problem:
    """The problem as it travels to the host."""
    return {"kind": kind, "message": message[:_MAXIMUM_MESSAGE], "traceback": trace, "line": line}


def from_exception(
    error: BaseException, *, sources: dict[str, str], memory_mb: int, allowed: list[str], file: str = TOOL_FILE
) -> Problem:
    """What the exception means for whoever called the tool.

    Args:
        error: What the code raised.
        sources: The tool's source and the modules given with it, by file name.
        memory_mb: The memory limit, for its message.
        allowed: Paths that the call may reach, its own folder first: a file elsewhere is denied, not missing.
        file: The source whose line is told.
    """
    trace, line = _own_frames(error, sources, file)
    if isinstance(error, MemoryError):
        return problem("memory", f"memory limit {memory_mb} MiB reached", trace=trace, line=line)
    if isinstance(error, SystemExit):
        return problem("exit", f"the code called sys.exit({error.code!r})"[:200], trace=trace, line=line)
    denial = _denial(error, allowed)
    if denial:
        return problem("denied", denial, trace=trace, line=line)
    return problem("exception", described(error), trace=trace, line=line)


def from_syntax(error: Exception) -> Problem:
    """A source that does not compile."""
    if isinstance(error, SyntaxError):
        shown = f": {error.text.strip()[:200]}" if error.text else ""
        return problem("syntax", f"line {error.lineno}: {error.msg}{shown}", line=error.lineno)
    return problem("syntax", f"the source does not compile: {described(error)}")


def described(error: BaseException) -> str:
    """`ZeroDivisionError: division by zero`, whatever the exception's own `__str__` does."""
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - the tool's own code runs here
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
    extracted = traceback.StackSummary.extract(iter(_ends(frames)), lookup_lines=True)
    text = "Traceback (most recent call last):\n" + "".join(extracted.format())
    in_tool = [number for frame, number in frames if frame.f_code.co_filename == file]
    return text + described(error)[:_MAXIMUM_MESSAGE], in_tool[-1] if in_tool else None


def _ends(frames: list[Any]) -> list[Any]:
    """The first and last frames: endless recursion has a thousand alike."""
    half = MAXIMUM_FRAMES // 2
    return frames if len(frames) <= MAXIMUM_FRAMES else frames[:half] + frames[-half:]


def _denial(error: BaseException, allowed: list[str]) -> str:
    """What the sandbox withheld, if that is at the root of the exception."""
    for cause in _chain(error):
        if isinstance(cause, OSError):
            message = _denied_call(cause, allowed)
            if message:
                return message
    return ""


def _chain(error: BaseException) -> list[BaseException]:
    """The exception and what it came from, outermost first; `reason` is how urllib passes it on."""
    chain: list[BaseException] = []
    waiting: list[Any] = [error]
    while waiting and len(chain) < 20:
        current = waiting.pop(0)
        if isinstance(current, BaseException) and current not in chain:
            chain.append(current)
            waiting += [getattr(current, "reason", None), current.__cause__, current.__context__]
    return chain


def _denied_call(error: OSError, allowed: list[str]) -> str:
    files = _files_of(error.__traceback__)
    if error.errno in (errno.EPERM, errno.EACCES, errno.ENOENT, errno.ENOSYS) and files & _STARTERS:
        return "starting processes is not granted to this tool"
    socket = sys.modules.get("socket")
    if socket is not None and isinstance(error, socket.gaierror):
        return "network is not granted to this tool"
    if error.errno == errno.EFBIG:
        return "the file would be larger than the file limit of this call"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "no space is left in the scratch folder of this call"
    if isinstance(error.filename, (str, bytes)):
        return _denied_file(os.fsdecode(error.filename), error.errno, allowed)
    if error.errno == errno.EACCES:
        return "network is not granted to this tool"
    if error.errno == errno.EPERM:
        return "starting processes and changing the system are not granted to this tool"
    return ""


def _denied_file(name: str, code: int | None, allowed: list[str]) -> str:
    path = os.path.normpath(os.path.join(os.getcwd(), name))
    inside = any(path == root or path.startswith(root.rstrip("/") + "/") for root in allowed)
    if code in (errno.EPERM, errno.EACCES, errno.EROFS):
        if inside and path.startswith(allowed[0]):
            return f"this operation on {name!r} is not granted to this tool"
        if inside:
            return f"{name!r} is granted to this tool for reading, not for changes"
        return f"the path {name!r} is not granted to this tool"
    if code == errno.ENOENT and os.path.isabs(name) and not inside:
        return f"the path {name!r} is not granted to this tool: only granted files and relative paths are there"
    return ""


def _files_of(trace: TracebackType | None) -> set[str]:
    names = set()
    while trace is not None:
        names.add(os.path.splitext(os.path.basename(trace.tb_frame.f_code.co_filename))[0])
        trace = trace.tb_next
    return names
