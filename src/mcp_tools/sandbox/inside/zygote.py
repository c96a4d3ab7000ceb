"""The warm interpreter: it keeps imports loaded, forks one child per call, and reports how each child ended.

It starts with an empty environment. Its standard input is the control socket, over which the host sends:

- `r CALL` with four descriptors (job, result, stdout, stderr): start a child
- `k CALL`: kill it
- `p CALL` and `c CALL`: pause a session's child after a block of code, and let it continue, which is confirmed
- `u CALL`: report its processor time in milliseconds

The interpreter sends `R {…}` once it is ready, `d CALL STATUS CPU_MS OVER_QUOTA` when a child has exited, and `x` if a
call's files cannot be removed. When the interpreter exits, the kernel kills all children.
"""

from __future__ import annotations

import builtins
import contextlib
import fcntl
import gc
import importlib
import importlib.machinery
import json
import os
import select
import signal
import socket
import sys
import time
from typing import Any, NoReturn

from . import child
from .confinement import (
    Confinement,
    drop_capabilities,
    import_through_descriptors,
    landlock_abi,
    show_in_proc,
    used_address_space,
)
from .frames import make_streams
from .scratch import change_owner, held_deleted, is_full, is_over_quota, remove

_QUOTA_CHECK_SECONDS = 0.05
_QUOTA_CHECK_PAUSE = 5
"""Minimum pause after a quota check, as a multiple of the check's duration."""
_REMOVAL_SECONDS = 60
_RESERVED_DESCRIPTORS = 10
"""Number of the lowest descriptors, which are reserved for children. The warm interpreter must not use them."""


class _Child:
    def __init__(self, call: int, root: str, folder: str) -> None:
        self.call = call
        self.root = root
        self.folder = folder
        self.over_quota = False
        self.paused = False


class ZygoteLoop:
    """The main loop of the warm interpreter. The host's `interpreter_command` documents the settings."""

    def __init__(self, control: socket.socket, settings: dict[str, Any]) -> None:
        self._control = control
        self._roots: list[str] = settings["scratch"]  # scratch folders that are free
        self._private: bool = settings["scratch_is_private"]
        self._writable: list[tuple[str, int, int]] = settings["writable"]
        self._confinement = Confinement(
            settings["readable"],
            settings["devices"],
            [path for path, _, _ in self._writable],
            settings["layers"],
            metadata=not self._private,
            capped=settings["user_is_private"] and (os.getuid() != 0 or bool(settings["users"])),
            expected={path: (device, inode) for path, device, inode in settings["granted"]},
        )
        self._confinement.library = settings["library"]
        self._confinement.untrusted = settings["untrusted"]
        self._confinement.granted = [path for path, _, _ in settings["granted"]]
        if settings["users"]:
            # only after the grants are open, because the new user may be unable to reach a private home directory
            self._leave_root(settings["users"])
        sys.modules.update(dict.fromkeys(settings["absent"]))  # None makes an import fail
        self._children: dict[int, _Child] = {}  # by pid
        self._removers: dict[int, str] = {}  # by pid: the scratch folder that the process empties
        self._queue: list[tuple[int, list[int]]] = []  # waiting calls with their descriptors
        self._next_check = 0.0
        self._woken, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)

    def _leave_root(self, users: list[int]) -> None:
        """Switch to an unprivileged user while keeping imports working."""
        if not self._private:
            folders = [*filter(os.path.isdir, sys.path), *self._confinement.untrusted, os.path.dirname(__file__)]
            import_through_descriptors(self._confinement, folders)
        for user in users:
            try:
                for root in self._roots:
                    os.chown(root, user, user)
                for folder, _, _ in self._writable:
                    change_owner(folder, user)
                os.setgroups([])
                os.setresgid(user, user, user)
                os.setresuid(user, user, user)
                break
            except OSError:
                continue
        else:
            drop_capabilities()  # we are root in a namespace that has no other users
        if not self._private:
            show_in_proc()

    def prepare(self, packages: list[str]) -> None:
        """Load packages, test the layers, and report to the host."""
        vars(builtins).update(exit=sys.exit, quit=sys.exit)  # usually defined by `site`, which we do not load
        # caches the directory listings of `sys.path`, which children inherit
        importlib.machinery.PathFinder.find_spec("alita_fills_the_listings")
        importlib.machinery.PathFinder.find_spec("alita_fills_the_listings", self._confinement.untrusted)
        _import(packages)
        if "numpy" in sys.modules:
            with contextlib.suppress(Exception):
                importlib.import_module("numpy.random")  # numpy would import it lazily, in each child
        sys.set_int_max_str_digits(0)  # the time limit already bounds the cost of long integers
        make_streams()
        self._confinement.used = used_address_space()
        missing = [f"{layer}: {reason}" for layer, reason in self._confinement.errors.items()]
        ready = {
            "layers": self._confinement.layers,
            "landlock_abi": landlock_abi(),
            "root": os.geteuid() == 0,
            "changed": self._confinement.changed,
            "faults": [*missing, *self._test_layers()],
        }
        self._control.send(b"R " + json.dumps(ready).encode())

    def load(self, modules: list[str]) -> None:
        """Load modules that most calls need, once for all children. The host does not wait for this to finish."""
        _import(modules)
        child.warm_up()
        gc.disable()
        gc.collect()
        gc.freeze()
        self._confinement.used = used_address_space()

    def serve(self) -> NoReturn:
        """Start, kill and reap children until the host closes the socket."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        while True:
            watching = not all(one.paused for one in self._children.values())
            events = dict(poll.poll(_QUOTA_CHECK_SECONDS * 1000 if watching else None))
            if self._woken in events:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._woken, 4096)
                self._reap()
            if self._control.fileno() in events:
                self._obey()
            if watching and time.monotonic() >= self._next_check:
                self._check_quotas()

    def _obey(self) -> None:
        message, descriptors, _, _ = socket.recv_fds(self._control, 4096, 8)
        if not message:
            for pid in (*self._children, *self._removers):
                os.kill(pid, signal.SIGKILL)
            os._exit(0)
        verb, number = message.decode().split()
        call = int(number)
        running = next((pid for pid, one in self._children.items() if one.call == call), 0)
        if verb == "r":
            self._queue.append((call, descriptors))
            self._start_calls()
        elif verb == "k":
            self._kill(call, running)
        elif verb == "u":
            self._control.send(b"u %d %d" % (call, _cpu_milliseconds(running) if running else 0))
        elif running:
            self._children[running].paused = verb == "p"
            os.kill(running, signal.SIGSTOP if verb == "p" else signal.SIGCONT)
        if verb == "c":
            self._next_check = 0.0  # a slow check of an earlier block must not delay the next one
            self._control.send(b"c %d" % call)

    def _start_calls(self) -> None:
        """Fork a child for each waiting call while there are free scratch folders."""
        while self._queue and self._roots:
            call, descriptors = self._queue.pop(0)
            root = self._roots.pop()
            folder = os.path.join(root, os.urandom(12).hex())
            os.mkdir(folder, 0o700)
            pid = os.fork()
            if pid == 0:
                child.live(self._confinement, folder, descriptors)
            self._children[pid] = _Child(call, root, folder)
            for descriptor in descriptors:
                os.close(descriptor)

    def _kill(self, call: int, running: int) -> None:
        if running:
            os.kill(running, signal.SIGKILL)
        for queued in [queued for queued in self._queue if queued[0] == call]:
            self._queue.remove(queued)
            for descriptor in queued[1]:
                os.close(descriptor)
            self._control.send(b"d %d %d 0 0" % (call, signal.SIGKILL))

    def _check_quotas(self) -> None:
        started = time.monotonic()
        for pid, one in self._children.items():
            if one.paused or one.over_quota:
                continue
            # without a private scratch folder, `is_over_quota` counts deleted files
            folders = [path for path, _, _ in self._writable]
            held = held_deleted(pid, folders) if folders and self._private else 0
            if is_over_quota(one.folder, pid, private=self._private) or any(
                is_full(*place, held) for place in self._writable
            ):
                one.over_quota = True
                os.kill(pid, signal.SIGKILL)
        ended = time.monotonic()
        self._next_check = ended + max(_QUOTA_CHECK_SECONDS, _QUOTA_CHECK_PAUSE * (ended - started))

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid in self._removers:
                    root = self._removers.pop(pid)
                    if status == 0:
                        self._reuse(root)
                    else:
                        self._control.send(b"x")
                elif (one := self._children.pop(pid, None)) is not None:
                    milliseconds = int((usage.ru_utime + usage.ru_stime) * 1000)
                    self._control.send(b"d %d %d %d %d" % (one.call, status, milliseconds, one.over_quota))
                    self._clear(one)

    def _clear(self, one: _Child) -> None:
        """Remove a call's folder. If it is not empty, a separate process does it, so that other calls need not wait."""
        try:
            os.rmdir(one.folder)
        except OSError:
            pid = os.fork()
            if pid == 0:
                _remove(one.folder)
            self._removers[pid] = one.root
        else:
            self._reuse(one.root)

    def _reuse(self, root: str) -> None:
        self._roots.append(root)
        self._start_calls()

    def _test_layers(self) -> list[str]:
        folder = os.path.join(self._roots[0], "trial")
        os.mkdir(folder, 0o700)
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            child.examine(self._confinement, folder, write)
        os.close(write)
        found = os.read(read, 65536)
        os.close(read)
        os.waitpid(pid, 0)
        os.rmdir(folder)
        faults: list[str] = json.loads(found or b'["the test child ended without a report"]')
        return faults


def _import(modules: list[str]) -> None:
    for name in modules:
        before = {*sys.modules}
        try:
            importlib.import_module(name)
        except Exception:  # noqa: BLE001 - the call that imports it will get the error
            for half in sys.modules.keys() - before:
                del sys.modules[half]


def _cpu_milliseconds(pid: int) -> int:
    """Return the processor time of all threads of a process, even without /proc."""
    with contextlib.suppress(OSError):
        return int(time.clock_gettime(~pid << 3 | 2) * 1000)  # CPUCLOCK_SCHED of a process, see clock_getcpuclockid(3)
    return 0


def _remove(folder: str) -> NoReturn:
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_REMOVAL_SECONDS)
    try:
        remove(folder)
    except BaseException:  # noqa: BLE001 - after any failure, the folder still exists
        os._exit(1)
    os._exit(0)


def main() -> NoReturn:
    """Run the warm interpreter. The command-line argument contains its settings as JSON."""
    control = socket.socket(fileno=fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, _RESERVED_DESCRIPTORS + 1))
    os.dup2(os.open("/dev/null", os.O_RDWR), 0)
    while (last := os.open("/dev/null", os.O_RDWR | os.O_CLOEXEC)) < _RESERVED_DESCRIPTORS:
        continue
    os.close(last)
    settings = json.loads(sys.argv[1])
    sys.argv = [""]
    os.umask(0o022)
    zygote = ZygoteLoop(control, settings)
    zygote.prepare(settings["packages"])
    zygote.load(settings["preload"])
    zygote.serve()
