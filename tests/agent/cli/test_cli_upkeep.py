"""`alita tools versions|diff|rollback|stats|gc`, and what the calls of a tool do to its status."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_tools.library.library import Library
from mcp_tools.tool import CallCount
from support.command import Ended, Terminal

Run = Callable[..., Ended]

SOURCE = '''def times_two(n: int) -> int:
    """Double a number.

    >>> times_two(4)
    8
    """
    return n * 2
'''
OTHER = SOURCE.replace("n * 2", "n + n")


@pytest.fixture
def alita(terminal: Terminal) -> Run:
    return lambda *arguments: terminal.call("tools", *arguments)


@pytest.fixture
def path(terminal: Terminal) -> Path:
    return terminal.here / "generated_tools" / "times_two.py"


@pytest.fixture
def library(terminal: Terminal) -> Library:
    return Library(terminal.here / "generated_tools", terminal.home / "data")


@pytest.fixture
def two(alita: Run, path: Path, library: Library) -> list[str]:
    """Two approved versions of a tool."""
    for source in (SOURCE, OTHER):
        path.write_text(source)
        assert alita("approve", "times_two").code == 0
    return [next(v.source_hash for v in library.versions("times_two") if v.source == one) for one in (SOURCE, OTHER)]


def served(library: Library) -> list[str]:
    return [tool.source for tool, _ in library.served()]


def test_versions_are_listed_compared_and_put_back(alita: Run, two: list[str], library: Library) -> None:
    first, second = two
    told = {one["version"]: one for one in alita("versions", "times_two", "--json").json}
    assert {version: (one["approved"], one["current"]) for version, one in told.items()} == {
        first: (True, False),
        second: (True, True),
    }
    assert f"{second[:12]}  " in alita("versions", "times_two").out
    changes = alita("diff", "times_two").out
    assert f"--- {first[:12]}/source\n+++ now/source" in changes
    assert "-    return n * 2\n+    return n + n\n" in changes
    assert "-    return n + n\n+    return n * 2\n" in alita("diff", "times_two", second[:8], first[:8]).out
    assert alita("diff", "times_two", second[:12]).err == "The two versions are the same.\n"
    done = alita("rollback", "times_two", first[:8])
    assert (done.code, done.err) == (0, f"times_two was restored to version {first[:12]}.\n")
    assert served(library) == [SOURCE]
    refused = alita("rollback", "times_two", "f" * 12)
    assert refused.code == 1
    assert "no version with the hash 'ffffffffffff'" in refused.err
    assert served(library) == [SOURCE]
    assert alita("versions", "nothing").code == 2


def test_an_edited_tool_is_compared_with_the_version_that_it_was(alita: Run, two: list[str], path: Path) -> None:
    path.write_text(OTHER.replace("n + n", "n + n + 0"))
    assert "-    return n + n\n+    return n + n + 0\n" in alita("diff", "times_two").out


def test_a_version_that_came_with_the_folder_becomes_a_draft(
    alita: Run, two: list[str], library: Library, terminal: Terminal
) -> None:
    """Another user of the same folder has approved none of its versions, whatever they claim."""
    other = terminal.call("tools", "rollback", "times_two", two[0][:12], ALITA_HOME=str(terminal.here / "other"))
    assert "It is a draft: alita tools review times_two" in other.err
    foreign = Library(library.folder, terminal.here / "other" / "data")
    assert served(foreign) == []
    assert served(library) == []  # nor does it put an older version before the one who approved both


def test_rollbacks_at_once_leave_a_whole_tool_to_its_callers(two: list[str], library: Library) -> None:
    sources, wrong = {SOURCE, OTHER}, []
    over = threading.Event()

    def roll(version: str) -> None:
        for _ in range(8):
            Library(library.folder, library.approvals.path.parent).restore("times_two", version)

    def look() -> None:
        mine = Library(library.folder, library.approvals.path.parent)
        while not over.is_set():
            tool = mine.get("times_two")
            wrong.extend([tool.source] if tool.source not in sources else [])

    rolling, looking = (
        [threading.Thread(target=roll, args=(version,)) for version in two],
        threading.Thread(target=look),
    )
    for thread in (looking, *rolling):
        thread.start()
    for thread in rolling:
        thread.join()
    over.set()
    looking.join()
    assert not wrong
    assert len(served(library)) == 1
    assert {version.source for version in library.versions("times_two")} == sources


def test_stats_tell_how_calls_ended_and_in_how_many_questions(alita: Run, two: list[str], library: Library) -> None:
    for question in ("What is twice 4?", "what is  twice 4?", "What is twice 5?"):
        library.record_call("times_two", True, question=question)
    library.record_call("times_two", False, "refused")
    library.record_call("times_two", False, "environment")
    [told] = alita("stats", "--json").json
    assert told | {"last": 0} == {
        "name": "times_two",
        "status": "verified",
        "calls": 5,
        "earlier": 0,
        "successes": 3,
        "refused": 1,
        "failures": {"environment": 1},
        "questions": 2,
        "last": 0,
    }
    head, row = alita("stats").out.splitlines()
    assert head.split() == ["tool", "status", "calls", "earlier", "refused", "questions", "last", "failures"]
    assert row.startswith("times_two  verified  5      0        1        2")
    library.record_calls([CallCount("times_two", 2)], question="A third question, whose program imports it")
    assert alita("stats", "--json").json[0]["status"] == "trusted"
    assert "times_two  trusted" in alita("list").out


def test_calls_count_for_the_version_that_was_called(alita: Run, two: list[str], library: Library) -> None:
    """A late call of a replaced version blames no other; counts from before versions were told apart stay."""
    library.record_call("times_two", True, question="What is twice 4?")
    with sqlite3.connect(next(library.approvals.path.parent.rglob("calls.sqlite"))) as database:
        database.execute("INSERT INTO calls VALUES ('times_two', 'bug', 2, 1.0)")
    database.close()
    assert library.stats("times_two").failures == {"bug": 2}
    alita("rollback", "times_two", two[0])
    for number in range(3):
        library.record_call("times_two", False, "bug", version=two[1], arguments={"n": number})
    library.record_call("times_two", True, version=two[0])
    [told] = alita("stats", "--json").json
    assert told | {"last": 0} == {
        **{"name": "times_two", "status": "verified", "calls": 1, "earlier": 6, "successes": 1, "refused": 0},
        **{"failures": {}, "questions": 0, "last": 0},
    }
    assert served(library) == [SOURCE]


def test_a_tool_whose_calls_end_in_bugs_is_withheld_until_somebody_or_another_version_vouches_for_it(
    alita: Run, two: list[str], library: Library
) -> None:
    for kind in ("bug", "environment", "bug", "refused", "arguments", "upstream", "bug"):
        library.record_call("times_two", False, kind)
    assert served(library) == [OTHER]  # two of the last five
    state = library.state()
    for _ in range(4):  # the same call again and again is one bug
        library.record_call("times_two", False, "bug", arguments={"n": 0})
    assert served(library) == [OTHER]
    library.record_call("times_two", False, "bug", arguments={"n": 1})
    library.record_call("times_two", False, "bug", arguments={"n": 2})
    assert library.state() != state  # a server looks again
    assert served(library) == []
    assert library.get("times_two").status == "draft"
    listed = alita("list")
    assert "times_two  quarantined, withheld" in listed.out
    assert "it is quarantined: 3 of its last 5 calls ended in a bug\n  alita tools review times_two" in listed.err
    alita("approve", "--all")
    assert served(library) == []
    library.register(library.version("times_two", two[1]), replace=True)  # the same code again is no other version
    assert served(library) == []
    alita("rollback", "times_two", two[0])
    assert served(library) == [SOURCE]
    library.record_call("times_two", False, "bug")  # counted for this version alone
    assert alita("rollback", "times_two", two[1]).err.count("It is a draft") == 1
    assert served(library) == []


@pytest.mark.parametrize("quarantined", [False, True])
def test_the_file_of_a_tool_says_nothing_about_trust(
    alita: Run, two: list[str], path: Path, library: Library, quarantined: bool
) -> None:
    document = path.with_suffix(".json")
    word = "quarantined" if quarantined else "trusted"
    document.write_text(document.read_text().replace('"alita/status": "verified"', f'"alita/status": "{word}"'))
    assert served(library) == []
    assert "trusted" not in alita("list").out


def test_unused_tools_retire_and_come_back_as_they_were(
    alita: Run, two: list[str], path: Path, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert alita("gc").err == "0 tools retired.\n"
    later = time.time() + 200 * 86400
    monkeypatch.setattr("agent.cli.verbs.tools.upkeep.time.time", lambda: later)
    would = alita("gc", "--dry-run")
    assert "1 tool would retire." in would.err
    assert path.exists()
    assert alita("gc", "--days", "300").err == "0 tools retired.\n"
    done = alita("gc")
    assert f"back: alita tools rollback times_two {two[1][:12]}" in done.out
    assert not path.exists()
    assert len(alita("versions", "times_two", "--json").json) == 2
    assert alita("rollback", "times_two", two[1][:12]).code == 0
    assert served(library) == [OTHER]
    os.utime(path)
    for number in range(3):
        library.record_call("times_two", True, question=f"What is twice {number}?")
    assert alita("gc").err == "0 tools retired.\n"  # it is trusted


def test_a_tool_retires_with_those_that_import_it_and_not_before(
    alita: Run, two: list[str], path: Path, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    importing = SOURCE.replace("times_two", "times_four").replace("    8", "    16")
    importing = f"from times_two import times_two\n\n\n{importing.replace('n * 2', 'times_two(n=n) * 2')}"
    path.with_name("times_four.py").write_text(importing)
    assert alita("approve", "times_four").code == 0
    later = time.time() + 200 * 86400
    for number in range(3):
        library.record_call("times_four", True, question=f"What is four times {number}?")
    monkeypatch.setattr("agent.cli.verbs.tools.upkeep.time.time", lambda: later)
    for arguments in (["gc", "--dry-run"], ["gc"]):
        told = alita(*arguments, "--json").json  # times_four is trusted
        assert (told["retired"], told["kept"]) == (
            [],
            ["times_two is not retired: times_two is imported by times_four"],
        )
    library.record_call("times_four", False, "bug", arguments={"n": 1})
    monkeypatch.setattr("agent.cli.verbs.tools.upkeep.time.time", lambda: later + 200 * 86400)
    for arguments in (["gc", "--dry-run"], ["gc"]):
        told = alita(*arguments, "--json").json
        assert [one["name"] for one in told["retired"]] == ["times_four", "times_two"]
        assert told["kept"] == []
    assert not path.exists()
