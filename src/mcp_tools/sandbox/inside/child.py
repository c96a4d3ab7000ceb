"""One call's process: put under its limits, run, reported on its own pipe, ended."""

from __future__ import annotations

import gc
import io
import json
import os
import resource
import signal
import sys
import time
from typing import Any, NoReturn

from . import call, problems
from .confinement import Confinement, relieve_memory

JOB, RESULT = 3, 4
"""Descriptors of a child, besides 0, 1 and 2."""
FIRST_FREE = 5

MAGIC = b"alita1"
"""Begins the report; then its length in eight bytes, then JSON."""

_LARGEST_DESCRIPTOR = 1 << 20


def live(
    confinement: Confinement,
    descriptors: list[int],
    scratch: str,
    *,
    used: int,
    readable: list[str],
    keep: list[int],
) -> NoReturn:
    """Runs one job in this freshly forked process, and ends it.

    Args:
        confinement: The layers to put on.
        descriptors: Where the job comes from, and where result, output and errors go, in this order.
        scratch: This call's own folder.
        used: Address space that was taken before the call, in bytes.
        readable: The paths that may be read.
        keep: Descriptors that imports need.
    """
    started = time.perf_counter()
    try:
        _rewire(descriptors)
        job = _job()
        os.chdir(scratch)
        os.environ.update(HOME=scratch, TMPDIR=scratch)
        confinement.enter(scratch)
        _close_others(keep)
        output = _streams()
        _reseed()
        confinement.limit(job["limits"], used)
    except BaseException as error:  # noqa: BLE001 - a child that is not confined must not run
        _report(_broken(error), started)
        os._exit(70)
    gc.enable()
    report = call.run(job, [scratch, *readable], relieve_memory)
    for stream in output:
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
    _report(report, started)
    # closed by hand, so that the host sees the end before the kernel has taken the process apart
    for descriptor in (1, 2, RESULT):
        try:
            os.close(descriptor)
        except OSError:
            continue
    os._exit(0)


def examine(confinement: Confinement, descriptor: int, scratch: str, used: int) -> NoReturn:
    """Puts every layer on this process, tries to get past each, and writes down what worked."""
    limits = {"cpu_seconds": 5, "memory_mb": 64, "file_bytes": 1_000_000}
    try:
        confinement.enter(scratch)
        confinement.limit(limits, used)
        found = json.dumps({"gaps": confinement.gaps()})
    except BaseException as error:  # noqa: BLE001 - all of it is the finding
        found = json.dumps({"error": problems.described(error)})
    os.write(descriptor, found.encode())
    os._exit(0)


def _rewire(descriptors: list[int]) -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for source, target in zip(descriptors, (JOB, RESULT, 1, 2), strict=True):
        os.dup2(source, target, inheritable=False)


def _job() -> dict[str, Any]:
    chunks = []
    offset = 0
    while chunk := os.pread(JOB, 1 << 20, offset):
        chunks.append(chunk)
        offset += len(chunk)
    job: dict[str, Any] = json.loads(b"".join(chunks))
    return job


def _close_others(keep: list[int]) -> None:
    os.close(JOB)
    low = FIRST_FREE
    for descriptor in sorted(keep):
        os.closerange(low, descriptor)
        low = descriptor + 1
    os.closerange(low, _LARGEST_DESCRIPTOR)


def _streams() -> list[io.TextIOWrapper]:
    streams = [
        io.TextIOWrapper(
            io.BufferedWriter(io.FileIO(descriptor, "w", closefd=False)),
            encoding="utf-8",
            errors="backslashreplace",
            line_buffering=True,
        )
        for descriptor in (1, 2)
    ]
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__ = streams
    return streams


def _reseed() -> None:
    """Forks would share numpy's old generator; `random` reseeds itself."""
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed()


def _broken(error: BaseException) -> bytes:
    message = f"a layer of the sandbox failed: {problems.described(error)}"
    return json.dumps({"ok": False, "problem": problems.problem("sandbox", message)}).encode()


def _report(report: bytes, started: float) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    measured = b'{"seconds":%.6f,"peak_kb":%d,' % (time.perf_counter() - started, peak)
    frame = measured + report[1:]
    left = memoryview(MAGIC + len(frame).to_bytes(8, "big") + frame)
    try:
        while left:
            left = left[os.write(RESULT, left) :]
    except OSError:
        return
