"""What every call is put under: limits, Landlock, the system-call filter."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import resource
import sys

from . import landlock, seccomp

TYPE_CHECKING = False  # `typing` is not imported: see call.py
if TYPE_CHECKING:
    from typing import Any

MAXIMUM_DESCRIPTORS = 256
MAXIMUM_THREADS = 1024
"""Counted for the sandbox's user as a whole, where the kernel counts."""

_prctl = ctypes.CDLL(None).prctl
_MIB = 1 << 20
_RESERVE = 64 * _MIB
"""Address space kept back so that a call out of memory can still say so."""
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _SIGKILL = 1, 4, 9


class Confinement:
    """The layers of a child, prepared once in the warm interpreter.

    Args:
        readable: Files and folders that children may read.
        devices: Device files that they may read and write.
        wanted: Which layers to prepare: `landlock`, `seccomp`.
        metadata: Whether the filter must deny changes of modes, owners and times too.
        capped: Whether a process limit makes sense for this user.
    """

    def __init__(
        self, readable: list[str], devices: list[str], wanted: list[str], *, metadata: bool, capped: bool
    ) -> None:
        self.errors: dict[str, str] = {}
        """Why a wanted layer is not there."""
        self._capped = capped
        self._grants: landlock.Grants | None = None
        self._filter: seccomp.Filter | None = None
        if "landlock" in wanted:
            try:
                self._grants = landlock.Grants(readable, devices)
            except OSError as error:
                self.errors["landlock"] = str(error)
        if "seccomp" in wanted:
            try:
                self._filter = seccomp.Filter(seccomp.template(platform_machine(), metadata=metadata))
            except KeyError:
                self.errors["seccomp"] = f"no table of system calls for {platform_machine()}"

    @property
    def layers(self) -> list[str]:
        """The layers that each child gets."""
        layers = ["rlimits"]
        if self._grants:
            layers.append("landlock")
        if self._filter:
            layers.append("seccomp")
        return layers

    def enter(self, scratch: str) -> None:
        """Ties the child to the warm interpreter's life and to what it may reach.

        Raises:
            OSError: A layer could not be put on.
        """
        _prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
        if self._grants:
            self._grants.confine(scratch)

    def filter(self) -> None:
        """Denies system calls from here on. Forking is over.

        Raises:
            OSError: The kernel refused the filter.
        """
        if self._filter:
            self._filter.install()

    def limit(self, limits: dict[str, Any], used: int) -> None:
        """Sets the limits.

        Args:
            limits: The host's `Limits` as JSON; without `cpu_seconds` the processor's time is counted outside.
            used: Address space that the warm interpreter takes already, in bytes.

        Raises:
            OSError: The kernel refused one.
        """
        memory = used + limits["memory_mb"] * _MIB
        wanted = {
            resource.RLIMIT_AS: (memory, memory + _RESERVE),
            resource.RLIMIT_FSIZE: (limits["file_bytes"], limits["file_bytes"]),
            resource.RLIMIT_NOFILE: (MAXIMUM_DESCRIPTORS, MAXIMUM_DESCRIPTORS),
            resource.RLIMIT_CORE: (0, 0),
        }
        if "cpu_seconds" in limits:
            cpu = max(1, int(-(-limits["cpu_seconds"] // 1)))
            wanted[resource.RLIMIT_CPU] = (cpu, cpu + 1)
        if self._capped:
            wanted[resource.RLIMIT_NPROC] = (MAXIMUM_THREADS, MAXIMUM_THREADS)
        for kind, (soft, hard) in wanted.items():
            _set_limit(kind, soft, hard)

    def gaps(self) -> list[str]:
        """What the calling child can still do although a layer should stop it."""
        gaps = []
        if self._filter:
            gaps += [name for name, attempt in _FILTERED.items() if not _refused(attempt)]
        if self._grants and not _refused(lambda: os.listdir("/")):
            gaps.append("listing /")
        return gaps


def show_in_proc() -> None:
    """Lets the warm interpreter look at its children's files in /proc, which a change of user takes away."""
    _prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)


def relieve_memory() -> None:
    """Gives a child that ran out of memory its reserve."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def used_address_space() -> int:
    """The address space of this process in bytes, found by trying: no /proc is needed."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    low, high = 0, 1 << 36  # in pages
    try:
        while high - low > 1:
            middle = (low + high) // 2
            resource.setrlimit(resource.RLIMIT_AS, (middle * mmap.PAGESIZE, before[1]))
            try:
                mmap.mmap(-1, mmap.PAGESIZE).close()
                high = middle
            except (OSError, MemoryError):
                low = middle
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    return high * mmap.PAGESIZE


def platform_machine() -> str:
    """`x86_64`, `aarch64` …; another name where this process's numbers are not that machine's."""
    machine = os.uname().machine
    return machine if sys.maxsize > 1 << 32 else f"32-bit {machine}"


def _set_limit(kind: int, soft: int, hard: int) -> None:
    _, ceiling = resource.getrlimit(kind)
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(kind, (soft, hard))


def _refused(attempt: Any) -> bool:
    try:
        attempt()
    except OSError as error:
        return error.errno in (errno.EPERM, errno.EACCES)
    return False


def _fork() -> None:
    if os.fork() == 0:
        os._exit(0)
    os.wait()


def _socket() -> None:
    import _socket

    _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM).close()


def _own() -> None:
    import fcntl

    fcntl.fcntl(1, fcntl.F_SETOWN, 0)


_FILTERED = {
    "starting a process": _fork,
    "opening a socket": _socket,
    "signals": lambda: os.kill(1, 0),
    "signals by descriptor": _own,
    "changing where processes run": lambda: os.sched_setaffinity(0, (0,)),
}
