"""The host's side of a warm interpreter: start it, send calls, kill calls, and stop it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_tools import child
from mcp_tools.errors import IsolationError
from mcp_tools.packages import import_name
from mcp_tools.sandbox.environment import DEVICES, PRELOADED, VARIABLES, Environment, inside_source, library_folders
from mcp_tools.sandbox.inside import scratch

CALLS_AT_ONCE = max(4, 4 * (os.cpu_count() or 1))
SCRATCHES = CALLS_AT_ONCE + 8
"""Number of scratch folders per interpreter. Some are still being emptied when new calls start."""
EXIT_SECONDS = 0.05
"""Time for a child that has sent its report to exit by itself before it is killed."""
GRACE_SECONDS = 2.0
"""Time for a killed child to exit before its interpreter is stopped as well."""
START_SECONDS = 30.0
"""Time limit for a start, which takes about 30 ms, but seconds with large packages on a cold disk."""

_BOOTSTRAP = """
import sys
sys.path[:] = {path!r}
sys.path.insert(0, {parent!r})
from {package}.zygote import main
del sys.path[0]
{before}
main()
"""
_DEFAULTS = {
    "layers": (),  # layers of each child besides rlimits: `landlock`, `seccomp`
    "scratch_is_private": False,  # True if each scratch folder is a separate file system
    "users": (),  # user ids to switch to when started as root; the first that works is used
    "user_is_private": True,  # True if only the sandbox runs processes as this user, so RLIMIT_NPROC works
}


def interpreter_command(environment: Environment, *, before: str = "", **settings: Any) -> list[str]:
    """Return the command line of a warm interpreter.

    Args:
        environment: The paths and packages that calls may use.
        before: Python code that runs before the first call, so that a back end can confine the interpreter from inside.
        settings: `scratch`, the scratch folders as seen inside, and any options in `_DEFAULTS`.
    """
    parent, package = os.path.split(inside_source())
    start = _BOOTSTRAP.format(path=list(environment.search_path), parent=parent, package=package, before=before)
    own = ("session", "schema") if environment.live else ("schema",)
    options = {
        **_DEFAULTS,
        **settings,
        "readable": environment.readable,
        "granted": [(grant.path, grant.device, grant.inode) for grant in (*environment.read, *environment.write)],
        "devices": DEVICES,
        "writable": [(grant.path, *room) for grant, room in zip(environment.write, environment.rooms, strict=True)],
        # only confined children run code from a locked environment's packages
        "packages": () if environment.live or environment.built else [*map(import_name, environment.packages)],
        "library": len(library_folders()),
        "untrusted": environment.untrusted,
        "absent": environment.absent,
        "preload": [*(f"{package}.{name}" for name in own), *PRELOADED],
    }
    return [child.executable(), "-I", "-S", "-X", "utf8", "-c", start, json.dumps(options)]


@dataclass(frozen=True, slots=True)
class ChildEnding:
    """How a child process ended."""

    status: int
    """The status that `os.waitpid` returned."""
    cpu_seconds: float = 0.0
    over_quota: bool = False
    """True if the child was killed because its folders were too full."""
    lost: bool = False
    """True if the whole interpreter exited and the call was lost."""


@dataclass(frozen=True, slots=True)
class Ready:
    """The result of an interpreter's test of its layers."""

    layers: list[str]
    landlock_abi: int
    """The kernel's Landlock version, or 0 if it has no Landlock."""
    root: bool
    """True if calls run as root, either of the machine or of a namespace."""
    faults: list[str]
    """Layers that could not be applied or that the test was able to bypass."""
    changed: list[str]
    """Granted paths that now refer to a different file."""


class Zygote:
    """One warm interpreter, started with a command line that sets up the isolation.

    Args:
        command: The command line.
        scratch: The host's folder for scratch files, removed at the end. None if they are on a separate file system.
    """

    def __init__(self, command: list[str], scratch: str | None = None) -> None:
        self.scratch = scratch
        self.calls = 0
        self.retired = False
        self._command = command
        self._waiting: dict[int, asyncio.Future[ChildEnding]] = {}
        self._control: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._errors = -1
        self._faulty = False
        self._due: dict[int, asyncio.TimerHandle] = {}
        self._resumed: dict[int, asyncio.Future[None]] = {}
        self._used: dict[int, Callable[[float], None]] = {}
        self._end: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[Ready] | None = None

    @property
    def pid(self) -> int:
        """Process id of the outermost process."""
        return self._process.pid if self._process else 0

    @property
    def busy(self) -> int:
        """Number of running calls."""
        return len(self._waiting)

    @property
    def alive(self) -> bool:
        """True if the interpreter can take calls."""
        return self._control is not None and not self.retired and not self._faulty

    async def start(self) -> Ready:
        """Start the interpreter and wait until it is ready.

        Raises:
            IsolationError: The interpreter did not start. The message contains its stderr or that of its wrapper.
        """
        loop = asyncio.get_running_loop()
        self._ready = loop.create_future()
        self._control, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setblocking(False)
        self._errors = os.memfd_create("sandbox-errors")
        loop.add_reader(self._control.fileno(), self._listen)
        try:
            with child_end:
                # faster than starting the process through the event loop
                self._process = child.popen(self._command, env=VARIABLES, stdin=child_end.fileno(), stderr=self._errors)
            return await asyncio.wait_for(self._ready, START_SECONDS)
        except OSError as error:  # includes ConnectionError and TimeoutError of the interpreter
            stderr = os.pread(self._errors, 4000, max(0, os.fstat(self._errors).st_size - 4000)).decode(
                errors="replace"
            )
            await self.end()
            if self._process is None:
                raise IsolationError(f"{self._command[0]} could not be started: {error}") from error
            raise IsolationError(f"the sandbox did not start: {stderr.strip() or 'no answer'}") from None
        except BaseException:
            await self.end()
            raise

    def send(self, call: int, descriptors: list[int]) -> asyncio.Future[ChildEnding]:
        """Start a child for a call. The future is done when the child has exited.

        The descriptors are the child's ends of its pipes: job, result, stdout, stderr. This process closes them.
        """
        ended: asyncio.Future[ChildEnding] = asyncio.get_running_loop().create_future()
        self._waiting[call] = ended
        self.calls += 1
        self._send_command(b"r %d" % call, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        return ended

    def pause(self, call: int) -> None:
        """Pause a session's child, so that its threads do not compute between blocks."""
        self._send_command(b"p %d" % call)

    def resume(self, call: int) -> asyncio.Future[None]:
        """Let a session's child continue.

        Wait for the future before sending the next block. Otherwise, a pending stop could cut off the block's output.
        """
        resumed = self._resumed[call] = asyncio.get_running_loop().create_future()
        self._send_command(b"c %d" % call)
        return resumed

    def ask_time(self, call: int, then: Callable[[float], None]) -> None:
        """Request a call's processor time. `then` is called with the time in seconds, unless the call has ended."""
        self._used[call] = then
        self._send_command(b"u %d" % call)

    def release(self, call: int) -> None:
        """Kill the child of a finished call, unless it soon exits by itself, which saves a message."""
        if call in self._waiting and call not in self._due:
            self._due[call] = asyncio.get_running_loop().call_later(EXIT_SECONDS, self.kill, call)

    def kill(self, call: int) -> None:
        """Kill a call's child if it is still running. If it does not exit soon, stop the interpreter as well."""
        if call not in self._waiting:
            return
        if due := self._due.pop(call, None):
            due.cancel()
        if self._send_command(b"k %d" % call):
            self._due[call] = asyncio.get_running_loop().call_later(GRACE_SECONDS, self._ending)

    def _send_command(self, message: bytes, descriptors: list[int] | None = None) -> bool:
        """Send a command. Return False if the interpreter has exited."""
        try:
            if self._control is not None:
                socket.send_fds(self._control, [message], descriptors or [])
                return True
        except OSError:
            pass
        self._lose()
        return False

    async def end_when_idle(self) -> None:
        """Wait for the running calls, each of which has a deadline, then stop the interpreter."""
        if self._waiting:
            await asyncio.wait(list(self._waiting.values()))
        await self.end()

    async def end(self) -> None:
        """Stop the interpreter and all its processes, and remove its scratch folder."""
        await asyncio.shield(self._ending())

    def _ending(self) -> asyncio.Task[None]:
        if self._end is None:
            self._end = asyncio.create_task(self._finish())
        return self._end

    async def _finish(self) -> None:
        self._lose()
        if self._errors >= 0:
            os.close(self._errors)
        process = self._process
        if process is not None:
            deadline = time.monotonic() + 1.0
            while process.poll() is None and time.monotonic() < deadline:  # noqa: ASYNC110 - there is no event to wait for
                await asyncio.sleep(0.002)
            if process.poll() is None:
                with contextlib.suppress(OSError):
                    _kill_children(process.pid)  # bubblewrap's children are in another process group
            # for back ends without namespaces, the group also contains the children
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            if process.poll() is None:
                await asyncio.to_thread(process.wait)
        if self.scratch is not None:
            with contextlib.suppress(OSError):
                await asyncio.to_thread(scratch.remove, self.scratch)

    def _listen(self) -> None:
        assert self._control is not None
        try:
            message = self._control.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            message = b""
        verb, _, rest = message.partition(b" ")
        if not verb:
            self._lose()
        elif verb == b"R" and self._ready and not self._ready.done():
            self._ready.set_result(Ready(**json.loads(rest)))
        elif verb == b"d":
            call, status, milliseconds, over = map(int, rest.split())
            self._ended(call, ChildEnding(status, milliseconds / 1000, bool(over)))
        elif verb == b"c":
            self._resumed.pop(int(rest)).set_result(None)
        elif verb == b"u":
            call, milliseconds = map(int, rest.split())
            if then := self._used.pop(call, None):
                then(milliseconds / 1000)
        elif verb == b"x":
            self._faulty = True

    def _ended(self, call: int, ending: ChildEnding) -> None:
        if due := self._due.pop(call, None):
            due.cancel()
        if (ended := self._waiting.pop(call, None)) and not ended.done():
            ended.set_result(ending)

    def _lose(self) -> None:
        """Close the socket, which makes the interpreter exit, and mark the running calls as lost."""
        if self._control is not None:
            asyncio.get_running_loop().remove_reader(self._control.fileno())
            self._control.close()
            self._control = None
        if self._ready and not self._ready.done():
            self._ready.set_exception(ConnectionError("the interpreter exited"))
        for call in list(self._waiting):
            self._ended(call, ChildEnding(0, lost=True))


def _kill_children(pid: int) -> None:
    for child_pid in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        os.kill(int(child_pid), signal.SIGKILL)
