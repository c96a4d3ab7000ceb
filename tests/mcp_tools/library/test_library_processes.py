"""Several processes, killed processes, read-only folders and full disks: nothing is mixed and nothing is lost."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from library_tools import make_tool

from mcp_tools.errors import LibraryError
from mcp_tools.library.library import Library

HERE = Path(__file__).parent

WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from library_tools import make_tool
from mcp_tools.library.library import Library

library = Library(Path(sys.argv[2]), Path(sys.argv[2]).parent / "data")
me, replace = sys.argv[3], sys.argv[4] == "replace"
print("ready", flush=True)
sys.stdin.readline()
for turn in range(int(sys.argv[5])):
    mark = f"{me}{turn:03}"
    tool = make_tool("shared", body=f"return n + {mark}", description="Shared " + "x" * 2000, writer=mark)
    print(library.register(tool, replace=replace).name, flush=True)
"""


Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts writers, which end with the test."""
    started: list[subprocess.Popen[str]] = []

    def begin(folder: Path, me: str, *, replace: bool = False, turns: int = 1) -> subprocess.Popen[str]:
        process = _writer(folder, me, replace=replace, turns=turns)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield begin
    for process in started:
        with process:
            process.kill()


def _writer(folder: Path, me: str, *, replace: bool, turns: int) -> subprocess.Popen[str]:
    mode = "replace" if replace else "beside"
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(HERE), str(folder), me, mode, str(turns)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def is_whole(library: Library) -> bool:
    """Each tool's source and object were written by the same turn of the same writer."""
    return all(f"return n + {tool.provenance['writer']}\n" in tool.source for tool in library.list())


def test_processes_that_register_one_name_each_get_a_tool_of_their_own(library: Library, start: Start) -> None:
    """One has the name, the others the next ones, and none is a mixture."""
    processes = [start(library.folder, str(number)) for number in (1, 2, 3)]
    outputs = [process.communicate("go\n")[0] for process in processes]
    assert sorted(outputs) == ["shared\n", "shared_2\n", "shared_3\n"]
    assert len(library.list()) == 3
    assert library.flaws() == []
    assert is_whole(library)


def test_processes_that_replace_one_tool_leave_the_last_one_whole(library: Library, start: Start) -> None:
    """A reader beside them never sees a mixture, nor a moment without the tool."""
    library.register(make_tool("shared", writer="0", body="return n + 0"))
    processes = [start(library.folder, str(number), replace=True, turns=15) for number in (1, 2)]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    reader = Library(library.folder, library.folder.parent / "data")
    while any(process.poll() is None for process in processes):
        seen = reader.get("shared")
        assert f"return n + {seen.provenance['writer']}\n" in seen.source
        assert [hit.tool.name for hit in reader.search("shared")] == ["shared"]
    for process in processes:
        process.communicate()
    assert is_whole(library)
    reader.close()


def test_each_moment_of_an_interrupted_write_is_settled(library: Library) -> None:
    """Before the source is moved the old tool stands, after it the new one."""
    library.register(make_tool(body="return 1"))
    new = Library(library.folder.parent / "elsewhere", library.folder.parent / "data")
    new.register(make_tool(body="return 2"))
    pending = library.folder / ".alita" / "pending"
    pending.mkdir(exist_ok=True)
    (pending / "nth_fibonacci.py").write_bytes((new.folder / "nth_fibonacci.py").read_bytes())
    (pending / "nth_fibonacci.json").write_bytes((new.folder / "nth_fibonacci.json").read_bytes())
    library.close()
    assert "return 1" in library.get("nth_fibonacci").source
    assert library.list()
    assert not any(pending.iterdir())
    (library.folder / "nth_fibonacci.py").write_bytes((new.folder / "nth_fibonacci.py").read_bytes())
    (pending / "nth_fibonacci.json").write_bytes((new.folder / "nth_fibonacci.json").read_bytes())
    library.close()
    assert "return 2" in library.get("nth_fibonacci").source
    assert not any(pending.iterdir())


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
    """A library that every user can reach: pytest's own folders are closed, by each pytest that starts."""
    with tempfile.TemporaryDirectory(prefix="alita-test-") as name:
        Path(name).chmod(0o755)
        opened = Library(Path(name) / "generated_tools", Path(name) / "data")
        yield opened
        opened.close()


@pytest.mark.parametrize("limit", ["full", "read-only"])
def test_a_folder_that_cannot_be_written_still_reads(open_library: Library, limit: str) -> None:
    """A full disk and a read-only folder: a clear error with a remedy, the tools as they were, and search works."""
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
    """Waiting has an end."""
    from filelock import FileLock

    library.register(make_tool())
    monkeypatch.setattr("mcp_tools.library.folder.LOCK_SECONDS", 0.05)
    with FileLock(library.folder / ".alita" / "lock"), pytest.raises(LibraryError, match="lock"):
        library.register(make_tool("other"))
