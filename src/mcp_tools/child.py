"""Child processes: what they inherit, where they run, and what they can import.

A folder is never code. All processes start here, because the caller has to list their variables, and because they run
in a folder that no project chose unless the caller names another one. The variables to pass are listed, never those to
withhold, so no key reaches a process that does not need it.
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
"""The variables of ours that every child may see: where programs and libraries are, and how to write for the user."""
PROXIES = tuple(
    variable for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY") for variable in (name, name.lower())
)
"""For a child that reaches the network."""
NEUTRAL = "/"
"""The folder of a child that needs none: nobody but the administrator can put a file there."""
PIPE = subprocess.PIPE
DEVNULL = subprocess.DEVNULL
_STREAM = 64 * 1024


def environment(*names: str, of: Mapping[str, str] | None = None, **values: str) -> dict[str, str]:
    """The variables of a child: those that every child gets, and those that this one needs.

    Args:
        names: Variables to hand down too; one that ends with `*` stands for all that begin so.
        of: The base variables; by default those of this process.
        values: Additional variables with values.
    """
    source = os.environ if of is None else of
    wanted = (*INHERITED, *names)
    prefixes = tuple(name[:-1] for name in wanted if name.endswith("*"))
    kept = {name: value for name, value in source.items() if name in wanted or name.startswith(prefixes)}
    return {**kept, **values}


@functools.cache
def executable() -> str:
    """The interpreter's real binary, never a shim or a link of a virtual environment."""
    return os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


def python(code: str) -> list[str]:
    """The command of an interpreter that imports what we can import, and nothing from the folder that it runs in.

    The import path takes the arguments of its code.
    """
    path = [folder for folder in sys.path if Path(folder).is_absolute()]
    return [executable(), "-I", "-S", "-X", "utf8", "-c", f"import sys; sys.path[:] = sys.argv[1:]; {code}", *path]


async def start(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str | Path = NEUTRAL,
    stdin: int | IO[Any] = DEVNULL,
    stdout: int | IO[Any] = DEVNULL,
    stderr: int | IO[Any] = DEVNULL,
    limit: int = _STREAM,
    private: bool = False,
) -> asyncio.subprocess.Process:
    """Start a child in a separate process group, out of reach of signals to our terminal.

    It gets only the variables in `env` only. With `private`, what it makes can be read by its user alone.

    Raises:
        OSError: It cannot be started.
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
    cwd: str | Path = NEUTRAL,
    stdin: int | IO[Any] | None = DEVNULL,
    stdout: int | IO[Any] | None = DEVNULL,
    stderr: int | IO[Any] | None = DEVNULL,
    pass_fds: Sequence[int] = (),
    on_terminal: bool = False,
) -> subprocess.Popen[bytes]:
    """Starts a child without an event loop; see `start`.

    None means our own stream. On our terminal it gets its signals.

    Raises:
        OSError: It cannot be started.
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
    """Kill all descendants of a process, in any session or group.

    The spared live on, with theirs: other processes use them too.
    """
    known: set[int] = set()
    while found := descendants(pid, spared) - known:
        for child in found:
            _signal(child, signal.SIGSTOP)
        known |= found
    for child in known:
        _signal(child, signal.SIGKILL)


def descendants(pid: int, spared: Collection[int] = ()) -> set[int]:
    """All that descend from a process, but for the spared and theirs."""
    children: defaultdict[int, set[int]] = defaultdict(set)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it ended meanwhile
            # The name in brackets may hold anything, brackets too.
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
