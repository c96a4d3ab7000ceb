"""The process of one call: confine it, run its job, send the report, exit."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
from typing import NoReturn

from . import call
from .call import described, problem
from .confinement import Confinement, release_memory_reserve
from .frames import FIRST_FREE, JOB, RESULT, receive, send

_LARGEST_DESCRIPTOR = 1 << 20
_SAMPLE = """
import math

def f(a: int, b: list) -> dict[str, int]:
    return {c: a for c in b}
"""


def live(confinement: Confinement, scratch: str, descriptors: list[int]) -> NoReturn:
    """Confine this newly forked process, run the job that it receives on its pipe, and exit."""
    for source, target in zip(descriptors, (JOB, RESULT, 1, 2), strict=True):
        os.dup2(source, target, inheritable=False)
    output = [sys.stdout, sys.stderr]
    try:
        _enter(confinement, scratch)
        job = receive()
        confinement.limit(job["limits"])
    except BaseException as error:  # noqa: BLE001 - a child must not run without all its layers
        message = f"a layer of the sandbox failed: {described(error)}"
        send(json.dumps({"ok": False, "problem": problem("sandbox", message)}).encode())
        os._exit(70)
    allowed = [scratch, *confinement.granted]
    if job["what"] == "session":
        from . import session

        session.SessionState(job, allowed, confinement.library).serve()
    job["loads"] = bool(confinement.untrusted)
    try:
        report = call.run(job, allowed, release_memory_reserve)
    except BaseException:  # noqa: BLE001 - even describing the exception failed
        os._exit(1)
    for stream in output:
        try:
            stream.flush()
        except (OSError, ValueError):
            continue
    send(report)
    # closed now, so that the host sees end of file before the kernel has torn down the process
    for descriptor in (1, 2, RESULT):
        try:
            os.close(descriptor)
        except OSError:
            continue
    os._exit(0)


def _enter(confinement: Confinement, scratch: str) -> None:
    """Apply all layers except the resource limits, which arrive with the job."""
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
        generators.seed()  # forked children would share numpy's state; `random` reseeds itself
    confinement.filter()
    sys.path += confinement.untrusted
    gc.enable()


def warm_up() -> None:
    """Run a sample call in the warm interpreter, so that its children inherit warm caches and loaded memory."""
    limits = {"result_bytes": 1000, "memory_mb": 1}
    job = {"what": "call", "source": _SAMPLE, "entry": "f", "arguments": {"a": 1, "b": ["x"]}}
    call.run(json.loads(json.dumps({**job, "modules": {}, "limits": limits})), [])
    sys.modules.pop("tool", None)


def examine(confinement: Confinement, scratch: str, descriptor: int) -> NoReturn:
    """Apply all layers to this process, try to bypass each one, and report the results."""
    try:
        confinement.enter(scratch)
        confinement.filter()
        confinement.limit({"cpu_seconds": 5, "memory_mb": 64, "file_bytes": 1_000_000})
        faults = [f"{gap} was possible despite all layers" for gap in confinement.gaps()]
    except BaseException as error:  # noqa: BLE001 - any failure is a finding
        faults = [described(error)]
    os.write(descriptor, json.dumps(faults).encode())
    os._exit(0)
