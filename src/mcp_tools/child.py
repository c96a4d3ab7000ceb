"""Child processes: their environment variables, working folder and import path.

All child processes are started here. Callers list the variables to pass on, so no API key reaches a process that does
not need it. Unless the caller names a folder, children run in `/`, where no project can place code.
"""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio

INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TZ", "LD_LIBRARY_PATH")
"""Variables that every child gets: search paths, locale and time zone."""
PROXIES = tuple(
    variable for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY") for variable in (name, name.lower())
)
NEUTRAL_FOLDER = "/"
"""Default working folder of children. Only an administrator can put files there."""
PIPE = subprocess.PIPE
DEVNULL = subprocess.DEVNULL
_MAX_LINE_BYTES = 64 * 1024


def environment(*names: str, of: Mapping[str, str] | None = None, **values: str) -> dict[str, str]:
    """Return the environment variables for a child: `INHERITED` plus the listed ones.

    Example:
        >>> environment("SSL_CERT_*", *PROXIES, LANG="C.UTF-8")

    Args:
        names: Variables to pass on. A name that ends with `*` matches every variable with that prefix.
        of: The variables to choose from. Defaults to those of this process.
        values: Additional variables with their values.
    """
    source = os.environ if of is None else of
    wanted = (*INHERITED, *names)
    prefixes = tuple(name[:-1] for name in wanted if name.endswith("*"))
    kept = {name: value for name, value in source.items() if name in wanted or name.startswith(prefixes)}
    return {**kept, **values}


@functools.cache
def executable() -> str:
    """Return the interpreter's real binary, not the link in a virtual environment."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def python(code: str) -> list[str]:
    """Return the command for an interpreter that has our import path and imports nothing from its working folder.

    The code cannot use `sys.argv`, because the import path is passed in it.
    """
    path = [folder for folder in sys.path if Path(folder).is_absolute()]
    return [executable(), "-I", "-S", "-X", "utf8", "-c", f"import sys; sys.path[:] = sys.argv[1:]; {code}", *path]


async def start(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str | Path = NEUTRAL_FOLDER,
    stdin: int | IO[Any] = DEVNULL,
    stdout: int | IO[Any] = DEVNULL,
    stderr: int | IO[Any] = DEVNULL,
    limit: int = _MAX_LINE_BYTES,
    private: bool = False,
) -> asyncio.subprocess.Process:
    """Start a child in its own process group, so that it does not receive our terminal's signals.

    The child gets only the variables in `env`. With `private`, only this user can read the files that it creates.

    Raises:
        OSError: The child cannot be started.
    """
    import asyncio

    return await asyncio.create_subprocess_exec(
        *command,
        env=dict(env),
        cwd=cwd,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
        limit=limit,
        umask=0o077 if private else -1,
    )


def popen(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str | Path = NEUTRAL_FOLDER,
    stdin: int | IO[Any] | None = DEVNULL,
    stdout: int | IO[Any] | None = DEVNULL,
    stderr: int | IO[Any] | None = DEVNULL,
    pass_fds: Sequence[int] = (),
    on_terminal: bool = False,
) -> subprocess.Popen[bytes]:
    """Start a child without an event loop; see `start`.

    A stream that is None is inherited. With `on_terminal`, the child receives the terminal's signals.

    Raises:
        OSError: The child cannot be started.
    """
    return subprocess.Popen(
        list(command),
        env=dict(env),
        cwd=cwd,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        pass_fds=pass_fds,
        start_new_session=not on_terminal,
    )


def kill_descendants(pid: int, *, spared: Collection[int] = ()) -> None:
    """Kill all descendants of a process, in any session or process group.

    Processes in `spared` and their descendants are left running, because other processes use them.
    """
    known: set[int] = set()
    while found := descendants(pid, spared) - known:
        for child in found:
            _signal(child, signal.SIGSTOP)
        known |= found
    for child in known:
        _signal(child, signal.SIGKILL)


def descendants(pid: int, spared: Collection[int] = ()) -> set[int]:
    """Return all descendants of a process, except `spared` and their descendants."""
    children: defaultdict[int, set[int]] = defaultdict(set)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # the process has exited
            # Split at the last bracket, because the process name in brackets may contain brackets.
            children[int(stat.read_text().rpartition(")")[2].split()[1])].add(int(stat.parent.name))
    found: set[int] = set()
    waiting = {pid}
    while waiting:
        waiting = {child for parent in waiting for child in children[parent]} - set(spared) - found
        found |= waiting
    return found


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
