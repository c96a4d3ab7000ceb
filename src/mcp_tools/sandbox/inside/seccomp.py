"""The system-call filter of a child: raw BPF, no library.

Denied calls answer with an error instead of killing, so that tools fail readably: EACCES for the network,
EPERM for the rest. The verdicts form a binary tree over the call number, which keeps both the run and the
kernel's set-up of the filter short.

The numbers of the calls are those of Linux's `unistd.h`, per architecture; None where an architecture lacks one.
"""

from __future__ import annotations

import ctypes
import os
import struct

TYPE_CHECKING = False  # `typing` is not imported: see call.py
if TYPE_CHECKING:
    from collections.abc import Iterable

    Instruction = tuple[int, int, int, int]
    Code = list[Instruction]

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

HIGHEST_KNOWN = 451
"""Calls newer than this are answered with ENOSYS: nobody has looked at them yet."""

_COLUMN = {"x86_64": 0, "aarch64": 1}

PROCESS: dict[str, tuple[int | None, int | None]] = {
    "execve": (59, 221), "execveat": (322, 281), "fork": (57, None), "vfork": (58, None),
    "setsid": (112, 157), "setpgid": (109, 154),
}  # fmt: skip
"""Starting or leaving processes."""

NETWORK: dict[str, tuple[int | None, int | None]] = {
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201),
    "accept": (43, 202), "accept4": (288, 242), "sendmsg": (46, 211), "sendmmsg": (307, 269),
    "recvmmsg": (299, 243),
}  # fmt: skip
"""Speaking to anybody. `socketpair` and address-less `sendto` stay: asyncio needs them."""

KERNEL: dict[str, tuple[int | None, int | None]] = {
    # other processes
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "process_madvise": (440, 440), "process_mrelease": (448, 448), "kcmp": (312, 272),
    "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438),
    "tkill": (200, 130), "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240),
    "setpriority": (141, 140), "sched_setscheduler": (144, 119), "sched_setattr": (314, 274),
    "sched_setparam": (142, 118), "sched_setaffinity": (203, 122), "ioprio_set": (251, 30), "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    # mounts and namespaces
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "mount_setattr": (442, 442), "move_mount": (429, 429), "open_tree": (428, 428),
    "fsopen": (430, 430), "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "unshare": (272, 97), "setns": (308, 268),
    # the machine
    "quotactl": (179, 60), "quotactl_fd": (443, 443), "swapon": (167, 224), "swapoff": (168, 225),
    "reboot": (169, 142), "sethostname": (170, 161), "setdomainname": (171, 162), "iopl": (172, None),
    "ioperm": (173, None), "init_module": (175, 105), "finit_module": (313, 273),
    "delete_module": (176, 106), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "acct": (163, 89), "syslog": (103, 116), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "adjtimex": (159, 171), "clock_adjtime": (305, 266), "lookup_dcookie": (212, 18),
    "vhangup": (153, 58), "personality": (135, 92), "modify_ldt": (154, None),
    # large or little-tried kernel surface
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "memfd_create": (319, 279),
    "memfd_secret": (447, 447), "seccomp": (317, 277), "fanotify_init": (300, 262),
    "open_by_handle_at": (304, 265), "name_to_handle_at": (303, 264), "mknod": (133, None),
    "mknodat": (259, 33),
    # System V and POSIX message passing: shared beyond the call
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "shmdt": (67, 197),
    "semget": (64, 190), "semop": (65, 193), "semctl": (66, 191), "semtimedop": (220, 192),
    "msgget": (68, 186), "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187),
    "mq_open": (240, 180), "mq_unlink": (241, 181),
    # credentials
    "setuid": (105, 146), "setgid": (106, 144), "setreuid": (113, 145), "setregid": (114, 143),
    "setresuid": (117, 147), "setresgid": (119, 149), "setgroups": (116, 159), "setfsuid": (122, 151),
    "setfsgid": (123, 152), "capset": (126, 91),
    # attributes that would outlive a call
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "removexattr": (197, 14),
    "lremovexattr": (198, 15), "fremovexattr": (199, 16),
}  # fmt: skip
"""Everything else that a computation has no business with."""

METADATA: dict[str, tuple[int | None, int | None]] = {
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "chown": (92, None),
    "lchown": (94, None), "fchown": (93, 55), "fchownat": (260, 54), "utime": (132, None),
    "utimes": (235, None), "utimensat": (280, 88), "futimesat": (261, None), "truncate": (76, 45),
}  # fmt: skip
"""Changes that Landlock does not stop: denied where no private file system stands around the child."""

CONDITIONAL: dict[str, tuple[int | None, int | None]] = {
    "clone": (56, 220), "clone3": (435, 435), "kill": (62, 129), "tgkill": (234, 131),
    "prlimit64": (302, 261), "prctl": (157, 167), "sendto": (44, 206), "socketpair": (53, 199),
    "ioctl": (16, 29), "fcntl": (72, 25),
}  # fmt: skip
"""Calls whose arguments decide."""


def call_numbers(group: dict[str, tuple[int | None, int | None]], machine: str) -> dict[str, int]:
    """The calls of a group that exist on this architecture."""
    column = _COLUMN[machine]
    return {name: n for name, pair in group.items() if (n := pair[column]) is not None}


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
        (_JEQ, 1, 0, AUDIT_ARCH[machine]),
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
        if (
            _prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            or _prctl(_PR_SET_SECCOMP, _MODE_FILTER, self._address, 0, 0) != 0
        ):
            code = ctypes.get_errno()
            raise OSError(code, f"seccomp: {os.strerror(code)}")


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
    groups = [(PROCESS, EPERM), (NETWORK, EACCES), (KERNEL, EPERM)]
    if metadata:
        groups.append((METADATA, EPERM))
    verdicts = {
        number: _returns(_ERRNO | code) for group, code in groups for number in call_numbers(group, machine).values()
    }
    conditions = _conditions()
    for name, number in call_numbers(CONDITIONAL, machine).items():
        verdicts[number] = conditions[name]
    return verdicts


def _intervals(verdicts: dict[int, Code]) -> list[tuple[int, Code]]:
    """The verdicts as (first number, code), each valid until the next entry begins."""
    allow, unknown = _returns(_ALLOW), _returns(_ERRNO | ENOSYS)
    intervals: list[tuple[int, Code]] = []
    for number in range(HIGHEST_KNOWN + 2):
        code = unknown if number > HIGHEST_KNOWN else verdicts.get(number, allow)
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
