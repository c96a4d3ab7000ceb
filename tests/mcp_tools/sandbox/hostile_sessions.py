"""Attacks on a sandbox from inside its sessions."""

# ruff: noqa: E501 - it may block; tables of one-line programs

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from hostile_helpers import at_once, needs

from mcp_tools.sandbox.protocol import Limits, SessionOutcome
from mcp_tools.sandbox.session import LiveSession
from mcp_tools.sandbox.warm import WarmSandbox
from mcp_tools.tool import Json

FRAME = "import os, json\ndef frame(body):\n    body = body if isinstance(body, bytes) else json.dumps(body).encode()\n    os.write(4, b'alita1' + len(body).to_bytes(8, 'big') + body)\n"
FORGED = {
    "junk": "os.write(4, b'junk' * 100); time.sleep(50)",
    "huge length": "os.write(4, b'alita1' + bytes([255]) * 8); time.sleep(50)",
    "endless": "[os.write(4, b'alita1' + bytes([0, 0, 0, 0, 0, 63, 255, 255]) + bytes(65536)) for _ in iter(int, 1)]",
    "list": "frame(b'[]'); time.sleep(50)",
    "null": "frame(b'null'); time.sleep(50)",
    "nothing": "frame(b''); time.sleep(50)",
    "nan": 'frame(b\'{"ask":NaN,"name":"echo","arguments":{}}\'); time.sleep(50)',
    "surrogate": 'frame(b\'{"end":1,"value":"\\\\ud800","problem":null}\'); time.sleep(50)',
    "deep": "frame(b'{\"ask\":1,\"name\":\"echo\",\"arguments\":' + b'{\"a\":' * 99999 + b'1' + b'}' * 99999 + b'}'); time.sleep(50)",
    "unknown function": "frame({'ask': 1, 'name': 'system', 'arguments': {}}); time.sleep(50)",
    "arguments are a list": "frame({'ask': 1, 'name': 'echo', 'arguments': [1]}); time.sleep(50)",
    "number is a text": "frame({'ask': 'x', 'name': 'echo', 'arguments': {}}); time.sleep(50)",
    "another block's end": "frame({'end': 10**9, 'value': '', 'problem': None}); time.sleep(50)",
    "value is a list": "frame({'end': 2, 'value': [], 'problem': None}); time.sleep(50)",
    "problem without fields": "frame({'end': 2, 'value': '', 'problem': {'kind': 'exit'}}); time.sleep(50)",
    "large call": "frame({'ask': 1, 'name': 'echo', 'arguments': {'text': 'x' * 3_900_000}}); time.sleep(50)",
    "flood of calls": "[frame({'ask': n, 'name': 'wait', 'arguments': {}}) for n in range(10**6)]",
    "flood of quick calls": "import itertools\n[frame({'ask': n, 'name': 'echo', 'arguments': {}}) for n in itertools.count(10**6)]",
}
"""Forged bytes that code writes into the message channel. The number of the block is 2."""
ENDS = {
    "exit": "import os; os._exit(0)",
    "no exit handler": "import os, sys; sys.stdout = None; os._exit(7)",
    "killed": "import os; os.kill(os.getpid(), 9)",
    "stack": "import sys; sys.setrecursionlimit(10**9)\ndef f(): return [f()]\nf()",
    "null": "import ctypes; ctypes.string_at(0)",
    "its messages": "import os, time; os.close(3); os.read(3, 1) if 0 else None; time.sleep(0.1); echo(); time.sleep(50)",
    "its reports": "import os; os.close(4)",
    "all descriptors": "import os; os.closerange(0, 256)",
    "patched": "import json, os\njson.dumps = json.loads = os.write = os.read = None",
    "threads left behind": "import os, threading, time\nthreading.Thread(target=time.sleep, args=(99,)).start()\nos._exit(1)",
}
"""Blocks that end their process, or after which it must be ended."""
SURVIVED = {
    "exit": ("raise SystemExit", None),
    "exit with a message": ("import sys; sys.exit('no')", "exit"),
    "quit": ("quit()", None),
    "interrupt": ("raise KeyboardInterrupt", "exception"),
    "its own interrupt": ("import os, signal; os.kill(os.getpid(), signal.SIGINT)", "exception"),
    "recursion": ("def f(): return f()\nf()", "exception"),
    "generator exit": ("raise GeneratorExit", "exception"),
    "odd exception": ("class Odd(BaseException):\n    def __str__(self): raise ValueError\nraise Odd", "exception"),
    "odd value": ("class Odd:\n    def __repr__(self): raise ValueError('odd')\nOdd()", "exception"),
    "unicode": ("print('ü😀\\u202e\\0'); 'x'", None),
    "surrogates": ("import sys; sys.stdout.write('\\ud800'); raise ValueError('\\udfff')", "exception"),
    "huge": ("x = bytearray(10**11)", "memory"),
    "many": ("import array\nx = []\nwhile True: x.append(array.array('b', bytes(10**7)))", "memory"),
    "a program that is no text": ("\0", "syntax"),
    "deep source": ("(" * 5000 + ")" * 5000, "syntax"),
    "stolen names": ("echo = print = None\nimport builtins, sys\nsys.stdout = sys.stderr = None", None),
}
"""Blocks that a process survives, with the kind of their problem."""
OUTSIDE = {
    "a file": "open('/etc/passwd').read()",
    "a secret of the run": "open(SECRET).read()",
    "by a link": "open(FOLDER + '/link').read()",
    "by another link": "import os; os.symlink(SECRET, 'own'); open('own').read()",
    "other folders": "import os; os.listdir(os.path.dirname(os.getcwd()))",
    "writing": "open(FOLDER + '/new', 'w')",
    "processes": "import os; os.fork()",
    "programs": "import subprocess; subprocess.run(['/bin/true'])",
    "multiprocessing": "import multiprocessing; multiprocessing.Process(target=print).start()",
    "network": "import socket; socket.create_connection(('127.0.0.1', 1), timeout=2)",
    "names": "import socket; socket.getaddrinfo('example.org', 80)",
    "signals": "import os; os.kill(os.getppid(), 9)",
    "limits of others": "import resource, os; resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))",
}
"""Operations that only level weak allows."""


class Host:
    """A host that counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    async def __call__(self, name: str, arguments: dict[str, Json]) -> Json:
        self.calls += 1
        if name == "wait":
            await asyncio.sleep(30)
        return arguments


@asynccontextmanager
async def opened(sandbox: WarmSandbox, *read: Path) -> AsyncIterator[tuple[LiveSession, Host]]:
    host = Host()
    session = sandbox.session(read=read, functions=("echo", "wait"), host=host)
    try:
        yield session, host
    finally:
        await session.aclose()


async def run(session: LiveSession, code: str, **limits: float) -> SessionOutcome:
    started = time.monotonic()
    outcome = await session.run(code, limits=Limits(**{"wall_seconds": 8, **limits}))  # type: ignore[arg-type] # numbers all
    needs(time.monotonic() - started < 30, time.monotonic() - started)
    json.dumps([outcome.value, outcome.stdout, outcome.stderr, str(outcome.problem)], ensure_ascii=False).encode()
    return outcome


async def goes_on(session: LiveSession, *, fresh: bool) -> None:
    outcome = await run(session, "n = globals().get('n', 0) + 1\nprint(echo(a=n)['a'])")
    needs(outcome.ok and outcome.fresh is fresh and (outcome.stdout == "1\n" or not fresh), outcome)


async def forged_messages(sandbox: WarmSandbox, folder: Path) -> None:
    async def forged(name: str, code: str) -> None:
        async with opened(sandbox) as (session, host):
            needs((await run(session, FRAME + "import time; n = 5")).ok, name)
            held = session._interpreter
            started = time.monotonic()
            outcome = await run(session, code, wall_seconds=25)
            needs(outcome.problem is not None and outcome.problem.kind == "result", (name, outcome))
            needs(time.monotonic() - started < 24, f"{name}: it was noticed at the time limit only")
            needs(host.calls < 10_000, (name, host.calls))
            needs(held is not None and held[1].retired, f"{name}: the interpreter was not replaced")
            await goes_on(session, fresh=True)

    await at_once([partial(forged, *one) for one in FORGED.items()])


async def ended_sessions(sandbox: WarmSandbox, folder: Path) -> None:
    async def ended(name: str, code: str) -> None:
        async with opened(sandbox) as (session, _):
            await run(session, "n = 5")
            outcome = await run(session, code, wall_seconds=0.5)
            needs(outcome.problem is not None, (name, outcome))
            needs("its variables are lost" in str(outcome.problem), (name, outcome))
            await goes_on(session, fresh=True)

    await at_once([partial(ended, *one) for one in ENDS.items()])


async def survived_blocks(sandbox: WarmSandbox, folder: Path) -> None:
    async def survived(name: str, code: str, kind: str | None) -> None:
        async with opened(sandbox) as (session, _):
            await run(session, "n = 5; keep = print, echo")
            outcome = await run(session, code, wall_seconds=25)  # each ends by itself, though late on a busy machine
            needs((outcome.problem.kind if outcome.problem else None) == kind, (name, outcome))
            outcome = await run(session, "print, echo = keep\nn")
            needs((outcome.value, outcome.fresh) == ("5", False), (name, outcome))
            await goes_on(session, fresh=False)

    await at_once([partial(survived, name, *one) for name, one in SURVIVED.items()])


async def floods_of_output(sandbox: WarmSandbox, folder: Path) -> None:
    async with opened(sandbox) as (session, _):
        code = "import sys\nfor stream in (sys.stdout, sys.stderr):\n    for n in range(30): stream.write('x' * 999_999 + '\\n')\nprint('end')"
        outcome = await run(session, code, output_bytes=10_000, wall_seconds=20)
        needs(
            outcome.ok and outcome.cut and len(outcome.stdout) < 11_000 and len(outcome.stderr) < 11_000,
            outcome.problem,
        )
        needs(outcome.stdout.endswith("x\nend\n"), outcome.stdout[-100:])
        endless = (
            "import threading\ndef talk():\n    while True: print('x' * 1000)\nthreading.Thread(target=talk).start()"
        )
        for _ in range(3):
            needs((await run(session, endless, output_bytes=10_000)).ok)
        outcome = await run(session, "while True: print('y' * 10_000)", output_bytes=10_000, wall_seconds=0.4)
        needs(outcome.problem is not None and outcome.problem.kind == "wall_time", outcome)


async def endless_questions(sandbox: WarmSandbox, folder: Path) -> None:
    """The event loop must not be blocked meanwhile."""
    async with opened(sandbox) as (session, host):
        beats = 0

        async def beat() -> None:
            nonlocal beats
            while True:
                await asyncio.sleep(0.01)
                beats += 1

        beating = asyncio.create_task(beat())
        outcome = await run(session, "for n in range(100_000): echo(n=n)", wall_seconds=1)
        needs(outcome.problem is not None and outcome.problem.kind == "wall_time", outcome)
        needs(beats > 20 and 100 < host.calls < 100_000, (beats, host.calls))
        await goes_on(session, fresh=False)
        many = "import threading\nfor n in range(100): threading.Thread(target=wait, daemon=True).start()"
        needs((await run(session, many)).ok)
        outcome = await run(session, "echo(a=1)")  # the threads got an error as answer, because their block ended
        needs(outcome.value == "{'a': 1}", outcome)
        beating.cancel()


async def computing_beside_questions(sandbox: WarmSandbox, folder: Path) -> None:
    """The clock is paused while the host works, but threads must not compute in that time."""
    async with opened(sandbox) as (session, _):
        await run(session, "import threading")
        forged = f"{FRAME}frame({{'ask': 77, 'name': 'wait', 'arguments': {{}}}})\nwhile True: pass"
        for code in ("threading.Thread(target=wait, daemon=True).start()\nwhile True: pass", forged):
            outcome = await run(session, code, wall_seconds=0.3)
            needs(outcome.problem is not None and outcome.problem.kind == "wall_time", outcome)


async def many_threads(sandbox: WarmSandbox, folder: Path) -> None:
    if sandbox.isolation.backend == "none":
        return
    async with opened(sandbox) as (session, _):
        code = "import threading, time\nthreading.stack_size(32768)\nmade = 0\nwhile True:\n    threading.Thread(target=time.sleep, args=(99,), daemon=True).start()\n    made += 1"
        outcome = await run(session, code, wall_seconds=1)
        needs(outcome.problem is not None, outcome)
        outcome = await run(session, "1")  # leftover threads may hold all memory
        needs(outcome.value == "1" or (outcome.problem and outcome.problem.kind in {"memory", "exit"}), outcome)


async def full_folders(sandbox: WarmSandbox, folder: Path) -> None:
    async with opened(sandbox) as (session, _):
        for code in (
            "for n in range(10**6): open(str(n), 'x').close()",
            "for n in range(99):\n    with open(str(n), 'wb') as f: f.write(bytes(30_000_000))",
        ):
            outcome = await run(session, code, wall_seconds=30)
            needs(outcome.problem is not None and outcome.problem.kind == "quota", outcome)
            outcome = await run(session, "[open(f'{n}.new', 'wb').write(bytes(9_000_000)) for n in range(5)]")
            needs(outcome.ok or "is full" in str(outcome.problem), outcome)


async def reaching_outside(sandbox: WarmSandbox, folder: Path) -> None:
    if sandbox.isolation.backend == "none":
        return
    secret, granted = folder / "secret", folder / "granted"
    secret.write_text("canary")
    secret.chmod(0o644)
    granted.mkdir(mode=0o755)
    (granted / "link").symlink_to(secret)
    async with opened(sandbox, granted) as (session, _):
        await run(session, f"SECRET, FOLDER = {str(secret)!r}, {str(granted)!r}")
        for name, code in OUTSIDE.items():
            outcome = await run(session, code)
            kinds = ("denied", "exception") if "link" in name else ("denied",)  # the link may have no target
            needs(outcome.problem is not None and outcome.problem.kind in kinds, (name, outcome))
            needs("canary" not in str(outcome), (name, outcome))
        (granted / "late").symlink_to(secret)
        outcome = await run(session, "open(FOLDER + '/late').read()")
        needs(outcome.problem is not None and "canary" not in str(outcome), outcome)
        await goes_on(session, fresh=False)


SESSION_ATTACKS = (
    forged_messages,
    ended_sessions,
    survived_blocks,
    floods_of_output,
    endless_questions,
    computing_beside_questions,
    many_threads,
    full_folders,
    reaching_outside,
)
