"""A program that attacks a sandbox from inside its calls, for any user and back end: one line of JSON per attack.

python hostile_calls.py BACKEND FOLDER [ATTACK…]
"""

# ruff: noqa: ASYNC240, E501 - it may block; tables of one-line programs

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from hostile_helpers import at_once, below, eventually, needs
from hostile_sessions import SESSION_ATTACKS

from mcp_tools.sandbox.backends import BACKENDS
from mcp_tools.sandbox.environment import Environment
from mcp_tools.sandbox.inside.scratch import QUOTA_BYTES, QUOTA_FILES
from mcp_tools.sandbox.protocol import Job, Limits, Outcome, Problem
from mcp_tools.sandbox.warm import WarmSandbox

Attack = Callable[[WarmSandbox, Path], Awaitable[None]]

DESCRIPTORS = 128
"""Limit of open descriptors: removing files of a call must not need one per folder level."""
REPORT = "import os\ndef report(body):\n    os.write(4, b'alita1' + len(body).to_bytes(8, 'big') + body)\n"
FORGED = {
    "list": b"[]",
    "text": b'"x"',
    "number": b"5",
    "null": b"null",
    "no value": b'{"ok":true}',
    "ok is 1": b'{"ok":1,"value":1}',
    "measurements": b'{"ok":true,"value":1,"seconds":1' + b"0" * 400 + b',"peak_kb":1}',
    "nan": b'{"ok":true,"value":NaN}',
    "infinity": b'{"ok":true,"value":[-Infinity]}',
    "overflow": b'{"ok":true,"value":1e999}',
    "lone surrogate": b'{"ok":true,"value":"\\ud800"}',
    "lone surrogate as a key": b'{"ok":true,"value":{"\\uDFFF":1}}',
    "surrogate in bytes": b'{"ok":true,"value":"\xed\xa0\x80"}',
    "utf-16": '{"ok":true,"value":1}'.encode("utf-16"),
    "deep": b'{"ok":true,"value":' + b"[" * 950 + b"]" * 950 + b"}",
    "deeper": b'{"ok":true,"value":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "long integer": b'{"ok":true,"value":1' + b"0" * 5000 + b"}",
    "kind is a list": b'{"ok":false,"problem":{"kind":[],"message":"","traceback":"","line":null}}',
    "message is a number": b'{"ok":false,"problem":{"kind":"exit","message":5,"traceback":"","line":null}}',
    "message with a surrogate": b'{"ok":false,"problem":{"kind":"exit","message":"\\ud800","traceback":"","line":null}}',
    "line is true": b'{"ok":false,"problem":{"kind":"exit","message":"","traceback":"","line":true}}',
    "line is huge": b'{"ok":false,"problem":{"kind":"exit","message":"","traceback":"","line":1' + b"0" * 400 + b"}}",
    "line is negative": b'{"ok":false,"problem":{"kind":"exit","message":"","traceback":"","line":-1}}',
}
RAW = {
    "junk": "os.write(4, b'junk'); time.sleep(60)",
    "huge length": "os.write(4, b'alita1' + b'\\xff' * 8 + b'{}'); os._exit(0)",
    "more than the length": "os.write(4, b'alita1' + (2).to_bytes(8, 'big') + b'{}junk'); time.sleep(60)",
    "flood": "[os.write(4, b'alita1' + b'\\xff' * 8 + bytes(65536)) for _ in iter(int, 1)]",
}
FILL = """
import os
def f(where, keep):
    made = 0
    while True:
        if where:
            os.makedirs(where, exist_ok=True)
        file = open(os.path.join(where, str(made)), 'wb')
        if keep:
            os.unlink(file.name)
            keep.append(file)
        file.write(bytes(30_000_000))
        file.flush()
        made += 1
        print(made, flush=True)
"""


async def call(
    sandbox: WarmSandbox, source: str, arguments: dict[str, object] | None = None, **limits: float
) -> Outcome:
    job = Job(source, "f", arguments or {}, limits=Limits(**limits))  # type: ignore[arg-type] # numbers all
    outcome = await sandbox.run(job)
    json.dumps(outcome.value, allow_nan=False, ensure_ascii=False).encode()
    needs(0 < outcome.seconds < 60, outcome.seconds)
    return outcome


async def works(sandbox: WarmSandbox) -> None:
    outcome = await call(sandbox, "def f():\n    return 2")
    needs(outcome.value == 2, outcome)


async def idle(sandbox: WarmSandbox) -> int:
    """Count the processes when no call is running."""
    await works(sandbox)
    count = len(below(os.getpid()))
    for _ in range(3):
        await asyncio.sleep(0.1)
        count = max(count, len(below(os.getpid())))
    return count


async def survivors(sandbox: WarmSandbox, folder: Path) -> None:
    before = await idle(sandbox)
    sleeps = "import os, time\nos._exit = lambda *a: time.sleep(10**6)\ndef f():\n    return 7"
    by_hand = f'{REPORT}import time\ndef f():\n    report(b\'{{"ok":true,"value":7}}\')\n    os.close(1), os.close(2)\n    time.sleep(10**6)'
    ignores = "import os, signal, time\n[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 15)]\n" + sleeps
    for source in (sleeps, by_hand, ignores) * 2:
        outcome = await call(sandbox, source)
        needs(outcome.value == 7, outcome)
    needs(await eventually(lambda: len(below(os.getpid())) <= before), (before, below(os.getpid())))


async def closing_is_bounded(sandbox: WarmSandbox, folder: Path) -> None:
    other = BACKENDS[sandbox.isolation.backend]()
    await other.open()
    mine = below(os.getpid())
    running = asyncio.create_task(call(other, "import time\ndef f():\n    time.sleep(50)", wall_seconds=55))
    await asyncio.sleep(0.3)
    await call(other, "import os, time\nos._exit = lambda *a: time.sleep(10**6)\ndef f():\n    return 7")
    await call(other, "import os\ndef f():\n    os.write(4, b'junk')")  # its interpreter is retired
    await call(other, "import os, time\nos._exit = lambda *a: time.sleep(10**6)\ndef f():\n    return 7")
    started = time.monotonic()
    await other.aclose()
    needs(time.monotonic() - started < 8, time.monotonic() - started)
    outcome = await running
    needs(outcome.problem is not None and outcome.problem.kind == "sandbox", outcome)
    needs(await eventually(lambda: not below(os.getpid()) - mine), below(os.getpid()) - mine)


async def forged_reports(sandbox: WarmSandbox, folder: Path) -> None:
    async def forged(name: str, body: bytes) -> None:
        first = sandbox._zygotes.get(Environment())
        outcome = await call(sandbox, f"{REPORT}def f():\n    report({body!r})\n    os._exit(0)")
        needs(outcome.problem is not None and outcome.problem.kind == "result", (name, outcome))
        needs(first not in sandbox._zygotes.values() or first is None, f"{name}: the interpreter was not replaced")

    async def raw(name: str, body: str) -> None:
        started = time.monotonic()
        outcome = await call(sandbox, f"import os, time\ndef f():\n    {body}", wall_seconds=19, result_bytes=100_000)
        needs(outcome.problem is not None and outcome.problem.kind == "result", (name, outcome))
        needs(time.monotonic() - started < 18, f"{name}: it was noticed at the time limit only")

    await works(sandbox)
    await forged("alone", b"[]")
    await at_once([partial(forged, *one) for one in FORGED.items()], most=12)
    await at_once([partial(raw, *one) for one in RAW.items()])
    await works(sandbox)


async def forged_schemas(sandbox: WarmSandbox, folder: Path) -> None:
    for body in (
        b'{"ok":true,"value":5}',
        b'{"ok":true,"value":{"name":1}}',
        b'{"ok":true,"value":{"name":1,"description":"","input_schema":{},"output_schema":{}}}',
    ):
        source = f"{REPORT}report({body!r})\nos._exit(0)\ndef f() -> int:\n    return 1\n"
        found = await sandbox.describe(source, "f")
        needs(isinstance(found, Problem) and found.kind == "result", found)


async def time_is_measured_outside(sandbox: WarmSandbox, folder: Path) -> None:
    source = "import time\nsleep = time.sleep\ntime.perf_counter = time.monotonic = lambda: 0\ndef f():\n    sleep(0.3)"
    outcome = await call(sandbox, source)
    needs(0.25 < outcome.seconds < 8, outcome.seconds)


async def full_and_closed_folders(sandbox: WarmSandbox, folder: Path) -> None:
    """Full, unreadable and deep folders are removed, or the interpreter is replaced, so the next call has its full quota."""
    closed = "import os\ndef f():\n    os.mkdir('d', 0o300)\n    for n in range(4):\n        open(f'd/{n}', 'wb').write(bytes(30_000_000))\n    try:\n        os.chmod('d', 0); os.chmod('.', 0)\n    except PermissionError:\n        pass\n    return 1"
    deep = "import os\ndef f():\n    for n in range(500):\n        os.mkdir('d' * 200)\n        os.chdir('d' * 200)\n    return 1"
    fresh = "def f():\n    for n in range(3):\n        open(str(n), 'wb').write(bytes(30_000_000))\n    return 1"
    for source in (closed, deep):
        outcome = await call(sandbox, source, wall_seconds=30)
        needs(outcome.ok or "scratch folder" in str(outcome.problem), outcome)
    for _ in range(2):
        outcome = await call(sandbox, fresh, wall_seconds=30)
        needs(outcome.ok, outcome)


async def quota(sandbox: WarmSandbox, folder: Path) -> None:
    for where, keep in (("", None), ("a/b", None), ("", [])):
        source = FILL if keep is None else FILL.replace("def f(where, keep):", "def f(where, keep):\n    keep = [0]")
        outcome = await call(sandbox, source, {"where": where, "keep": keep}, wall_seconds=50, cpu_seconds=50)
        needs(outcome.problem is not None and outcome.problem.kind == "quota", outcome)
        needs("scratch folder" in str(outcome.problem), outcome)
        written = 30_000_000 * int((outcome.stdout.split() or ["0"])[-1])
        needs(written < 8 * QUOTA_BYTES, f"{written:,} bytes were written")
    mapped = "import mmap, os\nheld = []\ndef f():\n    while True:\n        file = open('x', 'wb+')\n        file.write(bytes(30_000_000))\n        file.flush()\n        held.append(mmap.mmap(file.fileno(), 4096))\n        os.unlink('x')\n        file.close()"
    outcome = await call(sandbox, mapped, wall_seconds=50, cpu_seconds=50)
    needs(outcome.problem is not None and outcome.problem.kind == "quota", outcome)
    await works(sandbox)


async def many_files(sandbox: WarmSandbox, folder: Path) -> None:
    source = "def f():\n    n = 0\n    while True:\n        open(str(n), 'x').close()\n        n += 1"
    outcome = await call(sandbox, source, wall_seconds=50, cpu_seconds=50)
    needs(outcome.problem is not None and outcome.problem.kind == "quota", outcome)
    needs(f"{QUOTA_FILES:,} files" in outcome.problem.message, outcome)  # type: ignore[union-attr] # see above
    await works(sandbox)


async def pinning_processes(sandbox: WarmSandbox, folder: Path) -> None:
    if sandbox.isolation.backend == "none":
        return
    before = os.sched_getaffinity(0)
    source = "import os\ndef f(pid):\n    os.sched_setaffinity(pid, {0})"
    for pid in (0, 1, os.getpid(), os.getppid()):
        outcome = await call(sandbox, source, {"pid": pid})
        needs(outcome.problem is not None and outcome.problem.kind == "denied", outcome)
    needs(os.sched_getaffinity(0) == before)


async def signals_by_descriptor(sandbox: WarmSandbox, folder: Path) -> None:
    if sandbox.isolation.backend == "none":
        return
    for attempt in (
        "fcntl.fcntl(a, fcntl.F_SETOWN, pid)",
        "fcntl.fcntl(a, 10, 9)",
        "fcntl.fcntl(a, 15, struct.pack('ii', 1, pid))",
        "fcntl.ioctl(a, 0x8901, struct.pack('i', pid))",
    ):
        source = f"import fcntl, os, socket, struct\ndef f(pid):\n    a, b = socket.socketpair()\n    {attempt}\n    fcntl.fcntl(a, fcntl.F_SETFL, os.O_ASYNC)\n    b.send(b'x')"
        outcome = await call(sandbox, source, {"pid": os.getpid()})
        needs(outcome.problem is not None and outcome.problem.kind == "denied", (attempt, outcome))


READ = "def f(path):\n    return open(path).read()"


async def read(sandbox: WarmSandbox, path: Path) -> Outcome:
    return await sandbox.run(Job(READ, "f", {"path": str(path)}, read=(path,)))


async def replaced_files(sandbox: WarmSandbox, folder: Path) -> None:
    path = folder / "a.txt"
    for n in range(2):
        new = folder / "new"
        new.write_text(f"{n}")
        new.chmod(0o644)
        new.replace(path)
        outcome = await read(sandbox, path)
        needs(outcome.value == f"{n}", outcome)
    path.write_text("in place")
    needs((await read(sandbox, path)).value == "in place")


async def links_made_after_consent(sandbox: WarmSandbox, folder: Path) -> None:
    secret, granted, inner = folder / "secret", folder / "granted.txt", folder / "inner"
    secret.write_text("canary")
    granted.write_text("hello")
    inner.mkdir(mode=0o755)
    (inner / "b.txt").write_text("hello")
    for path in (secret, granted, inner / "b.txt"):
        path.chmod(0o644)
    for path in (granted, inner / "b.txt"):
        needs((await read(sandbox, path)).value == "hello")
    granted.unlink()
    granted.symlink_to(secret)
    (inner / "b.txt").unlink()
    inner.rmdir()
    (folder / "b.txt").write_text("canary")
    inner.symlink_to(folder)
    for path in (granted, inner / "b.txt"):
        outcome = await read(sandbox, path)
        needs(outcome.problem is not None and outcome.problem.kind == "denied", outcome)
        needs("and now points to" in str(outcome.problem), outcome)


async def swapped_grants(sandbox: WarmSandbox, folder: Path) -> None:
    """While calls start, another process of the user keeps replacing the granted file with a link."""
    if sandbox.isolation.backend == "none":
        return
    secret, honest, path, new = (folder / name for name in ("secret", "honest", "granted.txt", "new"))
    secret.write_text("canary")
    honest.write_text("hello")
    for one in (secret, honest):
        one.chmod(0o644)
    os.link(honest, path)
    needs((await read(sandbox, path)).value == "hello")
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            for make, target in ((os.symlink, secret), (os.link, honest)):
                make(target, new)
                new.replace(path)

    swapper = threading.Thread(target=swap)
    swapper.start()
    kinds = set()
    try:
        started = time.monotonic()
        while time.monotonic() - started < 0.7:
            outcome = await read(sandbox, path)
            needs("canary" not in str(outcome), outcome)
            kinds.add(outcome.problem.kind if outcome.problem else "read")
            if held := sandbox._zygotes:  # so that each call opens the file again
                for environment, task in list(held.items()):
                    if environment.read and task.done() and not task.exception():
                        sandbox.retire(environment, task.result())
    finally:
        done.set()
        swapper.join()
    needs(kinds <= {"read", "denied", "exception"}, kinds)


async def impossible_grants(sandbox: WarmSandbox, folder: Path) -> None:
    fifo, closed = folder / "fifo", folder / "closed"
    os.mkfifo(fifo)
    closed.write_text("x")
    closed.chmod(0)
    wanted = [Path(name) for name in ("/", "/tmp", "/proc", "/proc/self", "/sys", "/dev", "/dev/null", "/nowhere")]
    for path in (*wanted, Path(tempfile.gettempdir()), fifo, *([closed] if os.geteuid() else [])):
        outcome = await sandbox.run(Job("def f():\n    return 1", "f", read=(path,)))
        needs(outcome.problem is not None and outcome.problem.kind == "denied", (path, outcome))
        needs(str(path) in str(outcome.problem), outcome)
    await works(sandbox)


ATTACKS: dict[str, Attack] = {
    attack.__name__: attack
    for attack in (
        survivors,
        closing_is_bounded,
        forged_reports,
        forged_schemas,
        time_is_measured_outside,
        full_and_closed_folders,
        quota,
        many_files,
        pinning_processes,
        signals_by_descriptor,
        replaced_files,
        links_made_after_consent,
        swapped_grants,
        impossible_grants,
        *SESSION_ATTACKS,
    )
}


async def main(backend: str, folder: str, *names: str) -> None:
    """Run the named attacks, or all, then close the sandbox. Nothing may be left."""
    signal.alarm(540)
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
    sandbox = BACKENDS[backend]()
    await sandbox.open()
    print(json.dumps({"attack": "opening", "failure": "", "level": sandbox.isolation.level}), flush=True)
    for name in names or ATTACKS:
        inner = Path(folder) / name
        inner.mkdir()
        inner.chmod(0o755)
        failure = ""
        started = time.monotonic()
        try:
            await asyncio.wait_for(ATTACKS[name](sandbox, inner), 120)
        except Exception:
            failure = traceback.format_exc()
        seconds = round(time.monotonic() - started, 1)
        print(json.dumps({"attack": name, "failure": failure, "seconds": seconds}), flush=True)
    await sandbox.aclose()
    left = [entry.name for entry in Path(tempfile.gettempdir()).glob("alita-sandbox-*")]
    print(
        json.dumps({"attack": "closing", "failure": f"left: {left}" if left or below(os.getpid()) else ""}), flush=True
    )


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
