"""A cloned folder with databases in it: no command opens one of them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from mcp_tools.library.library import Library
from mcp_tools.tool import Tool, object_schema
from support.command import Terminal
from support.hot_journal import plant

COMMANDS = {
    "a question": ("ask", "What is 2+2 of the fibonacci tool?", "--model", "scripted:none.jsonl"),
    "tools search": ("tools", "search", "double"),
    "tools run": ("tools", "run", "double", '{"n": 2}'),
    "tools approve": ("tools", "approve", "--all"),
    "doctor": ("doctor",),
    "serve": ("serve",),
    "gaps list": ("gaps", "list"),
}
DATABASES = ("generated_tools/.alita/index.sqlite", "generated_tools/.alita/calls.sqlite", "alita.sqlite")
DOUBLE = 'def double(n: int) -> int:\n    """Double a number.\n\n    >>> double(2)\n    4\n    """\n    return 2 * n\n'


@pytest.fixture
def cloned(terminal: Terminal) -> Path:
    """A folder with a tool and hot journals that name a file of the user."""
    tool = Tool("double", "Double a number.", object_schema({"n": {"type": "integer"}}, ["n"]), {}, DOUBLE)
    Library(terminal.here / "generated_tools", terminal.here / "theirs").register(tool)
    victim = terminal.here.parent / "mine.txt"
    victim.write_text("mine")
    for database in DATABASES:
        plant(terminal.here / database, str(victim))
    return victim


def test_sqlite_itself_deletes_the_file(terminal: Terminal, cloned: Path) -> None:
    """Otherwise the other tests would show nothing."""
    database = sqlite3.connect(terminal.here / DATABASES[0])
    database.execute("SELECT count(*) FROM sqlite_master").fetchall()
    database.close()
    assert not cloned.exists()


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_no_command_opens_a_database_of_the_folder(terminal: Terminal, cloned: Path, command: tuple[str, ...]) -> None:
    before = {name: (terminal.here / name).read_bytes() for name in DATABASES}
    terminal.run(*command, stdin="")
    assert cloned.read_text() == "mine"
    assert {name: (terminal.here / name).read_bytes() for name in DATABASES} == before


def test_the_index_and_counts_of_a_cloned_library_are_the_users_own(terminal: Terminal, cloned: Path) -> None:
    """Neither what was written to the folder's index nor to its counts is shown."""
    assert terminal.run("tools", "show", "double", "--json").json["stats"]["calls"] == 0
    terminal.run("tools", "list")
    assert (terminal.home / "data" / "libraries").stat().st_mode & 0o777 == 0o700
    for file in (terminal.home / "data" / "libraries").rglob("*.sqlite*"):
        assert file.stat().st_mode & 0o777 == 0o600, file
