"""Kills, full disks and read-only folders leave nothing broken: a short version of benchmarks/kills.py."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import shutil
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kills import WORKS, Done, drafts, killed, measured, tool

from mcp_tools.errors import AlitaError, UnknownToolError
from mcp_tools.library.library import Library

_NEW_USER, _NEW_MOUNTS = 0x10000000, 0x20000
_READ_ONLY, _REMOUNT = 1, 32
_FAST = ("tools", "ledger", "sessions", "answers")


@pytest.mark.parametrize(("name", "times"), [("tools", 4), ("ledger", 2), ("sessions", 2), ("answers", 2), ("runs", 1)])
def test_a_kill_loses_nothing_and_leaves_nothing_half_done(name: str, times: int, tmp_path: Path) -> None:
    chance = random.Random(f"{name} 7")
    seconds, writes = measured(WORKS[name], tmp_path)
    wrong = [one for n in range(times) for one in killed(WORKS[name], tmp_path, f"turn_{n}", chance, seconds, writes)]
    assert wrong == []


class _Deleting:
    """Delete a tool, if it exists."""

    def act(self, folder: Path, turn: str, done: Done) -> None:
        library = Library(folder / "tools", folder)
        with contextlib.suppress(UnknownToolError):
            library.delete("target")
        library.close()

    def wrong(self, folder: Path, turn: str, acknowledged: list[str]) -> Iterator[str]:
        library = Library(folder / "tools", folder)
        yield from (flaw.message for flaw in library.flaws())
        if [tool.name for tool, _ in library.served()] not in (["target"], []):
            yield "the tool is there and is not served"
        library.close()


def test_each_moment_of_a_deletion_leaves_a_whole_tool_or_none(tmp_path: Path) -> None:
    library, wrong = Library(tmp_path / "tools", tmp_path), []
    for number in range(0, 40, 4):
        library.register(tool("target", 1))
        library.close()
        wrong += killed(_Deleting(), tmp_path, f"write {number}", _At(number + 1), 0, 40)
    library.register(tool("last", 1))
    assert [
        one for one in wrong if "is left" not in one
    ] == []  # temporary files of approvals are removed at the next approval
    assert drafts(tmp_path) == []


class _At(random.Random):
    """Choose a kill at the write with this number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self._number = number

    def randrange(self, *_: int) -> int:
        return 0

    def randint(self, *_: int) -> int:
        return self._number


@pytest.mark.parametrize("name", _FAST)
def test_a_full_disk_loses_nothing_and_is_a_clear_error(name: str, tmp_path: Path) -> None:
    def fill() -> None:
        work = WORKS[name]
        told: list[str] = []
        work.act(tmp_path, "before", lambda _: None)
        for pages in (0, 1, 2, 3, 5, 8, 13):
            turn, acknowledged = f"turn_{pages}", list[str]()
            rest = shutil.disk_usage(tmp_path).free - pages * 4096
            (tmp_path / "filler").write_bytes(bytes(max(rest, 0)))
            try:
                work.act(tmp_path, turn, acknowledged.append)
            except AlitaError as error:
                told.append(str(error))
            (tmp_path / "filler").unlink()
            assert [*work.wrong(tmp_path, turn, acknowledged)] == []
            work.act(tmp_path, f"{turn}_again", lambda _: None)
            assert drafts(tmp_path) == []
        assert all("No space left" in error or "disk is full" in error for error in told), told

    _on_a_small_disk(tmp_path, fill)


@pytest.mark.parametrize("name", _FAST)
def test_a_read_only_folder_is_a_clear_error_and_stays_as_it_was(name: str, tmp_path: Path) -> None:
    def write(remount: Callable[[int], None]) -> None:
        work = WORKS[name]
        work.act(tmp_path, "before", lambda _: None)
        before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
        remount(_READ_ONLY)
        with pytest.raises(AlitaError, match=r"Read-only file system|readonly database|unable to open database"):
            work.act(tmp_path, "after", lambda done: pytest.fail(f"{done} on a read-only disk"))
        assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before

    _on_a_small_disk(tmp_path, lambda: write(lambda flag: _mount(tmp_path, _REMOUNT | flag)))


def _on_a_small_disk(folder: Path, check: Callable[[], None]) -> None:
    """Run a check in a child process that sees the folder as a disk of 600 kB."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _mount_privately(folder)
            check()
            os._exit(0)
        except PermissionError:
            os._exit(77)
        except BaseException:
            os.write(theirs, traceback.format_exc().encode()[-4000:])
            os._exit(1)
    os.close(theirs)
    with os.fdopen(ours) as pipe:
        told = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status == 77:
        pytest.skip("this user may make no mounts of its own")
    assert status == 0, told


def _mount_privately(folder: Path) -> None:
    libc, user = ctypes.CDLL(None, use_errno=True), os.geteuid()
    if libc.unshare(_NEW_MOUNTS) and libc.unshare(_NEW_MOUNTS | _NEW_USER):
        raise PermissionError
    if user and os.geteuid() != user:
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    libc.mount(None, b"/", None, 0x44000, None)  # mounts are not visible to other processes
    _mount(folder, 0)


def _mount(folder: Path, flags: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"tmpfs", str(folder).encode(), b"tmpfs", flags, b"size=600k"):
        raise PermissionError
