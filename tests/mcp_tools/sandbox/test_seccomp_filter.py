"""Interprets the filter program, and checks its verdict for each call on each architecture."""

from __future__ import annotations

import struct

import pytest

from mcp_tools.sandbox.inside import seccomp

ALLOW, OWN = 0x7FFF0000, 77
EPERM, EACCES, ENOSYS, EOPNOTSUPP = 0x50001, 0x5000D, 0x50026, 0x5005F
MACHINES = list(seccomp.AUDIT_ARCH)


def verdict(machine: str, number: int, *arguments: int, metadata: bool = False, arch: int | None = None) -> int:
    program = seccomp.template(machine, metadata=metadata).replace(
        struct.pack("=I", 0xFFFFFFFE), struct.pack("=I", OWN)
    )
    code = list(struct.iter_unpack("=HBBI", program))
    values = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    data = struct.pack("=IIQ6Q", number, seccomp.AUDIT_ARCH[machine] if arch is None else arch, 0, *values)
    at = accumulator = 0
    while True:
        operation, when, otherwise, constant = code[at]
        at += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, constant)
        elif operation == 0x06:
            return int(constant)
        elif operation == 0x05:
            at += constant
        else:
            test = {0x15: accumulator == constant, 0x35: accumulator >= constant, 0x45: accumulator & constant}
            at += when if test[operation] else otherwise


@pytest.mark.parametrize("machine", MACHINES)
def test_groups(machine: str) -> None:
    groups = {seccomp.PROCESS: EPERM, seccomp.NETWORK: EACCES, seccomp.KERNEL: EPERM, seccomp.SPACE: EOPNOTSUPP}
    for group, expected in groups.items():
        for name, number in seccomp.call_numbers(group, machine).items():
            assert verdict(machine, number) == expected, name
    for name, number in seccomp.call_numbers(seccomp.METADATA, machine).items():
        assert verdict(machine, number) == ALLOW, name
        assert verdict(machine, number, metadata=True) == EPERM, name


@pytest.mark.parametrize("machine", MACHINES)
def test_everything_else_is_allowed_and_the_unknown_is_not_there(machine: str) -> None:
    named = {
        number
        for group in (seccomp.PROCESS, seccomp.NETWORK, seccomp.KERNEL, seccomp.SPACE, seccomp.CONDITIONAL)
        for number in seccomp.call_numbers(group, machine).values()
    }
    for number in set(range(seccomp.HIGHEST_KNOWN + 1)) - named:
        assert verdict(machine, number) == ALLOW, number
    for number in (seccomp.HIGHEST_KNOWN + 1, 1000, 0x40000000, 0x40000029, 0xFFFFFFFF):
        assert verdict(machine, number) == ENOSYS, number
    assert verdict(machine, 0, arch=0x40000003) == EPERM


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("clone", (0x003D0F00,), ALLOW),
        ("clone", (0x11,), EPERM),
        ("clone", (0x10000011,), EPERM),
        ("clone3", (0,), ENOSYS),
        ("kill", (OWN, 9), ALLOW),
        ("kill", (1, 9), EPERM),
        ("kill", (0, 9), EPERM),
        ("kill", (2**64 - 1, 9), EPERM),
        ("tgkill", (OWN, OWN, 6), ALLOW),
        ("tgkill", (1, 1, 6), EPERM),
        ("prlimit64", (0, 7), ALLOW),
        ("prlimit64", (1, 7), EPERM),
        ("prctl", (1, 0), EPERM),
        ("prctl", (15, 0), ALLOW),
        ("socketpair", (1, 1), ALLOW),
        ("socketpair", (2, 1), EACCES),
        ("sendto", (3, 0, 0, 0, 0), ALLOW),
        ("sendto", (3, 0, 0, 0, 0x7FFF00000000), EACCES),
        ("sendto", (3, 0, 0, 0, 0x10), EACCES),
        ("ioctl", (0, 0x5401), ALLOW),
        ("ioctl", (0, 0x5412), EPERM),
        ("ioctl", (0, 0x8901), EPERM),
        ("ioctl", (0, 0x8902), EPERM),
        ("ioctl", (0, 0x40086602), EPERM),
        ("ioctl", (0, 0x5421), ALLOW),
        ("fcntl", (0, 8), EPERM),
        ("fcntl", (0, 10), EPERM),
        ("fcntl", (0, 15), EPERM),
        ("fcntl", (0, 1024), EPERM),
        ("fcntl", (0, 1026), EPERM),
        ("fcntl", (0, 0x100000008), EPERM),
        ("fcntl", (0, 6), ALLOW),
        ("fcntl", (0, 1030), ALLOW),
        ("prctl", (4, 0), EPERM),
    ],
)
def test_arguments_decide(machine: str, name: str, arguments: tuple[int, ...], expected: int) -> None:
    number = seccomp.call_numbers(seccomp.CONDITIONAL, machine)[name]
    assert verdict(machine, number, *arguments) == expected


def test_no_number_is_in_two_groups() -> None:
    groups = (seccomp.PROCESS, seccomp.NETWORK, seccomp.KERNEL, seccomp.METADATA, seccomp.CONDITIONAL)
    for machine in MACHINES:
        numbers = [n for group in groups for n in seccomp.call_numbers(group, machine).values()]
        assert len(numbers) == len(set(numbers))
