"""The host's end of a warm interpreter: start it, give it calls, kill them, end it."""

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
"""More have to wait."""
SCRATCHES = CALLS_AT_ONCE + 8
"""Maximum number of call folders of an interpreter, including those being removed."""
LEAVING_SECONDS = 0.05
"""Seconds until a child that has answered is killed."""
GRACE_SECONDS = 2.0
"""Seconds until the interpreter of a killed child that does not end is ended, too."""
START_SECONDS = 30.0
"""A start takes some 30 ms, with large packages on a cold disk seconds."""

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
    "layers": (),  # `landlock`, `seccomp`: what each child is put under besides limits
    "scratch_is_private": False,  # True if each scratch folder is a separate file system, False if all are one folder
    "users": (),  # become the first of these that is possible, when started as root
    "user_is_private": True,  # whether threads counted for the user are the sandbox's alone
}


def interpreter_command(environment: Environment, *, before: str = "", **settings: Any) -> list[str]:
    """The command line of a warm interpreter.

    Args:
        environment: The paths and packages of its calls.
        before: Python to run before the loop begins: what a back end puts around the interpreter from within.
        settings: `scratch`, folders as seen inside of which a call has one while it runs, and what `_DEFAULTS` lists.
    """
    parent, package = os.path.split(inside_source())
    start = _BOOTSTRAP.format(path=list(environment.search_path), parent=parent, package=package, before=before)
    own = ("session", "schema") if environment.live else ("schema",)
    told = {
        **_DEFAULTS,
        **settings,
        "readable": environment.readable,
        "granted": [(grant.path, grant.device, grant.inode) for grant in (*environment.read, *environment.write)],
        "devices": DEVICES,
        "writable": [(grant.path, *room) for grant, room in zip(environment.write, environment.rooms, strict=True)],
        # packages of a locked environment are strangers: only a child, which is confined, runs their code
        "packages": () if environment.live or environment.built else [*map(import_name, environment.packages)],
        "library": len(library_folders()),
        "strangers": environment.strangers,
        "absent": environment.absent,
        "preload": [*(f"{package}.{name}" for name in own), *PRELOADED],
    }
    return [child.executable(), "-I", "-S", "-X", "utf8", "-c", start, json.dumps(told)]


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of a child."""

    status: int
    """As `os.waitpid` gives it."""
    cpu_seconds: float = 0.0
    over_quota: bool = False
    """True if it was killed for what it put into its scratch folder."""
    lost: bool = False
    """True if the whole interpreter ended, taking the call along."""


@dataclass(frozen=True, slots=True)
class Ready:
    """Result of the interpreter's test of its layers."""

    layers: list[str]
    landlock_abi: int
    """Version that the kernel offers; 0 for none."""
    root: bool
    """True if calls run as root of the machine or of a namespace."""
    faults: list[str]
    """Layers that could not be put on, or did not hold."""
    changed: list[str]
    """Granted paths with another file than the granted one."""


class Zygote:
    """One warm interpreter, started by a command line with the isolation around it.

    With it goes the host's folder for its calls, `scratch`; None if it is a separate file system.
    """

    def __init__(self, command: list[str], scratch: str | None = None) -> None:
        self.scratch = scratch
        self.calls = 0
        """Number of its calls."""
        self.retired = False
        """True if it should get no more calls."""
        self._command = command
        self._waiting: dict[int, asyncio.Future[Ending]] = {}
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
        """The outermost process."""
        return self._process.pid if self._process else 0

    @property
    def busy(self) -> int:
        """Calls under way."""
        return len(self._waiting)

    @property
    def alive(self) -> bool:
        """True if it can still be given calls."""
        return self._control is not None and not self.retired and not self._faulty

    async def start(self) -> Ready:
        """Starts the interpreter and waits until it is ready.

        Raises:
            IsolationError: It did not start; the message is what it or its wrapping said.
        """
        loop = asyncio.get_running_loop()
        self._ready = loop.create_future()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setblocking(False)
        self._errors = os.memfd_create("sandbox-errors")
        loop.add_reader(self._control.fileno(), self._listen)
        try:
            with theirs:
                # without the event loop, which takes longer to start a process
                self._process = child.popen(self._command, env=VARIABLES, stdin=theirs.fileno(), stderr=self._errors)
            return await asyncio.wait_for(self._ready, START_SECONDS)
        except OSError as error:  # also of an interpreter that ended, or took too long
            said = os.pread(self._errors, 4000, max(0, os.fstat(self._errors).st_size - 4000)).decode(errors="replace")
            await self.end()
            if self._process is None:
                raise IsolationError(f"{self._command[0]} could not be started: {error}") from error
            raise IsolationError(f"the sandbox did not start: {said.strip() or 'no answer'}") from None
        except BaseException:
            await self.end()
            raise

    def send(self, call: int, descriptors: list[int]) -> asyncio.Future[Ending]:
        """Start a child for a call; the future gets its end.

        The descriptors are for the job, the result, output and errors. They are closed here.
        """
        ended: asyncio.Future[Ending] = asyncio.get_running_loop().create_future()
        self._waiting[call] = ended
        self.calls += 1
        self._tell(b"r %d" % call, descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        return ended

    def pause(self, call: int) -> None:
        """Stop the child of a session, so that none of its threads computes between two blocks."""
        self._tell(b"p %d" % call)

    def resume(self, call: int) -> asyncio.Future[None]:
        """Let it continue once the future is done, since a pending stop would cut its output."""
        resumed = self._resumed[call] = asyncio.get_running_loop().create_future()
        self._tell(b"c %d" % call)
        return resumed

    def ask_time(self, call: int, then: Callable[[float], None]) -> None:
        """Asks for the processor time that a call has used, in seconds; nothing comes of one that has ended."""
        self._used[call] = then
        self._tell(b"u %d" % call)

    def release(self, call: int) -> None:
        """Leaves the child of an answered call a moment to end by itself, which saves a message, then kills it."""
        if call in self._waiting and call not in self._due:
            self._due[call] = asyncio.get_running_loop().call_later(LEAVING_SECONDS, self.kill, call)

    def kill(self, call: int) -> None:
        """Kills the child of a call, if it still runs; one that is not gone soon takes its interpreter along."""
        if call not in self._waiting:
            return
        if due := self._due.pop(call, None):
            due.cancel()
        if self._tell(b"k %d" % call):
            self._due[call] = asyncio.get_running_loop().call_later(GRACE_SECONDS, self._ending)

    def _tell(self, message: bytes, descriptors: list[int] | None = None) -> bool:
        """Sends a message, or finds that the interpreter is gone."""
        try:
            if self._control is not None:
                socket.send_fds(self._control, [message], descriptors or [])
                return True
        except OSError:
            pass
        self._lose()
        return False

    async def end_when_idle(self) -> None:
        """Waits for the calls under way, each of which is killed at its deadline, and ends the interpreter."""
        if self._waiting:
            await asyncio.wait(list(self._waiting.values()))
        await self.end()

    async def end(self) -> None:
        """Ends the interpreter and every process in it, and removes what its calls left."""
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
            while process.poll() is None and time.monotonic() < deadline:  # noqa: ASYNC110 - nothing tells of it sooner
                await asyncio.sleep(0.002)
            if process.poll() is None:
                with contextlib.suppress(OSError):
                    _kill_children(process.pid)  # bubblewrap's children have a separate group
            # the group, too: children of a back end without namespaces
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
            self._ended(call, Ending(status, milliseconds / 1000, bool(over)))
        elif verb == b"c":
            self._resumed.pop(int(rest)).set_result(None)
        elif verb == b"u":
            call, milliseconds = map(int, rest.split())
            if then := self._used.pop(call, None):
                then(milliseconds / 1000)
        elif verb == b"x":
            self._faulty = True

    def _ended(self, call: int, ending: Ending) -> None:
        if due := self._due.pop(call, None):
            due.cancel()
        if (ended := self._waiting.pop(call, None)) and not ended.done():
            ended.set_result(ending)

    def _lose(self) -> None:
        """Closes the socket, which ends the interpreter, and gives up the calls under way."""
        if self._control is not None:
            asyncio.get_running_loop().remove_reader(self._control.fileno())
            self._control.close()
            self._control = None
        if self._ready and not self._ready.done():
            self._ready.set_exception(ConnectionError("the interpreter ended"))
        for call in list(self._waiting):
            self._ended(call, Ending(0, lost=True))


def _kill_children(pid: int) -> None:
    for child_pid in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        os.kill(int(child_pid), signal.SIGKILL)
