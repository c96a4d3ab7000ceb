"""Concurrent or killed processes, read-only folders and full disks lose or mix no tools."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from multiprocessing.context import ForkProcess
from pathlib import Path

import pytest
from library_tools import make_tool

from mcp_tools.errors import LibraryError
from mcp_tools.library.library import Library

HERE = Path(__file__).parent

_FORK = multiprocessing.get_context("fork")


def started(folder: Path, me: str, *, replace: bool = False, turns: int = 1) -> ForkProcess:
    """Register one tool repeatedly in another process."""

    def write() -> None:
        library = Library(folder, folder.parent / "data")
        for turn in range(turns):
            mark = f"{me}{turn:03}"
            tool = make_tool("shared", body=f"return n + {mark}", description="Shared " + "x" * 2000, writer=mark)
            library.register(tool, replace=replace)

    process = _FORK.Process(target=write)
    process.start()
    return process


def ended(processes: list[ForkProcess]) -> None:
    for process in processes:
        process.join()
        assert process.exitcode == 0


def is_whole(library: Library) -> bool:
    """Check that both files of each tool come from the same write."""
    return all(f"return n + {tool.provenance['writer']}\n" in tool.source for tool in library.list())


def test_processes_that_register_one_name_each_get_a_tool_of_their_own(library: Library) -> None:
    ended([started(library.folder, str(number)) for number in (1, 2, 3)])
    assert [tool.name for tool in library.list()] == ["shared", "shared_2", "shared_3"]
    assert library.flaws() == []
    assert is_whole(library)


def test_processes_that_replace_one_tool_leave_the_last_one_whole(library: Library) -> None:
    library.register(make_tool("shared", writer="0", body="return n + 0"))
    library.close()
    processes = [started(library.folder, str(number), replace=True, turns=15) for number in (1, 2)]
    reader = Library(library.folder, library.folder.parent / "data")
    while any(process.is_alive() for process in processes):
        seen = reader.get("shared")
        assert f"return n + {seen.provenance['writer']}\n" in seen.source
        assert [hit.tool.name for hit in reader.search("shared")] == ["shared"]
    ended(processes)
    assert is_whole(library)
    reader.close()


def test_a_folder_among_the_drafts_is_in_the_way_of_no_write(library: Library, tmp_path: Path) -> None:
    library.register(make_tool(body="return 1"))
    library.close()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    pending = library.folder / ".alita" / "pending"
    for name in ("sub/deeper", "other.py", "other.json"):
        (pending / name).mkdir(parents=True)
    (pending / "sub/link").symlink_to(outside)
    (pending / "link").symlink_to(outside)
    library.register(make_tool("other", writer="0", body="return n + 0"))
    assert {tool.name for tool in library.list()} == {"nth_fibonacci", "other"}
    assert not any(pending.iterdir())
    assert (outside / "kept").exists()


LIMITED = """
import difflib, filelock, logging, os, resource, sqlite3, sys, unicodedata
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from library_tools import make_tool
from mcp_tools.errors import LibraryError
from mcp_tools.library.library import Library

library = Library(Path(sys.argv[2]), Path(sys.argv[2]).parent / "data")
if sys.argv[3] == "full":
    resource.setrlimit(resource.RLIMIT_FSIZE, (200, 200))
elif os.getuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    library.register(make_tool("nth_fibonacci", body="return n + 2"), replace=True)
except LibraryError as error:
    print(type(error).__name__, error)
print([tool.name for tool in library.list()], [hit.tool.name for hit in library.search("fibonacci")])
library.record_call("nth_fibonacci", True)
print(library.stats("nth_fibonacci").calls)
"""


@pytest.fixture
def open_library() -> Iterator[Library]:
    """A library that other users can reach, outside pytest's private folders."""
    with tempfile.TemporaryDirectory(prefix="alita-test-") as name:
        Path(name).chmod(0o755)
        opened = Library(Path(name) / "generated_tools", Path(name) / "data")
        yield opened
        opened.close()


@pytest.mark.parametrize("limit", ["full", "read-only"])
def test_a_folder_that_cannot_be_written_still_reads(open_library: Library, limit: str) -> None:
    library = open_library
    before = library.register(make_tool())
    library.close()
    if limit == "read-only":
        for path in [library.folder, *library.folder.rglob("*")]:
            path.chmod(0o555 if path.is_dir() else 0o444)
    command = [sys.executable, "-c", LIMITED, str(HERE), str(library.folder), limit]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "LibraryError" in result.stdout
    assert "cannot be written" in result.stdout
    assert "--tools-dir" in result.stdout
    assert "['nth_fibonacci'] ['nth_fibonacci']" in result.stdout
    for path in [library.folder, *library.folder.rglob("*")]:
        path.chmod(0o755)
    assert library.get("nth_fibonacci") == before
    assert library.flaws() == []


def test_a_held_lock_is_told(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    from filelock import FileLock

    library.register(make_tool())
    monkeypatch.setattr("mcp_tools.library.folder.LOCK_SECONDS", 0.05)
    with FileLock(library.folder / ".alita" / "lock"), pytest.raises(LibraryError, match="lock"):
        library.register(make_tool("other"))
