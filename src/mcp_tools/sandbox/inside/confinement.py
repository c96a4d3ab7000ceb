"""The confinement of each child: resource limits, Landlock, the system-call filter, and giving up root."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import mmap
import os
import resource
import socket
import stat
import struct
import sys
from collections.abc import Callable
from typing import Any

from . import seccomp

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_PATH_BENEATH = 1
_VERSION_QUERY = 1

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE_DIR, _REMOVE_FILE = 1 << 4, 1 << 5
_MAKE_DIR, _MAKE_REG, _MAKE_SYM = 1 << 7, 1 << 8, 1 << 12
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_FILE_RIGHTS = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_READ = _READ_FILE | _READ_DIR
_SCRATCH = _READ | _WRITE_FILE | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _MAKE_SYM | _REFER | _TRUNCATE
_OUTPUT = _SCRATCH & ~_MAKE_SYM
"""Rights in an output folder. Symbolic links are excluded, because the user might later follow one elsewhere."""
_DEVICE = _READ_FILE | _WRITE_FILE
_NET_TCP = 0b11
_SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11

_PR_SET_NO_NEW_PRIVS = 38

_libc = ctypes.CDLL(None, use_errno=True)
_syscall, _prctl = _libc.syscall, _libc.prctl
_syscall.restype = ctypes.c_long


def landlock_abi() -> int:
    """Return this kernel's Landlock version, or 0 if it has no Landlock."""
    version = _syscall(_CREATE, None, 0, _VERSION_QUERY)
    return max(0, int(version))


class PathGrants:
    """The paths that children may reach, as Landlock rules. They are opened once, so each call only uses descriptors.

    Args:
        readable: Files and folders that may be read.
        devices: Device files that may be read and written.
        writable: Folders that may be read and written.
        expected: Device and inode of each granted path, to detect that another file has replaced it.

    Raises:
        OSError: A path cannot be opened, or the kernel has no Landlock.
    """

    def __init__(
        self,
        readable: list[str],
        devices: list[str],
        writable: list[str],
        expected: dict[str, tuple[int, int]] | None = None,
    ) -> None:
        self.changed: list[str] = []
        """Granted paths that now refer to a different file. They get no rule."""
        self.abi = landlock_abi()
        if self.abi < 1:
            raise OSError(38, "Landlock: not supported by this kernel")
        # handle every file-system right that this Landlock version has, so that anything not granted is denied
        self._handled = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(self.abi, 16)) - 1
        fields = [self._handled, _NET_TCP, _SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS]
        known = fields[: 1 + (self.abi >= 4) + (self.abi >= 6)]
        self._attributes = struct.pack(f"={len(known)}Q", *known)
        rules = {}
        wanted = [(path, _READ) for path in readable if path not in writable] + [(path, _DEVICE) for path in devices]
        for path, rights in wanted + [(path, _OUTPUT) for path in writable]:
            rule, *file = self._rule(path, rights)
            if expected and path in expected and file != [*expected[path]]:
                self.changed.append(path)
                continue
            # skip duplicates such as /lib and /usr/lib, because each rule costs time in every call
            rules[(*file, rights)] = rule
        self._rules = list(rules.values())

    def confine(self, *scratch: str) -> None:
        """Permanently restrict the calling process to the grants and to its own scratch folders.

        Raises:
            OSError: The kernel refused a rule, so the child must not run.
        """
        ruleset = _landlock(_CREATE, self._attributes, len(self._attributes), 0)
        for rule in (*self._rules, *(self._rule(folder, _SCRATCH)[0] for folder in scratch)):
            _landlock(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
        if _prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "no_new_privs")
        _landlock(_RESTRICT, ruleset, 0)
        os.close(ruleset)

    def _rule(self, path: str, rights: int) -> tuple[bytes, int, int]:
        """Return the rule for a path, and the device and inode of its file."""
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        status = os.fstat(descriptor)
        if not stat.S_ISDIR(status.st_mode):
            rights &= _FILE_RIGHTS
        return struct.pack("=Qi", rights & self._handled, descriptor), status.st_dev, status.st_ino


def _landlock(number: int, *arguments: int | bytes) -> int:
    result = _syscall(number, *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"Landlock: {os.strerror(code)}")
    return int(result)


MAXIMUM_DESCRIPTORS = 256
MAXIMUM_THREADS = 1024
"""Limit for all processes of the sandbox's user together, because RLIMIT_NPROC counts per user."""

_MIB = 1 << 20
_RESERVE = 64 * _MIB
"""Address space between the soft and hard limits, so that a call that runs out of memory can report it."""
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _SIGKILL = 1, 4, 9


class Confinement:
    """The layers of children, prepared once in the warm interpreter.

    Args:
        readable: Files and folders that children may read.
        devices: Device files that children may read and write.
        writable: Folders that children may read and write. The first one is their working directory.
        wanted: Layers to prepare: `landlock`, `seccomp`.
        metadata: True if the filter must also deny changes to modes, owners and times.
        capped: True if RLIMIT_NPROC should be set, because no other processes run as this user.
        expected: Device and inode of each granted path.
    """

    def __init__(
        self,
        readable: list[str],
        devices: list[str],
        writable: list[str],
        wanted: list[str],
        *,
        metadata: bool,
        capped: bool,
        expected: dict[str, tuple[int, int]] | None = None,
    ) -> None:
        self.errors: dict[str, str] = {}
        """The reason for each wanted layer that is missing."""
        self.changed: list[str] = []
        """Granted paths that now refer to a different file."""
        self.used = 0
        """Address space of the warm interpreter in bytes, which the memory limit does not count."""
        self.granted: list[str] = []
        """Granted paths. Files outside them are reported as denied, not as missing."""
        self.keep: list[int] = []
        """Descriptors that stay open in children, because imports go through them."""
        self.library = 0
        """Number of entries at the start of `sys.path` that belong to the standard library."""
        self.untrusted: list[str] = []
        """Package folders that only confined children may import from."""
        self.begin = os.open(writable[0], os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC) if writable else -1
        """Descriptor of the calls' working directory. -1 means their scratch folder."""
        self._capped = capped
        self._grants: PathGrants | None = None
        self._filter: seccomp.Filter | None = None
        if "landlock" in wanted:
            try:
                self._grants = PathGrants(readable, devices, writable, expected)
                self.changed = self._grants.changed
            except OSError as error:
                self.errors["landlock"] = str(error)
        if "seccomp" in wanted:
            try:
                self._filter = seccomp.Filter(seccomp.template(platform_machine(), metadata=metadata))
            except KeyError:
                self.errors["seccomp"] = f"there is no table of system calls for {platform_machine()}"

    @property
    def layers(self) -> list[str]:
        """The layers of each child."""
        return ["rlimits", *(["landlock"] if self._grants else []), *(["seccomp"] if self._filter else [])]

    def enter(self, scratch: str) -> None:
        """Apply Landlock to this child, and make the kernel kill it when the warm interpreter exits.

        Raises:
            OSError: Landlock could not be applied.
        """
        _prctl(_PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)
        if self._grants:
            self._grants.confine(scratch)

    def filter(self) -> None:
        """Install the system-call filter. From then on, this process cannot fork.

        Raises:
            OSError: The kernel refused the filter.
        """
        if self._filter:
            self._filter.install()

    def limit(self, limits: dict[str, Any]) -> None:
        """Set the resource limits of this process.

        Args:
            limits: The host's `Limits` as JSON. A session has no `cpu_seconds`, because each block has a wall time
                limit, but it has `imports_mb`, additional address space for imports.

        Raises:
            OSError: The kernel refused a limit.
        """
        memory = self.used + (limits["memory_mb"] + limits.get("imports_mb", 0)) * _MIB
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
            _, ceiling = resource.getrlimit(kind)
            if ceiling != resource.RLIM_INFINITY:
                soft, hard = min(soft, ceiling), min(hard, ceiling)
            resource.setrlimit(kind, (soft, hard))

    def gaps(self) -> list[str]:
        """Return the operations that succeeded in this child although a layer should have denied them."""
        gaps = []
        if self._filter:
            gaps += [name for name, attempt in _FILTERED.items() if not _refused(attempt)]
        if self._grants and not _refused(lambda: os.listdir("/")):
            gaps.append("listing /")
        return gaps


def show_in_proc() -> None:
    """Make this process dumpable after a change of user, so that it can read its children's files in /proc."""
    _prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)


def release_memory_reserve() -> None:
    """Raise the memory limit by the reserve, so that a child that has run out of memory can report it."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def used_address_space() -> int:
    """Return this process's address space in bytes, found by trying limits because /proc may be missing."""
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
    """Return `x86_64`, `aarch64` and so on. A 32-bit process gets another name, because its call numbers differ."""
    machine = os.uname().machine
    return machine if sys.maxsize > 1 << 32 else f"32-bit {machine}"


def _refused(attempt: Callable[[], object]) -> bool:
    try:
        attempt()
    except OSError as error:
        return error.errno in (errno.EPERM, errno.EACCES)
    return False


def _fork() -> None:
    if os.fork() == 0:
        os._exit(0)
    os.wait()


_FILTERED = {
    "starting a process": _fork,
    "opening a socket": lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).close(),
    "signals": lambda: os.kill(1, 0),
    "signals by descriptor": lambda: fcntl.fcntl(1, fcntl.F_SETOWN, 0),
    "changing CPU affinity": lambda: os.sched_setaffinity(0, (0,)),
}


_CAPABILITY_VERSION_3 = 0x20080522


def drop_capabilities() -> None:
    """Drop all capabilities of this process."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    if _libc.capset(header, (ctypes.c_uint32 * 6)()) != 0:
        raise PermissionError("the capabilities of root cannot be dropped")


def import_through_descriptors(confinement: Confinement, folders: list[str]) -> None:
    """Make all imports, even from loaded packages, go through open descriptors of their folders.

    After a change of user, a folder inside a private home directory can no longer be reached by its path, but it can
    still be reached through an open descriptor.
    """
    confinement.keep = [os.open(path, os.O_PATH | os.O_CLOEXEC) for path in folders]
    through = {path: f"/proc/self/fd/{number}" for path, number in zip(folders, confinement.keep, strict=True)}
    confinement.untrusted = [through[path] for path in confinement.untrusted]
    longest_first = sorted(through, key=len, reverse=True)
    sys.path[:] = [through[path] for path in sys.path if path in through]
    for module in list(sys.modules.values()):
        for i, path in enumerate(getattr(module, "__path__", ())):
            folder = next((f for f in longest_first if f"{path}/".startswith(f"{f}/")), None)
            if folder is not None:
                module.__path__[i] = through[folder] + path[len(folder) :]
    sys.path_importer_cache.clear()
