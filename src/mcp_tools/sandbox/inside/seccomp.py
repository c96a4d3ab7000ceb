"""The system-call filter of a child: raw BPF, no library.

Denied calls answer with an error instead of killing, so that tools fail readably: EACCES for the network,
EPERM for the rest. The verdicts form a binary tree over the call number, which keeps both the run and the
kernel's set-up of the filter short.
"""

from __future__ import annotations

import ctypes
import os
import struct

from . import syscalls

TYPE_CHECKING = False  # `typing` is not imported: see call.py
if TYPE_CHECKING:
    from collections.abc import Iterable

    Instruction = tuple[int, int, int, int]
    Code = list[Instruction]

EPERM, EACCES, ENOSYS = 1, 13, 38
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _JUMP, _JEQ, _JGE, _JSET, _RET = 0x20, 0x05, 0x15, 0x35, 0x45, 0x06
_NR, _ARCH = 0, 4
_CLONE_THREAD = 0x00010000
_AF_UNIX = 1
_OWN_PID = 0xFFFF_FFFE
"""Stands for the child's own pid in the template."""

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_PTRACER = 1, 4, 0x59616D61
_FCNTL = {
    "F_DUPFD": 0, "F_GETFD": 1, "F_SETFD": 2, "F_GETFL": 3, "F_SETFL": 4, "F_GETLK": 5, "F_SETLK": 6, "F_SETLKW": 7,
    "F_OFD_GETLK": 36, "F_OFD_SETLK": 37, "F_OFD_SETLKW": 38, "F_DUPFD_CLOEXEC": 1030, "F_SETPIPE_SZ": 1031,
    "F_GETPIPE_SZ": 1032,
}  # fmt: skip
"""What `fcntl` may do. F_SETOWN and F_SETSIG would send signals to others, leases and F_NOTIFY as well."""
_IOCTL = {
    "TCGETS": 0x5401, "TIOCGWINSZ": 0x5413, "FIONREAD": 0x541B, "FIONBIO": 0x5421, "FIONCLEX": 0x5450,
    "FIOCLEX": 0x5451, "FICLONE": 0x40049409, "FICLONERANGE": 0x4020940D,
}  # fmt: skip
"""What `ioctl` may do. FIOSETOWN sends signals too, FS_IOC_SETFLAGS changes files that may only be read."""
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _MODE_FILTER = 22, 38, 2

_prctl = ctypes.CDLL(None, use_errno=True).prctl


def template(machine: str, *, metadata: bool) -> bytes:
    """The filter's program, with a place holder for the child's pid.

    Args:
        machine: `x86_64` or `aarch64`.
        metadata: Whether to deny changes of modes, owners and times too.
    """
    verdicts = _verdicts(machine, metadata=metadata)
    code: Code = [
        (_LOAD, 0, 0, _ARCH),
        (_JEQ, 1, 0, syscalls.AUDIT_ARCH[machine]),
        (_RET, 0, 0, _ERRNO | EPERM),
        (_LOAD, 0, 0, _NR),
        *_tree(_intervals(verdicts)),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


class Filter:
    """A program laid out in memory once, so that a child only has to write its pid into it.

    Args:
        program: What `template` gave.
    """

    def __init__(self, program: bytes) -> None:
        place_holder = struct.pack("=I", _OWN_PID)
        self._buffer = ctypes.create_string_buffer(program, len(program))
        self._places = [at for at in range(4, len(program), 8) if program[at : at + 4] == place_holder]
        self._address = struct.pack("@HP", len(program) // 8, ctypes.addressof(self._buffer))

    def install(self) -> None:
        """Puts the filter on the calling process, for good.

        Raises:
            OSError: The kernel refused it.
        """
        for place in self._places:
            struct.pack_into("=I", self._buffer, place, os.getpid())
        if _prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or self._set() != 0:
            code = ctypes.get_errno()
            raise OSError(code, f"seccomp: {os.strerror(code)}")

    def _set(self) -> int:
        return int(_prctl(_PR_SET_SECCOMP, _MODE_FILTER, self._address, 0, 0))


def _returns(verdict: int) -> Code:
    return [(_RET, 0, 0, verdict)]


def _low_word(argument: int) -> int:
    return 16 + 8 * argument


def _allow_only(argument: int, values: Iterable[int], otherwise: int) -> Code:
    """Allows the call when the low word of an argument is one of the values."""
    code: Code = [(_LOAD, 0, 0, _low_word(argument))]
    for value in values:
        code += [(_JEQ, 0, 1, value), (_RET, 0, 0, _ALLOW)]
    return code + _returns(_ERRNO | otherwise)


def _deny_only(argument: int, values: Iterable[int]) -> Code:
    """Denies the call when the low word of an argument is one of the values."""
    code: Code = [(_LOAD, 0, 0, _low_word(argument))]
    for value in values:
        code += [(_JEQ, 0, 1, value), (_RET, 0, 0, _ERRNO | EPERM)]
    return code + _returns(_ALLOW)


def _conditions() -> dict[str, Code]:
    return {
        "clone": [
            (_LOAD, 0, 0, _low_word(0)),
            (_JSET, 0, 1, _CLONE_THREAD),
            (_RET, 0, 0, _ALLOW),
            (_RET, 0, 0, _ERRNO | EPERM),
        ],
        # its flags lie behind a pointer; on ENOSYS the C library falls back to `clone`
        "clone3": _returns(_ERRNO | ENOSYS),
        "kill": _allow_only(0, [_OWN_PID], EPERM),
        "tgkill": _allow_only(0, [_OWN_PID], EPERM),
        "prlimit64": _allow_only(0, [0, _OWN_PID], EPERM),
        "prctl": _deny_only(0, [_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_PTRACER]),
        "socketpair": _allow_only(0, [_AF_UNIX], EACCES),
        "ioctl": _allow_only(1, _IOCTL.values(), EPERM),
        "fcntl": _allow_only(1, _FCNTL.values(), EPERM),
        # with an address it could reach a socket in the file system
        "sendto": [
            (_LOAD, 0, 0, _low_word(4)),
            (_JEQ, 0, 3, 0),
            (_LOAD, 0, 0, _low_word(4) + 4),
            (_JEQ, 0, 1, 0),
            (_RET, 0, 0, _ALLOW),
            (_RET, 0, 0, _ERRNO | EACCES),
        ],
    }


def _verdicts(machine: str, *, metadata: bool) -> dict[int, Code]:
    groups = [(syscalls.PROCESS, EPERM), (syscalls.NETWORK, EACCES), (syscalls.KERNEL, EPERM)]
    if metadata:
        groups.append((syscalls.METADATA, EPERM))
    verdicts = {
        number: _returns(_ERRNO | code)
        for group, code in groups
        for number in syscalls.numbers(group, machine).values()
    }
    conditions = _conditions()
    for name, number in syscalls.numbers(syscalls.CONDITIONAL, machine).items():
        verdicts[number] = conditions[name]
    return verdicts


def _intervals(verdicts: dict[int, Code]) -> list[tuple[int, Code]]:
    """The verdicts as (first number, code), each valid until the next entry begins."""
    allow, unknown = _returns(_ALLOW), _returns(_ERRNO | ENOSYS)
    intervals: list[tuple[int, Code]] = []
    for number in range(syscalls.HIGHEST_KNOWN + 2):
        code = unknown if number > syscalls.HIGHEST_KNOWN else verdicts.get(number, allow)
        if not intervals or intervals[-1][1] != code:
            intervals.append((number, code))
    return intervals


def _tree(intervals: list[tuple[int, Code]]) -> Code:
    if len(intervals) == 1:
        return intervals[0][1]
    middle = len(intervals) // 2
    below, above = _tree(intervals[:middle]), _tree(intervals[middle:])
    boundary = intervals[middle][0]
    if len(below) <= 255:
        return [(_JGE, len(below), 0, boundary), *below, *above]
    return [(_JGE, 0, 1, boundary), (_JUMP, 0, 0, len(below)), *below, *above]
