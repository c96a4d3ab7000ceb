"""The warm interpreter: keeps imports loaded, forks one child per call, tells how each ended.

It is started afresh with an empty environment. Over its control socket, whose number is its first argument, the
host sends `r ID` with four descriptors (job, result, output, errors) and `k ID`; it answers `R {…}` once when
it is ready, and `d ID STATUS MAXRSS_KB CPU_MS` when a child has ended. Its end is the end of every child.
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
import shutil
import signal
import socket
import sys
from typing import Any, NoReturn

from . import child, landlock
from .confinement import Confinement, used_address_space

_CAPABILITY_VERSION_3 = 0x20080522
_RESERVED_DESCRIPTORS = 10
"""Numbers below are for children's own use: nothing of the warm interpreter may sit there."""


class Zygote:
    """The loop of the warm interpreter.

    Args:
        control: The socket to the host.
        settings: What the host's `Settings` says, as JSON.
    """

    def __init__(self, control: socket.socket, settings: dict[str, Any]) -> None:
        self._control = control
        self._readable: list[str] = settings["readable"]
        self._scratch: str = settings["scratch"]
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
        self._granted = settings["granted"]
        self._later = list(settings["preload"])
        self._children: dict[int, tuple[int, str]] = {}  # pid -> (call, scratch folder)
        self._spare: tuple[int, socket.socket, str] | None = None  # pid, line to it, scratch folder
        self._used: int | None = None
        self._woken, wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)

    def _leave_root(self, users: list[int]) -> None:
        """Becomes an unprivileged user; imports go on through descriptors that were opened before.

        A folder under a private home cannot be reached by path any more, but beneath an open descriptor it can.
        """
        folders = [path for path in sys.path if os.path.isdir(path)]
        self._keep = [os.open(path, os.O_PATH | os.O_CLOEXEC) for path in folders]
        reachable = all(_others_reach(path) for path in folders)
        for user in users:
            try:
                os.chown(self._scratch, user, user)
                os.setgroups([])
                os.setresgid(user, user, user)
                os.setresuid(user, user, user)
                break
            except OSError:
                continue
        else:
            _drop_capabilities()  # root of a namespace that has no other user
        if reachable:
            for descriptor in self._keep:
                os.close(descriptor)
            self._keep = []
        else:
            _lead_through(folders, self._keep)

    def prepare(self, packages: list[str]) -> None:
        """Loads what calls need at once, tries the layers out, and tells the host."""
        vars(builtins).update(exit=sys.exit, quit=sys.exit)  # `site`, which brings them, is not loaded
        # fills the listings of `sys.path`: children may read what is in the folders, but not list them
        importlib.machinery.PathFinder.find_spec("alita_fills_the_listings")
        for name in packages:
            with contextlib.suppress(Exception):  # the call that imports it gets the error
                importlib.import_module(name)
        sys.set_int_max_str_digits(0)  # the time limit bounds what long numbers cost
        child.make_streams()
        child.rehearse(1)  # the first compilation of a process takes ten times as long as the next
        gc.collect()
        gc.freeze()
        gc.disable()
        found = self._examined()
        ready = {
            "layers": self._confinement.layers,
            "landlock_abi": landlock.abi(),
            "errors": self._confinement.errors,
            "root": os.geteuid() == 0,
            **found,
        }
        self._control.send(b"R " + json.dumps(ready).encode())

    def serve(self) -> NoReturn:
        """Forks, kills and buries children until the host hangs up."""
        poll = select.poll()
        poll.register(self._control.fileno(), select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        while True:
            idle = not self._children if self._later else self._spare is None
            events = dict(poll.poll(0 if idle else None))
            if not events and idle:
                self._use_leisure()
            if self._woken in events:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._woken, 4096)
                self._bury()
            if self._control.fileno() in events:
                self._obey()

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
        message, descriptors, _, _ = socket.recv_fds(self._control, 4096, 8)
        if not message:
            os._exit(0)
        verb, number = message.decode().split()
        call_id = int(number)
        if verb == "r" and not self._hand_over(call_id, descriptors):
            place = self._place()
            pid = os.fork()
            if pid == 0:
                child.live(place, descriptors)
            self._children[pid] = (call_id, place.scratch)
        for descriptor in descriptors:
            os.close(descriptor)
        if verb == "k":
            for pid, (known, _) in self._children.items():
                if known == call_id:
                    os.kill(pid, signal.SIGKILL)

    def _place(self) -> child.Place:
        if self._used is None:
            self._used = used_address_space()
        scratch = os.path.join(self._scratch, os.urandom(12).hex())
        os.mkdir(scratch, 0o700)
        return child.Place(self._confinement, scratch, self._used, self._granted, self._keep)

    def _keep_spare(self) -> None:
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        place = self._place()
        pid = os.fork()
        if pid == 0:
            child.wait(place, theirs.fileno())
        theirs.close()
        self._spare = (pid, ours, place.scratch)

    def _hand_over(self, call_id: int, descriptors: list[int]) -> bool:
        """Gives the call to the child that waits for one, if there is any."""
        if self._spare is None:
            return False
        pid, line, scratch = self._spare
        self._spare = None
        with line:
            try:
                socket.send_fds(line, [b"r"], descriptors)
            except OSError:
                return False
        self._children[pid] = (call_id, scratch)
        return True

    def _bury(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
                if pid == 0:
                    return
                if self._spare is not None and pid == self._spare[0]:
                    self._spare[1].close()
                    self._spare = None
                if pid in self._children:
                    call_id, scratch = self._children.pop(pid)
                    _remove(scratch)
                    milliseconds = int((usage.ru_utime + usage.ru_stime) * 1000)
                    self._control.send(b"d %d %d %d %d" % (call_id, status, usage.ru_maxrss, milliseconds))

    def _examined(self) -> dict[str, Any]:
        place = self._place()
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            child.examine(place, write)
        os.close(write)
        found = os.read(read, 65536)
        os.close(read)
        os.waitpid(pid, 0)
        os.rmdir(place.scratch)
        result: dict[str, Any] = json.loads(found or b'{"error": "the trial child ended without a word"}')
        return result


def _remove(scratch: str) -> None:
    """Removes a call's folder; a full one by a process of its own, so that no other call waits for it."""
    with contextlib.suppress(OSError):
        os.rmdir(scratch)
        return
    if os.fork() == 0:
        sys.setrecursionlimit(100_000)
        with contextlib.suppress(BaseException):
            os.chmod(scratch, 0o700)
            shutil.rmtree(scratch, ignore_errors=True)
        os._exit(0)


def _lead_through(folders: list[str], descriptors: list[int]) -> None:
    """Makes imports, those from packages loaded already too, go through open descriptors of their folders."""
    places = {path: f"/proc/self/fd/{number}" for path, number in zip(folders, descriptors, strict=True)}
    sys.path[:] = places.values()
    for module in list(sys.modules.values()):
        for i, path in enumerate(getattr(module, "__path__", ())):
            for folder, place in sorted(places.items(), key=lambda item: len(item[0]), reverse=True):
                if path.startswith(folder + "/"):
                    module.__path__[i] = place + path[len(folder) :]
                    break
    sys.path_importer_cache.clear()


def _drop_capabilities() -> None:
    """Gives up every capability of this process."""
    import ctypes

    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    if ctypes.CDLL(None, use_errno=True).capset(header, (ctypes.c_uint32 * 6)()) != 0:
        raise PermissionError("the capabilities of root cannot be given up")


def _others_reach(path: str) -> bool:
    while True:
        if not os.stat(path).st_mode & 0o001:
            return False
        if path == "/":
            return True
        path = os.path.dirname(path)


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
    control = socket.socket(fileno=_vacate_low_descriptors(int(sys.argv[1])))
    settings = json.loads(sys.argv[2])
    sys.argv = [""]
    os.umask(0o022)
    zygote = Zygote(control, settings)
    zygote.prepare(settings["packages"])
    zygote.serve()
