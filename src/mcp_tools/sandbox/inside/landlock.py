"""Landlock for one child: read the granted paths, write its own scratch folder, nothing else."""

from __future__ import annotations

import ctypes
import os
import stat
import struct

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
_DEVICE = _READ_FILE | _WRITE_FILE
_NET_TCP = 0b11
_SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11

_PR_SET_NO_NEW_PRIVS = 38

_libc = ctypes.CDLL(None, use_errno=True)
_syscall, _prctl = _libc.syscall, _libc.prctl
_syscall.restype = ctypes.c_long


def abi() -> int:
    """The version of Landlock that this kernel offers; 0 where there is none."""
    version = _syscall(_CREATE, None, 0, _VERSION_QUERY)
    return max(0, int(version))


class Grants:
    """The paths a child may reach, opened once so that a call only has to name their descriptors.

    Args:
        readable: Files and folders.
        devices: Device files that may be read and written.

    Raises:
        OSError: A path cannot be opened, or the kernel has no Landlock.
    """

    def __init__(self, readable: list[str], devices: list[str]) -> None:
        self.abi = abi()
        if self.abi < 1:
            raise OSError(38, "Landlock: not offered by this kernel")
        self._handled = _handled(self.abi)
        self._attributes = _attributes(self.abi, self._handled)
        wanted = [(path, _READ) for path in readable] + [(path, _DEVICE) for path in devices]
        rules = {}
        for path, rights in wanted:
            descriptor = _open(path)
            status = os.fstat(descriptor)
            # one folder often has two names, as /lib and /usr/lib: a rule for each would be paid in every call
            rules[status.st_dev, status.st_ino, rights] = self._rule(descriptor, rights)
        self._rules = list(rules.values())

    def confine(self, *scratch: str) -> None:
        """Restricts the calling process to the grants and its own folders, for good.

        Raises:
            OSError: The kernel refused a rule: the child must not run.
        """
        ruleset = _call(_CREATE, self._attributes, len(self._attributes), 0)
        for rule in (*self._rules, *(self._rule(_open(folder), _SCRATCH) for folder in scratch)):
            _call(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
        if _prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "no_new_privs")
        _call(_RESTRICT, ruleset, 0)
        os.close(ruleset)

    def _rule(self, descriptor: int, rights: int) -> bytes:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            rights &= _FILE_RIGHTS
        return struct.pack("=Qi", rights & self._handled, descriptor)


def _handled(version: int) -> int:
    """Every file-system right that this version knows, so that what is not granted is denied."""
    bits = {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)
    return (1 << bits) - 1


def _attributes(version: int, handled: int) -> bytes:
    fields = [handled]
    if version >= 4:
        fields.append(_NET_TCP)
    if version >= 6:
        fields.append(_SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS)
    return struct.pack(f"={len(fields)}Q", *fields)


def _open(path: str) -> int:
    return os.open(path, os.O_PATH | os.O_CLOEXEC)


def _call(number: int, *arguments: int | bytes) -> int:
    result = _syscall(number, *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"Landlock: {os.strerror(code)}")
    return int(result)
