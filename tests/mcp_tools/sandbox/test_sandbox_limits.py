"""Each limit ends the call in time, with a message that names the limit."""

# ruff: noqa: E501 - tables of one-line programs

from __future__ import annotations

import asyncio
import time

import pytest

from mcp_tools.sandbox.protocol import Job, Limits, Outcome
from mcp_tools.sandbox.warm import WarmSandbox

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def run(sandbox: WarmSandbox, body: str, **limits: float) -> Outcome:
    source = "import os, signal, sys, time, threading\ndef f():\n" + "".join(
        f"    {line}\n" for line in body.splitlines()
    )
    return await sandbox.run(Job(source, "f", limits=Limits(**limits)))  # type: ignore[arg-type] # numbers all


def problem(outcome: Outcome) -> tuple[str, str]:
    assert outcome.problem is not None
    return outcome.problem.kind, outcome.problem.message


ENDLESS = (
    "time.sleep(60)",
    "while True: pass",
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\ntime.sleep(60)",
    "while True:\n    try:\n        time.sleep(60)\n    except BaseException:\n        pass",
    "os.kill(os.getpid(), signal.SIGSTOP)",
    "sum(10**9999 // 7 for _ in range(10**9))",
)


async def test_wall_time(sandbox: WarmSandbox) -> None:
    started = time.monotonic()
    outcomes = await asyncio.gather(*(run(sandbox, body, wall_seconds=0.2) for body in ENDLESS))
    said = ("wall_time", "the call was stopped at its time limit of 0.2 s")
    assert [problem(outcome) for outcome in outcomes] == [said] * len(ENDLESS)
    assert time.monotonic() - started < 30


async def test_processor_time(sandbox: WarmSandbox) -> None:
    body = "signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
    outcome = await run(sandbox, body, cpu_seconds=1, wall_seconds=40)
    assert problem(outcome) == ("cpu_time", "the call was stopped at its limit of 1.0 s of processor time")


@pytest.mark.parametrize(
    "body", ["x = bytearray(3 << 30)", "x = []\nwhile True: x.append(bytearray(10**6))", "return 'x' * (1 << 31)"]
)
async def test_memory(isolated: WarmSandbox, body: str) -> None:
    outcome = await run(isolated, body, memory_mb=128)
    assert problem(outcome) == ("memory", "the memory limit of 128 MiB was reached")


async def test_a_file_bomb(isolated: WarmSandbox) -> None:
    body = "with open('big', 'wb') as file:\n    while True: file.write(bytes(10**6))"
    kind, message = problem(await run(isolated, body, file_bytes=3_000_000))
    assert kind == "denied"
    assert "file size limit" in message


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
async def test_floods_of_output_are_cut_and_the_result_still_comes(sandbox: WarmSandbox, stream: str) -> None:
    outcome = await run(
        sandbox,
        f"for _ in range(300): sys.{stream}.write('x' * 10_000)\nsys.{stream}.write('end')\nreturn 5",
        output_bytes=10_000,
    )
    assert (outcome.value, outcome.cut) == (5, True)
    kept = getattr(outcome, stream).splitlines()
    assert kept == ["x" * 5000, "… 2,990,003 bytes left out …", "x" * 4997 + "end"]


async def test_an_endless_flood_ends_with_the_time(sandbox: WarmSandbox) -> None:
    outcome = await run(sandbox, "while True: os.write(1, b'x' * 65536)", wall_seconds=0.4, output_bytes=1000)
    assert problem(outcome)[0] == "wall_time"
    assert 1000 < len(outcome.stdout) < 1100


async def test_result_size(sandbox: WarmSandbox) -> None:
    outcome = await run(sandbox, "return 'x' * 5000", result_bytes=1000)
    assert problem(outcome) == ("result_size", "the result is 5,002 bytes of JSON; the limit is 1,000: return less")


async def test_descriptors(isolated: WarmSandbox) -> None:
    outcome = await run(isolated, "return len([open('/dev/null') for _ in range(10_000)])")
    assert problem(outcome)[1].startswith("OSError: [Errno 24]")


async def test_thread_bomb_ends(sandbox: WarmSandbox) -> None:
    body = "threading.stack_size(65536)\nn = 0\ntry:\n    while True:\n        threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n        n += 1\nexcept RuntimeError:\n    return n"
    outcome = await run(sandbox, body, wall_seconds=8)
    assert outcome.ok, outcome.problem
    assert outcome.value <= 1024


LEAVING = {
    "os._exit(0)": "status 0",
    "os._exit(3)": "status 3",
    "sys.exit('no')": "sys.exit('no')",
    "exit()": "sys.exit(None)",
    "os.abort()": "SIGABRT",
    "os.kill(os.getpid(), signal.SIGTERM)": "SIGTERM",
    "import ctypes\nctypes.string_at(1)": "SIGSEGV",
}


async def test_leaving_without_a_result(sandbox: WarmSandbox) -> None:
    outcomes = await asyncio.gather(*(run(sandbox, body) for body in LEAVING))
    for outcome, message in zip(outcomes, LEAVING.values(), strict=True):
        assert problem(outcome)[0] == "exit"
        assert message in problem(outcome)[1]


async def test_killing_itself_is_no_time_limit(sandbox: WarmSandbox) -> None:
    kind, message = problem(await run(sandbox, "os.kill(os.getpid(), signal.SIGKILL)"))
    assert kind == "memory"
    assert "SIGKILL" in message
