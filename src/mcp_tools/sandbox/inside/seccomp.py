"""The system-call filter of a child, written as raw BPF without a library.

A denied call returns an error instead of killing the process, so that tools fail with a readable error: EACCES for the
network, EPERM for everything else. The filter is a binary tree over the call number, so it is fast to run and install.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable

Code = list[tuple[int, int, int, int]]

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
"""Supported architectures, in the order of the columns of the tables below."""
HIGHEST_KNOWN = 451
"""Highest call number that we have reviewed. Newer calls return ENOSYS."""

# Each entry: name, number on x86_64, number on aarch64, as in Linux's `unistd.h`. A dash means no such call.
PROCESS = "execve 59 221, execveat 322 281, fork 57 -, vfork 58 -, setsid 112 157, setpgid 109 154"
"""Calls that start programs or processes, or that leave the session or process group."""
NETWORK = """
    socket 41 198, connect 42 203, bind 49 200, listen 50 201, accept 43 202, accept4 288 242, sendmsg 46 211,
    sendmmsg 307 269, recvmmsg 299 243"""
"""Network calls. `socketpair`, and `sendto` without an address, remain allowed because asyncio needs them."""
OTHER_PROCESSES = """
    ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, process_madvise 440 440,
    process_mrelease 448 448, kcmp 312 272, pidfd_open 434 434, pidfd_send_signal 424 424, pidfd_getfd 438 438,
    tkill 200 130, rt_sigqueueinfo 129 138, rt_tgsigqueueinfo 297 240, setpriority 141 140,
    sched_setscheduler 144 119, sched_setattr 314 274, sched_setparam 142 118, sched_setaffinity 203 122,
    ioprio_set 251 30, migrate_pages 256 238, move_pages 279 239"""
MOUNTS_AND_NAMESPACES = """
    mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51, mount_setattr 442 442, move_mount 429 429,
    open_tree 428 428, fsopen 430 430, fsconfig 431 431, fsmount 432 432, fspick 433 433, unshare 272 97,
    setns 308 268"""
MACHINE = """
    quotactl 179 60, quotactl_fd 443 443, swapon 167 224, swapoff 168 225, reboot 169 142, sethostname 170 161,
    setdomainname 171 162, iopl 172 -, ioperm 173 -, init_module 175 105, finit_module 313 273,
    delete_module 176 106, kexec_load 246 104, kexec_file_load 320 294, acct 163 89, syslog 103 116,
    settimeofday 164 170, clock_settime 227 112, adjtimex 159 171, clock_adjtime 305 266, lookup_dcookie 212 18,
    vhangup 153 58, personality 135 92, modify_ldt 154 -"""
LARGE_SURFACE = """
    add_key 248 217, request_key 249 218, keyctl 250 219, bpf 321 280, perf_event_open 298 241,
    userfaultfd 323 282, io_uring_setup 425 425, io_uring_enter 426 426, io_uring_register 427 427,
    memfd_create 319 279, memfd_secret 447 447, seccomp 317 277, fanotify_init 300 262,
    open_by_handle_at 304 265, name_to_handle_at 303 264, mknod 133 -, mknodat 259 33"""
"""Calls that expose a large or little-tested part of the kernel."""
MESSAGE_PASSING = """
    shmget 29 194, shmat 30 196, shmctl 31 195, shmdt 67 197, semget 64 190, semop 65 193, semctl 66 191,
    semtimedop 220 192, msgget 68 186, msgsnd 69 189, msgrcv 70 188, msgctl 71 187, mq_open 240 180,
    mq_unlink 241 181"""
"""System V and POSIX shared memory, semaphores and queues, which outlive a call."""
CREDENTIALS = """
    setuid 105 146, setgid 106 144, setreuid 113 145, setregid 114 143, setresuid 117 147, setresgid 119 149,
    setgroups 116 159, setfsuid 122 151, setfsgid 123 152, capset 126 91"""
ATTRIBUTES = """
    setxattr 188 5, lsetxattr 189 6, fsetxattr 190 7, removexattr 197 14, lremovexattr 198 15,
    fremovexattr 199 16"""
"""Calls that change extended attributes, which outlive a call."""
KERNEL = ", ".join(
    (OTHER_PROCESSES, MOUNTS_AND_NAMESPACES, MACHINE, LARGE_SURFACE, MESSAGE_PASSING, CREDENTIALS, ATTRIBUTES)
)
"""All other calls that a computation does not need."""
METADATA = """
    chmod 90 -, fchmod 91 52, fchmodat 268 53, chown 92 -, lchown 94 -, fchown 93 55, fchownat 260 54,
    utime 132 -, utimes 235 -, utimensat 280 88, futimesat 261 -, truncate 76 45"""
"""Calls that make changes that Landlock does not restrict. Denied unless the child has a private file system."""
SPACE = "fallocate 285 47"
"""A call that could allocate gigabytes between two quota checks. If denied, the C library falls back to writing."""
CONDITIONAL = """
    clone 56 220, clone3 435 435, kill 62 129, tgkill 234 131, prlimit64 302 261, prctl 157 167, sendto 44 206,
    socketpair 53 199, ioctl 16 29, fcntl 72 25"""

EPERM, EACCES, ENOSYS, EOPNOTSUPP = 1, 13, 38, 95
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_LOAD, _JUMP, _JEQ, _JGE, _JSET, _RET = 0x20, 0x05, 0x15, 0x35, 0x45, 0x06
_NR, _ARCH = 0, 4
_CLONE_THREAD = 0x00010000
_AF_UNIX = 1
_OWN_PID = 0xFFFF_FFFE

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_PTRACER = 1, 4, 0x59616D61
_FCNTL = {
    "F_DUPFD": 0, "F_GETFD": 1, "F_SETFD": 2, "F_GETFL": 3, "F_SETFL": 4, "F_GETLK": 5, "F_SETLK": 6, "F_SETLKW": 7,
    "F_OFD_GETLK": 36, "F_OFD_SETLK": 37, "F_OFD_SETLKW": 38, "F_DUPFD_CLOEXEC": 1030, "F_SETPIPE_SZ": 1031,
    "F_GETPIPE_SZ": 1032,
}  # fmt: skip
"""Allowed commands of `fcntl`.

F_SETOWN, F_SETSIG, leases and F_NOTIFY are denied, because they can send signals to other processes.
"""
_IOCTL = {
    "TCGETS": 0x5401, "TIOCGWINSZ": 0x5413, "FIONREAD": 0x541B, "FIONBIO": 0x5421, "FIONCLEX": 0x5450,
    "FIOCLEX": 0x5451, "FICLONE": 0x40049409, "FICLONERANGE": 0x4020940D,
}  # fmt: skip
"""Allowed requests of `ioctl`.

FIOSETOWN is denied because it can send signals, and FS_IOC_SETFLAGS because it can change read-only files.
"""
_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _MODE_FILTER = 22, 38, 2

_prctl = ctypes.CDLL(None, use_errno=True).prctl


def call_numbers(group: str, machine: str) -> dict[str, int]:
    """Return the calls in a group that exist on this architecture, with their numbers."""
    column = 1 + list(AUDIT_ARCH).index(machine)
    rows = [row.split() for row in group.split(",")]
    return {row[0]: int(row[column]) for row in rows if row[column] != "-"}


def template(machine: str, *, metadata: bool) -> bytes:
    """Return the filter program, with a placeholder for the child's pid.

    With `metadata`, it also denies changes to modes, owners and times.
    """
    code: Code = [
        (_LOAD, 0, 0, _ARCH),
        (_JEQ, 1, 0, AUDIT_ARCH[machine]),
        _deny(EPERM),
        (_LOAD, 0, 0, _NR),
        *_tree(_intervals(_verdicts(machine, metadata=metadata))),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


class Filter:
    """A program from `template`, laid out in memory once. Each child only has to write its pid into it."""

    def __init__(self, program: bytes) -> None:
        placeholder = struct.pack("=I", _OWN_PID)
        self._buffer = ctypes.create_string_buffer(program, len(program))
        self._pid_offsets = [at for at in range(4, len(program), 8) if program[at : at + 4] == placeholder]
        self._address = struct.pack("@HP", len(program) // 8, ctypes.addressof(self._buffer))

    def install(self) -> None:
        """Install the filter on the calling process permanently.

        Raises:
            OSError: The kernel refused it.
        """
        for offset in self._pid_offsets:
            struct.pack_into("=I", self._buffer, offset, os.getpid())
        if (
            _prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            or _prctl(_PR_SET_SECCOMP, _MODE_FILTER, self._address, 0, 0) != 0
        ):
            code = ctypes.get_errno()
            raise OSError(code, f"seccomp: {os.strerror(code)}")


def _deny(code: int) -> tuple[int, int, int, int]:
    return _RET, 0, 0, _ERRNO | code


_PASS = (_RET, 0, 0, _ALLOW)


def _load(argument: int, *, high: bool = False) -> tuple[int, int, int, int]:
    return _LOAD, 0, 0, 16 + 8 * argument + 4 * high


def _choose(argument: int, values: Iterable[int], found: tuple[int, ...], otherwise: tuple[int, ...]) -> Code:
    """Return `found` if the low 32 bits of an argument are one of the values, else `otherwise`."""
    code = [_load(argument)]
    for value in values:
        code += [(_JEQ, 0, 1, value), found]  # type: ignore[list-item]
    return [*code, otherwise]  # type: ignore[list-item]


def _conditions() -> dict[str, Code]:
    denied = _deny(EPERM)
    return {
        "clone": [_load(0), (_JSET, 0, 1, _CLONE_THREAD), _PASS, denied],
        # BPF cannot read the flags, which are behind a pointer; after ENOSYS, the C library falls back to `clone`
        "clone3": [_deny(ENOSYS)],
        "kill": _choose(0, [_OWN_PID], _PASS, denied),
        "tgkill": _choose(0, [_OWN_PID], _PASS, denied),
        "prlimit64": _choose(0, [0, _OWN_PID], _PASS, denied),
        "prctl": _choose(0, [_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_PTRACER], denied, _PASS),
        "socketpair": _choose(0, [_AF_UNIX], _PASS, _deny(EACCES)),
        "ioctl": _choose(1, _IOCTL.values(), _PASS, denied),
        "fcntl": _choose(1, _FCNTL.values(), _PASS, denied),
        # with an address, the call could reach a socket in the file system
        "sendto": [_load(4), (_JEQ, 0, 3, 0), _load(4, high=True), (_JEQ, 0, 1, 0), _PASS, _deny(EACCES)],
    }


def _verdicts(machine: str, *, metadata: bool) -> dict[int, Code]:
    groups = {
        PROCESS: EPERM,
        NETWORK: EACCES,
        KERNEL: EPERM,
        SPACE: EOPNOTSUPP,
        **({METADATA: EPERM} if metadata else {}),
    }
    conditions = _conditions()
    return {
        **{number: [_deny(code)] for group, code in groups.items() for number in call_numbers(group, machine).values()},
        **{number: conditions[name] for name, number in call_numbers(CONDITIONAL, machine).items()},
    }


def _intervals(verdicts: dict[int, Code]) -> list[tuple[int, Code]]:
    """Return pairs (first call number, code). Each applies up to the next pair."""
    intervals: list[tuple[int, Code]] = []
    for number in range(HIGHEST_KNOWN + 2):
        code = [_deny(ENOSYS)] if number > HIGHEST_KNOWN else verdicts.get(number, [_PASS])
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
