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
import signal
import sys

from . import channel, child, landlock
from .confinement import Confinement, used_address_space

TYPE_CHECKING = False  # `typing` is not imported: see call.py
if TYPE_CHECKING:
    from typing import Any, NoReturn

_CAPABILITY_VERSION_3 = 0x20080522
_FIRST_CALL_MILLISECONDS = 20
"""How long to wait for a first call before doing what can be done later."""
_SPARES = 2
"""Children that wait for calls."""
_OWN_MODULES = ("arguments", "schema")
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
        if settings["hidden"]:
            sys.meta_path.insert(0, _Hidden(settings["hidden"]))
        self._granted = settings["granted"]
        own = [f"{__package__}.{name}" for name in _OWN_MODULES]
        self._later = [*own, "traceback", *settings["preload"]]
        self._children: dict[int, tuple[int, str]] = {}  # pid -> (call, scratch folder)
        self._spares: dict[int, tuple[int, str]] = {}  # pid -> (line to it, scratch folder)
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
            "landlock_abi": landlock.abi(),
            "errors": self._confinement.errors,
            "root": os.geteuid() == 0,
            **found,
        }
        channel.send(self._control, b"R " + json.dumps(ready).encode())

    def serve(self) -> NoReturn:
        """Forks, kills and buries children until the host hangs up."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(self._woken, select.POLLIN)
        patience = _FIRST_CALL_MILLISECONDS
        while True:
            idle = not self._children if self._later else len(self._spares) < _SPARES
            events = dict(poll.poll(patience if idle else None))
            if not events and idle:
                self._use_leisure()
                patience = 0
            if self._woken in events:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._woken, 4096)
                self._bury()
            if self._control in events:
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
        message, descriptors = channel.receive(self._control)
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
        ours, theirs = channel.pair()
        place = self._place()
        pid = os.fork()
        if pid == 0:
            child.wait(place, theirs)
        os.close(theirs)
        self._spares[pid] = (ours, place.scratch)

    def _hand_over(self, call_id: int, descriptors: list[int]) -> bool:
        """Gives the call to the child that waits the longest, if there is any."""
        for pid, (line, scratch) in list(self._spares.items()):
            del self._spares[pid]
            try:
                channel.send(line, b"r", descriptors)
            except OSError:
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
                    _remove(scratch)
                if pid in self._children:
                    call_id, scratch = self._children.pop(pid)
                    _remove(scratch)
                    milliseconds = int((usage.ru_utime + usage.ru_stime) * 1000)
                    said = b"d %d %d %d %d" % (call_id, status, usage.ru_maxrss, milliseconds)
                    channel.send(self._control, said)

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


class _Hidden:
    """Packages that stand beside the granted ones are not there: what can do without them must not fail at reading."""

    def __init__(self, names: list[str]) -> None:
        self._names = frozenset(names)

    def find_spec(self, fullname: str, *_: object) -> None:
        """Ends the search for a hidden module."""
        if fullname in self._names:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)


def _remove(scratch: str) -> None:
    """Removes a call's folder; a full one by a process of its own, so that no other call waits for it."""
    with contextlib.suppress(OSError):
        os.rmdir(scratch)
        return
    if os.fork() == 0:
        import shutil

        sys.setrecursionlimit(100_000)
        with contextlib.suppress(BaseException):
            os.chmod(scratch, 0o700)
            shutil.rmtree(scratch, ignore_errors=True)
        os._exit(0)


def _lead_through(folders: list[str], descriptors: list[int]) -> None:
    """Makes imports, those from packages loaded already too, go through open descriptors of their folders."""
    places = {path: f"/proc/self/fd/{number}" for path, number in zip(folders, descriptors, strict=True)}
    longest_first = sorted(places, key=len, reverse=True)
    sys.path[:] = [places[path] for path in sys.path if path in places]
    for module in list(sys.modules.values()):
        for i, path in enumerate(getattr(module, "__path__", ())):
            folder = next((f for f in longest_first if f"{path}/".startswith(f"{f}/")), None)
            if folder is not None:
                module.__path__[i] = places[folder] + path[len(folder) :]
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
    control = _vacate_low_descriptors(int(sys.argv[1]))
    settings = json.loads(sys.argv[2])
    sys.argv = [""]
    os.umask(0o022)
    zygote = Zygote(control, settings)
    zygote.prepare(settings["packages"])
    zygote.serve()
