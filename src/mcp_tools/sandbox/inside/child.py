"""One call's process: put under its layers and limits, run, reported on its own pipe, ended."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from typing import NoReturn

from . import call
from .call import described, problem
from .confinement import Confinement, relieve_memory
from .frames import FIRST_FREE, JOB, RESULT, receive, send

_LARGEST_DESCRIPTOR = 1 << 20
_SAMPLE = """
import math

def f(a: int, b: list) -> dict[str, int]:
    return {c: a for c in b}
"""


def live(confinement: Confinement, scratch: str, descriptors: list[int]) -> NoReturn:
    """Confines this freshly forked process, runs the job that its descriptors bring, and ends."""
    for source, target in zip(descriptors, (JOB, RESULT, 1, 2), strict=True):
        os.dup2(source, target, inheritable=False)
    output = [sys.stdout, sys.stderr]
    try:
        _enter(confinement, scratch)
        job = receive()
        confinement.limit(job["limits"])
    except BaseException as error:  # noqa: BLE001 - a child without all its layers must not run
        message = f"a layer of the sandbox failed: {described(error)}"
        send(json.dumps({"ok": False, "problem": problem("sandbox", message)}).encode())
        os._exit(70)
    allowed = [scratch, *confinement.granted]
    if job["what"] == "session":
        from . import session

        session.Session(job, allowed, confinement.library).serve()
    job["loads"] = bool(confinement.strangers)
    try:
        report = call.run(job, allowed, relieve_memory)
    except BaseException:  # noqa: BLE001 - an exception that cannot even be described
        os._exit(1)
    for stream in output:
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
    send(report)
    # closed by hand, so that the host sees the end before the kernel has taken the process apart
    for descriptor in (1, 2, RESULT):
        try:
            os.close(descriptor)
        except OSError:
            continue
    os._exit(0)


def _enter(confinement: Confinement, scratch: str) -> None:
    """Puts on everything but the limits, which come with the job."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if confinement.begin < 0:
        os.chdir(scratch)
    else:
        os.fchdir(confinement.begin)
    os.environ["HOME"] = os.environ["TMPDIR"] = scratch
    confinement.enter(scratch)
    low = FIRST_FREE
    for descriptor in sorted(confinement.keep):
        os.closerange(low, descriptor)
        low = descriptor + 1
    os.closerange(low, _LARGEST_DESCRIPTOR)
    if (generators := sys.modules.get("numpy.random")) is not None:
        generators.seed()  # forks would share it; `random` reseeds itself
    confinement.filter()
    sys.path += confinement.strangers
    gc.enable()


def warm_up() -> None:
    """Runs a call in the warm interpreter: its children share what that leaves in the compiler and in memory."""
    limits = {"result_bytes": 1000, "memory_mb": 1}
    job = {"what": "call", "source": _SAMPLE, "entry": "f", "arguments": {"a": 1, "b": ["x"]}}
    call.run(json.loads(json.dumps({**job, "modules": {}, "limits": limits})), [])
    sys.modules.pop("tool", None)


def examine(confinement: Confinement, scratch: str, descriptor: int) -> NoReturn:
    """Puts every layer on this process, tries to get past each, and writes down what worked."""
    try:
        confinement.enter(scratch)
        confinement.filter()
        confinement.limit({"cpu_seconds": 5, "memory_mb": 64, "file_bytes": 1_000_000})
        faults = [f"{gap} was possible in spite of every layer" for gap in confinement.gaps()]
    except BaseException as error:  # noqa: BLE001 - all of it is the finding
        faults = [described(error)]
    os.write(descriptor, json.dumps(faults).encode())
    os._exit(0)
