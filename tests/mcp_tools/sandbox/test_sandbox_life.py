# ruff: noqa: ASYNC220, ASYNC240, PTH115, PTH208 - tests may block
"""Interpreters are replaced without affecting calls, and nothing is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from mcp_tools.errors import IsolationError
from mcp_tools.sandbox.backends import BubblewrapSandbox, SandlockSandbox
from mcp_tools.sandbox.environment import Environment
from mcp_tools.sandbox.protocol import Job, Limits
from mcp_tools.sandbox.warm import WarmSandbox
from mcp_tools.sandbox.zygote import Zygote


@pytest.fixture
async def sandbox() -> AsyncIterator[WarmSandbox]:
    """A new sandbox for each test, because these tests break it."""
    async with BubblewrapSandbox() as opened:
        yield opened


@pytest.fixture(params=[BubblewrapSandbox, SandlockSandbox], ids=["bubblewrap", "sandlock"])
async def isolated(request: pytest.FixtureRequest) -> AsyncIterator[WarmSandbox]:
    """Each back end of level medium or better."""
    async with request.param() as opened:
        yield opened


async def eventually(condition: Callable[[], bool], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        await asyncio.sleep(0.02)
    return True


DOUBLE = "def f(a):\n    return 2 * a"
SLEEP = "import time\ndef f():\n    time.sleep(30)"


def double(number: int) -> Job:
    return Job(DOUBLE, "f", {"a": number})


def plain_zygote(sandbox: WarmSandbox) -> Zygote:
    return sandbox._zygotes[Environment()].result()


def descendants(pid: int) -> set[int]:
    found: set[int] = set()
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError):
            continue
    waiting = [pid]
    while waiting:
        above = waiting.pop()
        below = {child for child, parent in parents.items() if parent == above}
        waiting += below - found
        found |= below
    return found


async def settled() -> int:
    """Count the processes once no more of them end."""
    last, count = -1, 0
    while count != last:
        last = count
        await asyncio.sleep(0.2)
        count = len(descendants(os.getpid()))
    return count


def alive(pid: int) -> bool:
    """Return True if the process runs, and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


async def test_no_descriptor_and_no_process_is_left(isolated: WarmSandbox) -> None:
    for _ in range(20):
        await isolated.run(double(1))
    await asyncio.sleep(0.5)
    descriptors, processes = len(os.listdir("/proc/self/fd")), descendants(os.getpid())
    inside = "import os\ndef f():\n    return len([n for n in range(300) if not closed(n)])\n"
    inside += (
        "def closed(n):\n    try:\n        os.fstat(n)\n    except OSError:\n        return True\n    return False"
    )
    counted = (await isolated.run(Job(inside, "f"))).value
    for _ in range(2):
        await asyncio.gather(*(isolated.run(double(i)) for i in range(20)))
    assert (await isolated.run(Job(inside, "f"))).value == counted <= 8
    assert await eventually(lambda: len(os.listdir("/proc/self/fd")) <= descriptors)
    assert await eventually(lambda: len(descendants(os.getpid())) <= len(processes) + 1)


async def test_an_interpreter_that_is_killed_takes_only_its_calls(isolated: WarmSandbox) -> None:
    running = asyncio.create_task(isolated.run(Job(SLEEP, "f")))
    await asyncio.sleep(0.2)
    # oldest first, since a parent would report the end of its children
    for pid in sorted({plain_zygote(isolated).pid, *descendants(plain_zygote(isolated).pid)}):
        with contextlib.suppress(ProcessLookupError):  # it may have ended with its parent
            os.kill(pid, signal.SIGKILL)
    outcome = await asyncio.wait_for(running, 5)
    assert outcome.problem is not None
    assert (outcome.problem.kind, outcome.problem.message) == (
        "sandbox",
        "the sandbox's interpreter exited during the call: try again",
    )
    assert (await isolated.run(double(4))).value == 8


async def test_an_interpreter_that_hangs_is_replaced(sandbox: WarmSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_tools.sandbox.zygote.GRACE_SECONDS", 0.2)
    pid = min(descendants(plain_zygote(sandbox).pid))
    os.kill(pid, signal.SIGSTOP)
    outcome = await sandbox.run(Job(DOUBLE, "f", {"a": 1}, limits=Limits(wall_seconds=0.3)))
    assert outcome.problem is not None
    assert (await sandbox.run(double(4))).value == 8
    assert await eventually(lambda: not alive(pid))


async def test_it_is_replaced_after_its_number_of_calls(sandbox: WarmSandbox) -> None:
    sandbox.calls_per_zygote = 5
    first = plain_zygote(sandbox)
    before = descendants(os.getpid())  # includes servers of other tests
    interpreter = {first.pid, *descendants(first.pid)}
    outcomes = await asyncio.gather(*(sandbox.run(double(i)) for i in range(20)))
    assert [outcome.value for outcome in outcomes] == [2 * i for i in range(20)]
    assert not first.alive
    assert await eventually(lambda: not any(alive(pid) for pid in interpreter))
    assert await eventually(lambda: len(descendants(os.getpid()) - before) <= len(interpreter) + 1)


async def test_cancelling_a_call_ends_its_process(isolated: WarmSandbox) -> None:
    await isolated.run(double(1))
    before = await settled()
    running = asyncio.create_task(isolated.run(Job(SLEEP, "f")))
    await asyncio.sleep(0.2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await eventually(lambda: len(descendants(os.getpid())) <= before)
    assert (await isolated.run(double(4))).value == 8


async def test_few_interpreters_are_kept(
    sandbox: WarmSandbox, open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_tools.sandbox.warm.KEPT_ENVIRONMENTS", 2)
    for i in range(4):
        path = open_folder / f"{i}.txt"
        path.write_text(str(i))
        outcome = await sandbox.run(Job("def f(p):\n    return open(p).read()", "f", {"p": str(path)}, read=(path,)))
        assert outcome.value == str(i), outcome.problem
    assert len(sandbox._zygotes) <= 3
    assert (await sandbox.run(double(1))).value == 2


async def test_a_layer_that_is_missing_later_is_an_error(sandbox: WarmSandbox, open_folder: Path) -> None:
    """A weaker layer is an error, because every interpreter must have the isolation of the first one."""
    isolation = sandbox.isolation
    sandbox._isolation = type(isolation)(isolation.level, isolation.backend, (*isolation.layers, "moat"))
    with pytest.raises(IsolationError, match="moat"):
        await sandbox.run(Job(DOUBLE, "f", {"a": 1}, read=(open_folder,)))


async def test_the_host_killed_takes_everything_along(tmp_path: Path) -> None:
    import subprocess
    import sys

    program = """
import asyncio, sys
from mcp_tools.sandbox.backends import open_sandbox
from mcp_tools.sandbox.protocol import Job
async def main():
    sandbox = await open_sandbox(backend=sys.argv[1])
    print("open", flush=True)
    await sandbox.run(Job("import time\\ndef f():\\n    time.sleep(60)", "f", ))
asyncio.run(main())
"""
    for backend in ("bubblewrap", "sandlock"):
        host = subprocess.Popen([sys.executable, "-c", program, backend], stdout=subprocess.PIPE)
        assert host.stdout is not None
        host.stdout.readline()
        await asyncio.sleep(0.2)
        processes = descendants(host.pid)
        assert processes
        host.kill()
        host.wait()
        host.stdout.close()
        assert await eventually(lambda left=processes: not any(alive(pid) for pid in left))


async def test_the_name_of_another_calls_folder_does_not_help() -> None:
    async with SandlockSandbox() as sandbox:
        slow = "import time\ndef f():\n    open('secret', 'w').write('canary')\n    time.sleep(9)"
        running = asyncio.create_task(sandbox.run(Job(slow, "f")))
        root = Path(plain_zygote(sandbox).scratch)
        assert await eventually(lambda: any(path.read_text() for path in root.glob("*/secret")))
        (secret,) = root.glob("*/secret")
        for attempt in ("open(p).read()", "os.listdir(os.path.dirname(p))", "os.unlink(p)", "os.chmod(p, 0)"):
            outcome = await sandbox.run(Job(f"import os\ndef f(p):\n    return {attempt}", "f", {"p": str(secret)}))
            assert outcome.problem is not None, attempt
            assert outcome.problem.kind == "denied"
        assert secret.read_text() == "canary"
        assert not running.done()
        running.cancel()


def _content(folder: Path) -> list[Path]:
    """List a folder, which may disappear in the meantime."""
    try:
        return list(folder.iterdir())
    except FileNotFoundError:
        return []


async def test_folders_of_calls_are_removed() -> None:
    source = (
        "import os\ndef f():\n    os.makedirs('a/b')\n    open('a/b/c', 'w').write('x')\n    os.symlink('/', 'root')"
    )
    async with SandlockSandbox() as sandbox:
        root = Path(plain_zygote(sandbox).scratch)
        for _ in range(5):
            assert (await sandbox.run(Job(source, "f"))).ok
        assert await eventually(lambda: not any(map(_content, root.iterdir())))
        assert len(list(root.iterdir())) <= 3
    assert not root.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can put something there that the interpreter cannot remove")
async def test_an_interpreter_that_cannot_remove_a_folder_is_replaced() -> None:
    async with SandlockSandbox() as sandbox:
        first = plain_zygote(sandbox)
        slow = """
import os, time
def f():
    open('here', 'w').close()
    while not os.path.exists('roots'):
        time.sleep(0.01)
    return 1
"""
        running = asyncio.create_task(sandbox.run(Job(slow, "f")))
        root = Path(first.scratch)
        assert await eventually(lambda: bool(list(root.glob("*/here"))))
        (next(root.glob("*/here")).parent / "roots").mkdir(mode=0o755)
        assert (await running).value == 1
        assert await eventually(lambda: not first.alive)
        assert (await sandbox.run(double(1))).value == 2
        assert plain_zygote(sandbox) is not first
        assert await eventually(lambda: not root.exists())


async def test_each_namespace_is_its_own(sandbox: WarmSandbox) -> None:
    inside = max(descendants(plain_zygote(sandbox).pid))
    for kind in ("net", "pid", "mnt", "ipc", "uts"):
        assert os.readlink(f"/proc/{inside}/ns/{kind}") != os.readlink(f"/proc/self/ns/{kind}"), kind
