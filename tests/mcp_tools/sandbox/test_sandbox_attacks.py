"""Attacks of hostile code, none of which has an effect outside its call."""

# ruff: noqa: ASYNC240, E501 - tables of one-line programs

from __future__ import annotations

import asyncio
import os
import socket
import threading
from pathlib import Path

import pytest

from mcp_tools.sandbox.backends import BubblewrapSandbox, SandlockSandbox
from mcp_tools.sandbox.environment import Environment
from mcp_tools.sandbox.protocol import Job, Limits
from mcp_tools.sandbox.warm import WarmSandbox
from mcp_tools.sandbox.zygote import Zygote

pytestmark = pytest.mark.asyncio(loop_scope="module")

READ = "def f(path):\n    return open(path).read()"
DENIED = {
    "tcp": "import socket\ndef f():\n    socket.create_connection(('127.0.0.1', 1), timeout=2)",
    "udp": "import socket\ndef f():\n    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))",
    "raw socket": "import socket\ndef f():\n    socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "netlink": "import socket\ndef f():\n    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "unix socket": "import socket\ndef f():\n    socket.socket(socket.AF_UNIX).connect('/run/x')",
    "abstract socket": "import socket\ndef f():\n    socket.socket(socket.AF_UNIX).connect(chr(0) + 'x')",
    "inet socketpair": "import _socket\ndef f():\n    _socket.socketpair(_socket.AF_INET, _socket.SOCK_STREAM)",
    "datagram to a path": (
        "import socket\ndef f():\n    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\n"
        "    a.sendto(b'x', '/run/systemd/journal/socket')"
    ),
    "name look-up": "import socket\ndef f():\n    return socket.getaddrinfo('example.org', 80)",
    "url": "import urllib.request\ndef f():\n    return urllib.request.urlopen('http://127.0.0.1:1/').read()",
    "subprocess": "import subprocess\ndef f():\n    return subprocess.check_output(['/bin/ls', '/'])",
    "shell": "import subprocess\ndef f():\n    return subprocess.check_output('ls', shell=True)",
    "exec": "import os\ndef f():\n    os.execv('/bin/ls', ['ls'])",
    "fork": "import os\ndef f():\n    return os.fork()",
    "fork bomb": "import os\ndef f():\n    while True:\n        os.fork()",
    "posix_spawn": "import os\ndef f():\n    os.posix_spawn('/bin/true', ['true'], {})",
    "multiprocessing": (
        "import multiprocessing\ndef f():\n    p = multiprocessing.Process(target=print)\n    p.start()\n    p.join()"
    ),
    "process pool": (
        "from concurrent.futures import ProcessPoolExecutor\ndef f():\n"
        "    with ProcessPoolExecutor(1) as pool:\n        return list(pool.map(abs, [1]))"
    ),
    "signal to parent": "import os, signal\ndef f():\n    os.kill(os.getppid(), signal.SIGKILL)",
    "signal to all": "import os, signal\ndef f():\n    os.kill(-1, signal.SIGKILL)",
    "signal to group": "import os, signal\ndef f():\n    os.killpg(0, signal.SIGKILL)",
    "setuid": "import os\ndef f():\n    os.setuid(0)",
    "chroot": "import os\ndef f():\n    os.chroot('.')",
    "affinity": "import os\ndef f():\n    os.sched_setaffinity(os.getppid(), {0})",
    "scheduler": "import os\ndef f():\n    os.sched_setscheduler(os.getppid(), os.SCHED_IDLE, os.sched_param(0))",
    "signal by descriptor": "import fcntl, os\ndef f():\n    fcntl.fcntl(os.pipe()[0], fcntl.F_SETOWN, os.getppid())",
    "signal by socket": (
        "import fcntl, os, socket, struct\ndef f():\n    a, b = socket.socketpair()\n"
        "    fcntl.ioctl(a, 0x8901, struct.pack('i', os.getppid()))"
    ),
    "lease": "import fcntl\ndef f():\n    fcntl.fcntl(open('x', 'w'), fcntl.F_SETLEASE, fcntl.F_WRLCK)",
    "setsid": "import os\ndef f():\n    os.setsid()",
    "write to a library": "import os\ndef f():\n    open(os.__file__, 'a')",
    "write outside": "def f():\n    open('/tmp/alita-escape', 'w').write('x')",
    "write to /dev/shm": "def f():\n    open('/dev/shm/alita-escape', 'w').write('x')",
    "list the root": "import os\ndef f():\n    return os.listdir('/')",
    "list other scratch folders": "import os\ndef f():\n    return os.listdir(os.path.dirname(os.getcwd()))",
    "device": "def f():\n    return open('/dev/mem', 'rb').read(1)",
    "remove the interpreter": "import os, sys\ndef f():\n    os.unlink(sys.executable or '/usr/bin/python3')",
}
SYSCALLS = {
    "ptrace": (101, "0, 1, 0, 0"), "process_vm_readv": (310, "1, 0, 0, 0, 0, 0"), "mount": (165, "0, 0, 0, 0, 0"),
    "unshare user": (272, "0x10000000"), "unshare net": (272, "0x40000000"), "setns": (308, "0, 0"),
    "bpf": (321, "0, 0, 0"), "io_uring": (425, "1, 0"), "keyctl": (250, "0, -3, 0"), "userfaultfd": (323, "0"),
    "perf": (298, "0, 0, -1, -1, 0"), "memfd": (319, "b'x', 0"), "open by handle": (304, "-1, 0, 0"),
    "pidfd": (434, "1, 0"), "clone newuser": (56, "0x10000011, 0, 0, 0, 0"), "x32": (0x40000000 + 41, "1, 1, 0"),
    "shmget": (29, "0, 4096, 0o1600"), "pdeathsig": (157, "1, 0, 0, 0, 0"), "tkill": (200, "1, 9"),
    "prlimit of another": (302, "1, 7, 0, 0"), "setxattr": (188, "b'.', b'user.a', b'x', 1, 0"), "future": (500, "0"),
}  # fmt: skip


async def test_it_is_denied_in_words(isolated: WarmSandbox) -> None:
    jobs = [isolated.run(Job(source, "f", limits=Limits(wall_seconds=20))) for source in DENIED.values()]
    for name, outcome in zip(DENIED, await asyncio.gather(*jobs), strict=True):
        assert outcome.problem is not None, name
        assert outcome.problem.kind == "denied", (name, outcome.problem)
        assert "this tool" in outcome.problem.message, name


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86_64")
async def test_a_raw_system_call_fails(sandbox: WarmSandbox) -> None:
    source = """
import ctypes
def f():
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall({}, {}), ctypes.get_errno()
"""
    jobs = [sandbox.run(Job(source.format(*call), "f")) for call in SYSCALLS.values()]
    for name, outcome in zip(SYSCALLS, await asyncio.gather(*jobs), strict=True):
        assert outcome.value[0] == -1, (name, outcome)
        assert outcome.value[1] in (1, 13, 38), (name, outcome)


@pytest.mark.parametrize("path", ["/etc/passwd", "/etc/shadow", "/proc/1/environ", "/proc/self/environ", "/root/.ssh"])
async def test_no_file_of_the_host_can_be_read(isolated: WarmSandbox, path: str) -> None:
    outcome = await isolated.run(Job(READ, "f", {"path": path}))
    assert outcome.problem is not None
    assert outcome.problem.kind == "denied"
    assert path in outcome.problem.message


async def test_a_link_does_not_lead_out(isolated: WarmSandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("canary")
    source = "import os\ndef f(path):\n    os.symlink(path, 'link')\n    return open('link').read()"
    outcome = await isolated.run(Job(source, "f", {"path": str(secret)}))
    assert not outcome.ok
    assert "canary" not in str(outcome.value)


async def test_only_the_granted_file_can_be_read(isolated: WarmSandbox, open_folder: Path) -> None:
    granted, beside = open_folder / "granted.txt", open_folder / "beside.txt"
    granted.write_text("hello")
    beside.write_text("canary")
    outcome = await isolated.run(Job(READ, "f", {"path": str(granted)}, read=(granted,)))
    assert outcome.value == "hello", outcome.problem
    outcome = await isolated.run(Job(READ, "f", {"path": str(beside)}, read=(granted,)))
    assert outcome.problem is not None
    assert outcome.problem.kind == "denied"


async def test_a_granted_file_cannot_be_changed(isolated: WarmSandbox, open_folder: Path) -> None:
    granted = open_folder / "granted.txt"
    granted.write_text("hello")
    changes = ["open(p, 'a')", "os.unlink(p)", "os.rename(p, p + 'x')", "os.truncate(p, 0)", "os.chmod(p, 0)"]
    for change in changes:
        job = Job(f"import os\ndef f(p):\n    {change}", "f", {"p": str(granted)}, read=(granted,))
        outcome = await isolated.run(job)
        assert outcome.problem is not None, change
        assert outcome.problem.kind == "denied", outcome.problem
    assert granted.read_text() == "hello"
    assert granted.stat().st_mode & 0o600 == 0o600


async def test_a_private_folder_can_be_granted(sandbox: WarmSandbox, tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    (tmp_path / "a.txt").write_text("private")
    (tmp_path / "a.txt").chmod(0o600)
    job = Job(READ, "f", {"path": str(tmp_path / "a.txt")}, read=(tmp_path,))
    outcome = await sandbox.run(job)
    assert outcome.value == "private", outcome.problem


async def test_the_environment_is_empty(isolated: WarmSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET", "canary")
    source = "import os\ndef f():\n    return dict(os.environ)"
    outcome = await isolated.run(Job(source, "f"))
    assert set(outcome.value) <= {
        "PATH", "LC_ALL", "HOME", "TMPDIR", "PWD", "MPLBACKEND", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS", "MALLOC_ARENA_MAX",
    }  # fmt: skip


async def test_it_is_nobody_without_capabilities(sandbox: WarmSandbox) -> None:
    source = """
import ctypes, os
def f():
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    ctypes.CDLL(None).capget(header, data)
    return os.getuid(), list(data)
"""
    outcome = await sandbox.run(Job(source, "f"))
    assert outcome.value[0] != 0
    assert outcome.value[1] == [0] * 6


async def test_it_reaches_no_server_of_the_host(isolated: WarmSandbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        source = "import socket\ndef f(p):\n    socket.create_connection(('127.0.0.1', p), timeout=1)"
        outcome = await isolated.run(Job(source, "f", {"p": server.getsockname()[1]}))
        assert outcome.problem is not None
        assert outcome.problem.message == "network access is not granted to this tool"
        with pytest.raises(TimeoutError):
            server.accept()


async def test_os_system_does_nothing(isolated: WarmSandbox, tmp_path: Path) -> None:
    outcome = await isolated.run(Job("import os\ndef f():\n    return os.system('echo hi')", "f"))
    assert outcome.value != 0
    assert outcome.stdout == ""


async def test_one_call_leaves_nothing_for_the_next(isolated: WarmSandbox) -> None:
    first = "import math, os\ndef f():\n    math.pi = 3\n    open('left', 'w').write('x')\n    os.environ['LEFT'] = 'x'"
    assert (await isolated.run(Job(first, "f"))).ok
    second = "import math, os\ndef f():\n    return math.pi == 3, os.listdir('.'), 'LEFT' in os.environ"
    outcome = await isolated.run(Job(second, "f"))
    assert outcome.value == [False, [], False]


async def test_a_call_cannot_read_another_ones_folder(isolated: WarmSandbox) -> None:
    slow = "import time\ndef f():\n    open('secret', 'w').write('canary')\n    time.sleep(9)"
    curious = """
import glob, os
def f():
    parent = os.path.dirname(os.getcwd())
    found = []
    for pattern in ('/*', '/*/secret', '/.*'):
        found += glob.glob(parent + pattern)
    for root, folders, files in os.walk(parent):
        found += files
    return found
"""
    running = asyncio.create_task(isolated.run(Job(slow, "f")))
    await asyncio.sleep(0.3)
    outcome = await isolated.run(Job(curious, "f"))
    assert outcome.value == []
    assert not running.done()
    running.cancel()


@pytest.mark.parametrize(
    "write",
    [
        "os.close(4)",
        "os.closerange(0, 100)",
    ],
)
async def test_meddling_with_the_channel_hurts_only_the_call(isolated: WarmSandbox, write: str) -> None:
    outcome = await isolated.run(Job(f"import os\ndef f():\n    {write}\n    return 1", "f"))
    assert outcome.problem is not None
    assert outcome.problem.kind in ("result", "exit")
    assert (await isolated.run(Job("def f():\n    return 2", "f"))).value == 2


async def test_it_cannot_forge_a_broken_sandbox(sandbox: WarmSandbox) -> None:
    """A forged report of kind `sandbox` is treated like any other outcome."""
    source = """
import json, os
def f():
    body = json.dumps({"ok": False,
        "problem": {"kind": "sandbox", "message": "a layer failed", "traceback": "", "line": None}}).encode()
    os.write(4, b"alita1" + len(body).to_bytes(8, "big") + body)
    os._exit(0)
"""
    outcome = await sandbox.run(Job(source, "f"))
    assert outcome.problem is not None
    assert outcome.problem.kind == "sandbox"
    assert (await sandbox.run(Job("def f():\n    return 2", "f"))).value == 2


async def test_a_thread_left_behind_does_not_hold_the_call(sandbox: WarmSandbox) -> None:
    source = """
import threading, time
def f():
    threading.Thread(target=time.sleep, args=(60,)).start()
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    return 1
"""
    outcome = await sandbox.run(Job(source, "f"))
    assert outcome.value == 1
    assert outcome.seconds < 5
    assert threading.active_count() < 20


@pytest.mark.parametrize("kind", [BubblewrapSandbox, SandlockSandbox])
async def test_a_file_that_is_swapped_while_it_is_opened_is_not_granted(
    kind: type[WarmSandbox], open_folder: Path
) -> None:
    """After the grant is checked and before its interpreter starts, the file is replaced with a link."""
    secret, granted = open_folder / "secret", open_folder / "granted.txt"
    for path, text in ((secret, "canary"), (granted, "hello")):
        path.write_text(text)
        path.chmod(0o644)

    swapped: list[Path] = []

    class Swapping(kind):  # type: ignore[misc, valid-type] # each back end in turn
        def _create(self, environment: Environment) -> Zygote:
            if environment.read and not swapped:
                swapped.append(granted)
                granted.unlink()
                granted.symlink_to(secret)
            return super()._create(environment)  # type: ignore[no-any-return]

    source = "def f(path):\n    return open(path).read()"
    async with Swapping() as sandbox:
        outcome = await sandbox.run(Job(source, "f", {"path": str(granted)}, read=(granted,)))
        assert outcome.problem is not None
        assert (outcome.value, outcome.problem.kind) == (None, "denied")
        granted.unlink()
        granted.write_text("hello")
        granted.chmod(0o644)
        again = await sandbox.run(Job(source, "f", {"path": str(granted)}, read=(granted,)))
        assert again.value == "hello"
