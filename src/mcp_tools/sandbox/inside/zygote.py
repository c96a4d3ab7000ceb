"""The warm interpreter: keeps imports loaded, forks one child per call, tells how each ended.

It is started afresh with an empty environment. Over its control socket, whose number is its first argument, the
host sends `r ID` with four descriptors (job, result, output, errors) and `k ID` to kill; for a session, whose child
stays, `b ID CPU_MS` when a block of code begins and `p ID` when the child pauses after it. It answers `R {…}` once when
it is ready, `d ID STATUS CPU_MS OVER_QUOTA` when a child has ended, `c ID` when a block has used its processor time,
and `x` when what a call left behind cannot be removed. Its end is the end of every child.
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import importlib
import importlib.machinery
import json
import os
import select
import signal
import sys
import time

from . import child
from .child import receive, send, socket_pair
from .confinement import (
    Confinement,
    drop_capabilities,
    landlock_abi,
    lead_through,
    others_reach,
    show_in_proc,
    used_address_space,
)
from .scratch import Scratch, remove

TYPE_CHECKING = False  # `typing` is not imported: see call.py
if TYPE_CHECKING:
    from typing import Any, NoReturn

_FIRST_CALL_MILLISECONDS = 20
"""How long to wait for a first call before doing what can be done later."""
_SPARES = 2
"""Children that wait for calls."""
_WATCH_SECONDS = 0.05
"""How often the folders of running calls are looked at."""
_WATCH_SHARE = 5
"""Looking at them takes no more than one part in so many of the time."""
_REMOVAL_SECONDS = 60
_OWN_MODULES = ("schema",)
_RESERVED_DESCRIPTORS = 10
"""Numbers below are for children's own use: nothing of the warm interpreter may sit there."""


class Zygote:
    """The loop of the warm interpreter.

    Args:
        control: The socket to the host.
        settings: What the host's `Settings` says, as JSON.
    """

    def __init__(self, control: int, settings: dict[str, Any]) -> None:
        self._control = control
        self._readable: list[str] = settings["readable"]
        self._roots: list[str] = settings["scratch"]  # those that no call has
        self._private: bool = settings["scratch_is_private"]
        self._keep: list[int] = []
        self._confinement = Confinement(
            settings["readable"],
            settings["devices"],
            settings["layers"],
            metadata=settings["deny_metadata"],
            capped=settings["user_is_private"] and (os.getuid() != 0 or settings["user"] is not None),
        )
        if settings["user"] is not None:
            # after the grants were opened: a private home above them is closed to the user to be
            self._leave_root(settings["user"])
        if settings["hidden"]:
            sys.meta_path.insert(0, _Hidden(settings["hidden"]))
        self._granted = settings["granted"]
        needed = [*_OWN_MODULES, "session"] if settings["has_session"] else _OWN_MODULES
        own = [f"{__package__}.{name}" for name in needed]
        self._later = [*own, "traceback", *settings["preload"]]
        self._children: dict[int, tuple[int, Scratch]] = {}  # pid -> (call, its folder)
        self._spares: dict[int, tuple[int, Scratch]] = {}  # pid -> (line to it, its folder)
        self._removers: dict[int, Scratch] = {}
        self._queue: list[tuple[int, list[int]]] = []  # calls that came while no root was free
        self._over: set[int] = set()  # children killed for what they put into their folders
        self._allowed: dict[int, float] = {}  # processor time at which the block of a session's child is over
        self._paused: set[int] = set()
        self._next_watch = 0.0
        self._used: int | None = None
        self._woken, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)

    def _leave_root(self, users: list[int]) -> None:
        """Becomes an unprivileged user; imports go on through descriptors that were opened before.

        A folder under a private home cannot be reached by path any more, but beneath an open descriptor it can.
        """
        folders = [*filter(os.path.isdir, sys.path), os.path.dirname(__file__)]
        self._keep = [os.open(path, os.O_PATH | os.O_CLOEXEC) for path in folders]
        reachable = all(others_reach(path) for path in folders)
        for user in users:
            try:
                for root in self._roots:
                    os.chown(root, user, user)
                os.setgroups([])
                os.setresgid(user, user, user)
                os.setresuid(user, user, user)
                break
            except OSError:
                continue
        else:
            drop_capabilities()  # root of a namespace that has no other user
        if not self._private:
            show_in_proc()
        if reachable:
            for descriptor in self._keep:
                os.close(descriptor)
            self._keep = []
        else:
            lead_through(folders, self._keep)

    def prepare(self, packages: list[str]) -> None:
        """Loads what calls need at once, tries the layers out, and tells the host."""
        vars(builtins).update(exit=sys.exit, quit=sys.exit)  # `site`, which brings them, is not loaded
        # fills the listings of `sys.path`: children may read what is in the folders, but not list them
        importlib.machinery.PathFinder.find_spec("alita_fills_the_listings")
        for name in packages:
            with contextlib.suppress(Exception):  # the call that imports it gets the error
                importlib.import_module(name)
        if "numpy" in sys.modules:
            with contextlib.suppress(Exception):
                importlib.import_module("numpy.random")  # which numpy itself leaves for later
        sys.set_int_max_str_digits(0)  # the time limit bounds what long numbers cost
        child.make_streams()
        child.rehearse(1)  # the first compilation of a process takes ten times as long as the next
        gc.collect()
        gc.freeze()
        gc.disable()
        found = self._examined()
        ready = {
            "layers": self._confinement.layers,
            "landlock_abi": landlock_abi(),
            "errors": self._confinement.errors,
            "root": os.geteuid() == 0,
            **found,
        }
        send(self._control, b"R " + json.dumps(ready).encode())

    def serve(self) -> NoReturn:
        """Forks, kills and buries children until the host hangs up."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        patience = _FIRST_CALL_MILLISECONDS
        while True:
            idle = not self._children if self._later else len(self._spares) < _SPARES and bool(self._roots)
            watching = _WATCH_SECONDS * 1000 if len(self._children) > len(self._paused) else None
            events = dict(poll.poll(patience if idle else watching))
            if not events and idle:
                self._use_leisure()
                patience = 0
            if self._woken in events:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._woken, 4096)
                self._bury()
            if self._control in events:
                self._obey()
            if watching and time.monotonic() >= self._next_watch:
                self._watch()

    def _use_leisure(self) -> None:
        """Imports the next module; when all are there, forks the child of the next call ahead of it."""
        if not self._later:
            self._keep_spare()
            return
        with contextlib.suppress(Exception):
            importlib.import_module(self._later.pop(0))
        self._used = None
        if not self._later:
            child.rehearse(12)
            gc.collect()
            gc.freeze()

    def _obey(self) -> None:
        message, descriptors = receive(self._control)
        if not message:
            for pid in (*self._children, *self._removers):
                os.kill(pid, signal.SIGKILL)
            os._exit(0)
        verb, *numbers = message.decode().split()
        call_id = int(numbers[0])
        if verb == "r":
            self._start(call_id, descriptors)
        if verb == "k":
            self._kill(call_id)
        for pid in [pid for pid, (known, _) in self._children.items() if known == call_id]:
            if verb == "b":
                self._paused.discard(pid)
                self._allowed[pid] = _processor_time(pid) + int(numbers[1]) / 1000
                os.kill(pid, signal.SIGCONT)
            if verb == "p":
                self._paused.add(pid)
                self._allowed.pop(pid, None)
                os.kill(pid, signal.SIGSTOP)

    def _start(self, call_id: int, descriptors: list[int]) -> None:
        if not self._hand_over(call_id, descriptors):
            if not self._roots:
                self._queue.append((call_id, descriptors))
                return
            scratch = self._scratch()
            place = self._place(scratch)
            pid = os.fork()
            if pid == 0:
                child.live(place, descriptors)
            self._children[pid] = (call_id, scratch)
        for descriptor in descriptors:
            os.close(descriptor)

    def _kill(self, call_id: int) -> None:
        for pid, (known, _) in self._children.items():
            if known == call_id:
                os.kill(pid, signal.SIGKILL)
        for queued in self._queue:
            if queued[0] == call_id:
                self._queue.remove(queued)
                for descriptor in queued[1]:
                    os.close(descriptor)
                self._tell_end(call_id, signal.SIGKILL)
                return

    def _watch(self) -> None:
        """Kills the calls whose folders hold too much, and tells of blocks that have computed too long."""
        started = time.monotonic()
        for pid, (call_id, scratch) in self._children.items():
            if pid in self._paused:
                continue
            allowed = self._allowed.get(pid)
            if allowed is not None and _processor_time(pid) > allowed:
                del self._allowed[pid]
                send(self._control, b"c %d" % call_id)
            if pid not in self._over and scratch.is_over_quota(pid):
                self._over.add(pid)
                os.kill(pid, signal.SIGKILL)
        ended = time.monotonic()
        self._next_watch = ended + max(_WATCH_SECONDS, _WATCH_SHARE * (ended - started))

    def _scratch(self) -> Scratch:
        return Scratch(self._roots.pop(), private=self._private)

    def _place(self, scratch: Scratch) -> child.Place:
        if self._used is None:
            self._used = used_address_space()
        return child.Place(self._confinement, scratch.path, self._used, self._granted, self._keep)

    def _keep_spare(self) -> None:
        ours, theirs = socket_pair()
        scratch = self._scratch()
        place = self._place(scratch)
        pid = os.fork()
        if pid == 0:
            child.wait(place, theirs)
        os.close(theirs)
        self._spares[pid] = (ours, scratch)

    def _hand_over(self, call_id: int, descriptors: list[int]) -> bool:
        """Gives the call to the child that waits the longest, if there is any."""
        for pid, (line, scratch) in list(self._spares.items()):
            del self._spares[pid]
            try:
                send(line, b"r", descriptors)
            except OSError:
                self._children[pid] = (0, scratch)  # it has ended; no call has this number
                continue
            finally:
                os.close(line)
            self._children[pid] = (call_id, scratch)
            return True
        return False

    def _bury(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid in self._spares:
                    line, scratch = self._spares.pop(pid)
                    os.close(line)
                    self._clear(scratch)
                elif pid in self._children:
                    call_id, scratch = self._children.pop(pid)
                    milliseconds = int((usage.ru_utime + usage.ru_stime) * 1000)
                    self._tell_end(call_id, status, milliseconds, over=pid in self._over)
                    self._over.discard(pid)
                    self._paused.discard(pid)
                    self._allowed.pop(pid, None)
                    self._clear(scratch)
                elif pid in self._removers:
                    scratch = self._removers.pop(pid)
                    if status == 0:
                        self._reuse(scratch)
                    else:
                        send(self._control, b"x")

    def _tell_end(self, call_id: int, status: int, milliseconds: int = 0, *, over: bool = False) -> None:
        send(self._control, b"d %d %d %d %d" % (call_id, status, milliseconds, over))

    def _clear(self, scratch: Scratch) -> None:
        """Removes a call's folder; a full one by a process of its own, so that no other call waits for it."""
        try:
            os.rmdir(scratch.path)
        except OSError:
            pid = os.fork()
            if pid == 0:
                _remove(scratch)
            self._removers[pid] = scratch
        else:
            self._reuse(scratch)

    def _reuse(self, scratch: Scratch) -> None:
        self._roots.append(scratch.root)
        if self._queue:
            self._start(*self._queue.pop(0))

    def _examined(self) -> dict[str, Any]:
        scratch = self._scratch()
        place = self._place(scratch)
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            child.examine(place, write)
        os.close(write)
        found = os.read(read, 65536)
        os.close(read)
        os.waitpid(pid, 0)
        os.rmdir(scratch.path)
        self._roots.append(scratch.root)
        result: dict[str, Any] = json.loads(found or b'{"error": "the trial child ended without a word"}')
        return result


class _Hidden:
    """Packages that stand beside the granted ones are not there: what can do without them must not fail at reading."""

    def __init__(self, names: list[str]) -> None:
        self._names = frozenset(names)

    def find_spec(self, fullname: str, *_: object) -> None:
        """Ends the search for a hidden module."""
        if fullname in self._names:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


def _remove(scratch: Scratch) -> NoReturn:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_REMOVAL_SECONDS)
    try:
        remove(scratch.path)
    except BaseException:  # noqa: BLE001 - all of it means that the folder is still there
        os._exit(1)
    os._exit(0)


def _processor_time(pid: int) -> float:
    """What a child has used, in seconds: its clock is numbered as the kernel numbers those of processes."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0  # it has ended


def _vacate_low_descriptors(control: int) -> int:
    import fcntl

    moved = fcntl.fcntl(control, fcntl.F_DUPFD_CLOEXEC, _RESERVED_DESCRIPTORS + 1)
    os.close(control)
    while (spare := os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)) < _RESERVED_DESCRIPTORS:
        continue
    os.close(spare)
    return moved


def main() -> NoReturn:
    """Runs the warm interpreter: its arguments are the control descriptor and the settings as JSON."""
    control = _vacate_low_descriptors(int(sys.argv[1]))
    settings = json.loads(sys.argv[2])
    sys.argv = [""]
    os.umask(0o022)
    zygote = Zygote(control, settings)
    zygote.prepare(settings["packages"])
    zygote.serve()
