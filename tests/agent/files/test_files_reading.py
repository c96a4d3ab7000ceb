"""Each read is a process of its own: what it may take, how it ends, and that nothing of it stays."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import time
from pathlib import Path
from typing import get_args

import pytest

from agent.files import reading
from agent.files.contents import FileProblem, ReadLimits, Reason
from agent.files.kinds import KINDS
from agent.files.reader_process import ReadingProcess, confinement_gaps, read_in_process

READER = """
import ctypes, os, signal, socket, subprocess, time
from pathlib import Path


def escapes(neighbour, port):
    "What it can do that it should not."
    attempts = {
        "connect": lambda: socket.create_connection(("127.0.0.1", int(port)), 2),
        "datagram": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        "unix": lambda: socket.socket(socket.AF_UNIX),
        "fork": lambda: os.fork() or os._exit(0),
        "exec": lambda: subprocess.run(["/bin/true"]),
        "neighbour": lambda: open(neighbour).read(),
        "passwd": lambda: open("/etc/passwd").read(),
        "list": lambda: os.listdir("/etc"),
        "write": lambda: open(neighbour + ".new", "w"),
        "chmod": lambda: os.chmod(neighbour, 0o777),
        "link": lambda: os.link(neighbour, "here"),
        "kill": lambda: os.kill(os.getppid(), 0),
        "environment": lambda: open(f"/proc/{os.getppid()}/environ").read(),
    }
    done = []
    for name, attempt in attempts.items():
        try:
            attempt()
            done.append(name)
        except OSError:
            pass
    open("own", "w").write("its own folder is its own")
    return done


def run(path):
    path = Path(path)
    does = path.read_text()
    if does == "crash":
        ctypes.string_at(0)
    if does == "hang":
        Path(path.parent, "written", "pid").write_text(str(os.getpid()))
        time.sleep(600)
    if does == "fill":
        for number in range(400):
            Path(path.parent, "written", str(number)).write_bytes(bytes(500_000))
            time.sleep(0.005)
        time.sleep(60)
    if does == "grow":
        grown = bytearray(4 << 30)
    if does == "environment":
        return {"summary": repr(sorted(os.environ))}
    if does.startswith("escape"):
        return {"summary": repr(escapes(*does.split()[1:]))}
    return {"summary": "fine"}
"""


@pytest.fixture
def odd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A reader that does what its file says, in a separate folder."""
    for name in ("code", "written"):
        (tmp_path / name).mkdir()
    (tmp_path / "code" / "odd_reader.py").write_text(READER)
    monkeypatch.syspath_prepend(str(tmp_path / "code"))
    return tmp_path


async def does(odd: Path, what: str, limits: ReadLimits | None = None) -> dict[str, object]:
    path = odd / "a.odd"
    path.write_text(what)
    request = {"name": "a.odd", "kind": "odd", "call": "odd_reader:run", "arguments": {"path": str(path)}}
    grants = {"read": [str(path)], "write": [str(odd / "written")]}
    return await read_in_process(request, limits or ReadLimits(seconds=20), **grants)


async def test_a_crash_of_a_parser_is_a_problem(odd: Path) -> None:
    with pytest.raises(FileProblem, match="SIGSEGV") as raised:
        await does(odd, "crash")
    assert raised.value.reason == "damaged"


@pytest.mark.skipif(bool(confinement_gaps()), reason="this machine cannot confine a process")
async def test_a_reader_that_is_taken_over_reaches_nothing(odd: Path) -> None:
    neighbour = odd / "neighbour.txt"
    neighbour.write_text("not granted")
    with socket.create_server(("127.0.0.1", 0)) as server:
        told = await does(odd, f"escape {neighbour} {server.getsockname()[1]}")
    assert told["summary"] == "[]"
    assert neighbour.stat().st_mode & 0o777 != 0o777


async def test_a_layer_that_the_kernel_refuses_is_a_problem(odd: Path) -> None:
    path = odd / "a.odd"
    path.write_text("print")
    request = {"name": "a.odd", "kind": "odd", "call": "odd_reader:run", "arguments": {"path": str(path)}}
    (odd / "code" / "threaded.py").write_text("import _thread, time; _thread.start_new_thread(time.sleep, (600,))")
    process = await ReadingProcess.start(["threaded"])
    try:
        with pytest.raises(FileProblem, match="could not be sandboxed, so nothing was read: a thread was started"):
            await process.ask(request, ReadLimits(), read=[str(path)])
    finally:
        await process.aclose()


async def test_a_hang_ends(odd: Path) -> None:
    started = time.monotonic()
    with pytest.raises(FileProblem, match="took longer than 1 seconds") as raised:
        await does(odd, "hang", ReadLimits(seconds=1))
    assert raised.value.reason == "timeout"
    assert time.monotonic() - started < 20
    await gone(odd)


async def test_a_read_that_is_cancelled_leaves_nothing(odd: Path) -> None:
    task = asyncio.create_task(does(odd, "hang"))
    await hanging(odd)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await gone(odd)


async def hanging(odd: Path) -> None:
    """Wait until the process hangs."""
    for _ in range(400):
        await asyncio.sleep(0.05)
        if (odd / "written" / "pid").exists() and (odd / "written" / "pid").read_text():
            return


async def gone(odd: Path) -> None:
    """Wait until the process has ended."""
    pid = int((odd / "written" / "pid").read_text())
    for _ in range(100):
        if not alive(pid):
            break
        await asyncio.sleep(0.05)
    assert not alive(pid)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_more_memory_than_allowed_is_a_problem(odd: Path) -> None:
    with pytest.raises(FileProblem, match="more than 1,024 MiB of memory") as raised:
        await does(odd, "grow", ReadLimits(memory=1 << 30))
    assert raised.value.reason == "too_large"


async def test_many_files_count_together(odd: Path) -> None:
    """With only a limit per file, a hijacked parser could fill the disk."""
    with pytest.raises(FileProblem, match="took more than 20,000,000 bytes of disk space") as raised:
        await does(odd, "fill", ReadLimits(seconds=50, unpacked=10_000_000))
    assert raised.value.reason == "too_large"
    assert sum(file.stat().st_size for file in (odd / "written").iterdir()) < 190_000_000


async def test_no_key_reaches_the_process(odd: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    told = await does(odd, "environment")
    assert "TMPDIR" in str(told["summary"])
    assert "KEY" not in str(told["summary"])


async def test_names_that_promise_another_kind_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    path.write_text("a,b\n1,2\n3,4\n5,6\n")
    assert (await reading.preview(path)).summary.startswith("Its name ends in .xlsx, but its content is csv.\n")
    path.write_bytes(bytes(range(256)))
    with pytest.raises(FileProblem, match="is not a xlsx file") as raised:
        await reading.preview(path)
    assert raised.value.reason == "mismatch"


async def test_kinds_without_a_reader_say_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "a.rar"
    path.write_bytes(b"Rar!\x1a\x07\x01\0")
    with pytest.raises(FileProblem, match="Convert the archive to zip") as raised:
        await reading.read(path)
    assert raised.value.reason == "unsupported"
    with pytest.raises(FileProblem, match="Choose a file in the folder"):
        await reading.read(tmp_path)


def test_every_kind_reason_and_limit_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "files.md").read_text()
    assert [kind.name for kind in KINDS.values() if kind.open and f"`{kind.name}`" not in page] == []
    assert [reason for reason in get_args(Reason) if f"| `{reason}` |" not in page] == []
    limits = ReadLimits()
    assert f"| time | {limits.seconds:g} s" in page
    assert f"| members of an archive | {limits.members:,} |" in page
    assert f"about {limits.section:,} characters" in " ".join(page.split())


SCRIPT = """
import asyncio, sys
from agent.files.reader_process import read_in_process
from agent.files.contents import ReadLimits
folder = sys.argv[1]
sys.path.insert(0, folder + "/code")
request = {"name": "a", "kind": "odd", "call": "odd_reader:run", "arguments": {"path": folder + "/a.odd"}}
asyncio.run(read_in_process(request, ReadLimits(seconds=100), read=[folder + "/a.odd"], write=[folder + "/written"]))
"""


async def test_a_read_ends_with_alita(odd: Path) -> None:
    """Even after a kill."""
    (odd / "a.odd").write_text("hang")
    asking = await asyncio.create_subprocess_exec(sys.executable, "-c", SCRIPT, str(odd))
    await hanging(odd)
    asking.kill()
    await asking.wait()
    await gone(odd)


def large(path: Path, beginning: bytes) -> Path:
    """A sparse file of 1 GB."""
    path.write_bytes(beginning)
    os.truncate(path, 1 << 30)
    return path


@pytest.mark.parametrize(
    ("name", "beginning", "reason"),
    [
        ("a.csv", b"", "mismatch"),
        ("a.xlsx", b"PK\x03\x04" + bytes(26) + b"[Content_Types].xml", "truncated"),
        ("a.zip", b"PK\x03\x04", "truncated"),
    ],
)
async def test_a_gigabyte_of_nothing_is_told_at_once(name: str, beginning: bytes, reason: str, tmp_path: Path) -> None:
    started = time.monotonic()
    path = large(tmp_path / name, beginning)
    with pytest.raises(FileProblem) as raised:
        await reading.preview(path)
    assert raised.value.reason == reason
    assert time.monotonic() - started < 20
