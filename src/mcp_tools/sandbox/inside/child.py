"""One call's process: put under its limits, run, reported on its own pipe, ended."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # part of every CPython, though of no stub
import _socket
import gc
import io
import json
import os
import stat
import struct
import sys

from . import call
from .call import described, problem
from .confinement import Confinement, relieve_memory

TYPE_CHECKING = False  # `typing` is not imported: see call.py
if TYPE_CHECKING:
    from typing import Any, NoReturn

_LARGEST_MESSAGE = 4096
_MOST_DESCRIPTORS = 8
_INT = struct.calcsize("i")


def socket_pair() -> tuple[int, int]:
    """Two connected sockets that keep the bounds of messages."""
    ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    return ours.detach(), theirs.detach()


def send(line: int, message: bytes, descriptors: list[int] | None = None) -> None:
    """Sends a message, with descriptors if there are any.

    Raises:
        OSError: The other end is gone.
    """
    end = _socket.socket(fileno=line)
    try:
        if descriptors:
            packed = struct.pack(f"{len(descriptors)}i", *descriptors)
            end.sendmsg([message], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, packed)])
        else:
            end.send(message)
    finally:
        end.detach()


def receive(line: int) -> tuple[bytes, list[int]]:
    """The next message and the descriptors that came with it; empty when the other end is gone."""
    end = _socket.socket(fileno=line)
    try:
        room = _socket.CMSG_SPACE(_MOST_DESCRIPTORS * _INT)
        message, ancillary, _, _ = end.recvmsg(_LARGEST_MESSAGE, room)
    finally:
        end.detach()
    descriptors: list[int] = []
    for level, kind, data in ancillary:
        if (level, kind) == (_socket.SOL_SOCKET, _socket.SCM_RIGHTS):
            descriptors += struct.unpack(f"{len(data) // _INT}i", data[: len(data) - len(data) % _INT])
    return message, descriptors


JOB, RESULT = 3, 4
"""Descriptors of a child, besides 0, 1 and 2."""
FIRST_FREE = 5

MAGIC = b"alita1"
"""Begins the report; then its length in eight bytes, then JSON."""

_SAMPLE = """
import math

def f(a: int, b: list) -> dict[str, int]:
    return {c: a for c in b}
"""
_LARGEST_DESCRIPTOR = 1 << 20


class Place:
    """What a child is given by the warm interpreter before it knows its job.

    Args:
        confinement: The layers to put on.
        scratch: The call's own folder.
        used: Address space that was taken before the call, in bytes.
        readable: The paths that may be read.
        keep: Descriptors that imports need.
    """

    def __init__(self, confinement: Confinement, scratch: str, used: int, readable: list[str], keep: list[int]) -> None:
        self.confinement = confinement
        self.scratch = scratch
        self.used = used
        self.readable = readable
        self.keep = keep

    def enter(self) -> None:
        """Puts on everything but the limits, which come with the job."""
        # the functions in C: those of `signal` turn every number into an enumeration and back
        _signal.set_wakeup_fd(-1)
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
        _signal.signal(_signal.SIGINT, _signal.default_int_handler)
        os.chdir(self.scratch)
        os.environ["HOME"] = os.environ["TMPDIR"] = self.scratch
        self.confinement.enter(self.scratch)
        _close_others(self.keep)
        _reseed()
        self.confinement.filter()
        gc.enable()


def live(place: Place, descriptors: list[int]) -> NoReturn:
    """Runs one job in this freshly forked process, and ends it.

    Args:
        place: What it was given.
        descriptors: Where the job comes from, and where result, output and errors go, in this order.
    """
    try:
        _rewire(descriptors)
        place.enter()
    except BaseException as error:  # noqa: BLE001 - a child that is not confined must not run
        send_report(broken(error))
        os._exit(70)
    _work(place)


def wait(place: Place, line: int) -> NoReturn:
    """Prepares this freshly forked process, waits for the descriptors of a job, runs it, and ends.

    Args:
        place: What it was given.
        line: The socket over which the descriptors come.
    """
    failure = None
    try:
        os.dup2(line, JOB)
        place.enter()
        rehearse(1)
    except BaseException as error:  # noqa: BLE001 - told to the call that comes
        failure = error
    message, descriptors = receive(JOB)
    if not message:
        os._exit(0)
    _rewire(descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    if failure is not None:
        send_report(broken(failure))
        os._exit(70)
    _work(place)


def _work(place: Place) -> NoReturn:
    if stat.S_ISFIFO(os.fstat(JOB).st_mode):  # not one job, but many to come
        from . import session

        session.serve(place)
    try:
        job = _job()
        output = [sys.stdout, sys.stderr]
        place.confinement.limit(job["limits"], place.used)
    except BaseException as error:  # noqa: BLE001 - a child without limits must not run
        send_report(broken(error))
        os._exit(70)
    try:
        report = call.run(job, [place.scratch, *place.readable], relieve_memory)
    except BaseException:  # noqa: BLE001 - an exception that cannot even be described
        os._exit(1)
    for stream in output:
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
    send_report(report)
    # closed by hand, so that the host sees the end before the kernel has taken the process apart
    for descriptor in (1, 2, RESULT):
        try:
            os.close(descriptor)
        except OSError:
            continue
    os._exit(0)


def rehearse(times: int) -> None:
    """Walks the path of a call, for what comes after to be quick.

    In the warm interpreter this specialises the code that children share; in a child that waits it copies the
    pages that its call will write to.
    """
    limits = {"result_bytes": 1000, "memory_mb": 1}
    job = {"what": "call", "source": _SAMPLE, "entry": "f", "arguments": {"a": 1, "b": ["x"]}}
    for _ in range(times):
        call.run(json.loads(json.dumps({**job, "modules": {}, "limits": limits})), [])
    sys.modules.pop("tool", None)


def examine(place: Place, descriptor: int) -> NoReturn:
    """Puts every layer on this process, tries to get past each, and writes down what worked."""
    limits = {"cpu_seconds": 5, "memory_mb": 64, "file_bytes": 1_000_000}
    try:
        place.confinement.enter(place.scratch)
        place.confinement.filter()
        place.confinement.limit(limits, place.used)
        found = json.dumps({"gaps": place.confinement.gaps()})
    except BaseException as error:  # noqa: BLE001 - all of it is the finding
        found = json.dumps({"error": described(error)})
    os.write(descriptor, found.encode())
    os._exit(0)


def _rewire(descriptors: list[int]) -> None:
    for source, target in zip(descriptors, (JOB, RESULT, 1, 2), strict=True):
        os.dup2(source, target, inheritable=False)


def _job() -> dict[str, Any]:
    chunks = []
    offset, size = 0, os.fstat(JOB).st_size
    while offset < size:
        chunk = os.pread(JOB, size - offset, offset)
        chunks.append(chunk)
        offset += len(chunk)
    os.close(JOB)
    job: dict[str, Any] = json.loads(b"".join(chunks))
    return job


def _close_others(keep: list[int]) -> None:
    low = FIRST_FREE
    for descriptor in sorted(keep):
        os.closerange(low, descriptor)
        low = descriptor + 1
    os.closerange(low, _LARGEST_DESCRIPTOR)


def make_streams() -> None:
    """Standard output and errors as calls get them. Made once: each child inherits them."""
    streams: list[io.TextIOWrapper] = [
        io.TextIOWrapper(
            io.BufferedWriter(io.FileIO(descriptor, "w", closefd=False)),
            encoding="utf-8",
            errors="backslashreplace",
            line_buffering=True,
        )
        for descriptor in (1, 2)
    ]
    sys.stdout, sys.stderr = streams
    vars(sys).update(__stdout__=streams[0], __stderr__=streams[1])


def _reseed() -> None:
    """Forks would share numpy's old generator; `random` reseeds itself."""
    generators = sys.modules.get("numpy.random")
    if generators is not None:
        generators.seed()


def broken(error: BaseException) -> bytes:
    """The report of a child that could not be put under its layers."""
    message = f"a layer of the sandbox failed: {described(error)}"
    return json.dumps({"ok": False, "problem": problem("sandbox", message)}).encode()


def send_report(body: bytes) -> None:
    """Sends a report to the host, as far as it still listens."""
    left = memoryview(MAGIC + len(body).to_bytes(8, "big") + body)
    try:
        while left:
            left = left[os.write(RESULT, left) :]
    except OSError:
        return
