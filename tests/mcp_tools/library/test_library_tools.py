"""Tools are registered, found, replaced and deleted; damaged files are reported and do no harm."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from library_tools import make_tool

from mcp_tools.errors import LibraryError, UnknownToolError
from mcp_tools.library.folder import sweep_data_folders
from mcp_tools.library.library import Library


def derived(library: Library) -> Path:
    [folder] = (library.folder.parent / "data" / "libraries").iterdir()
    return folder


def test_the_json_file_is_an_mcp_tool_object(library: Library) -> None:
    tool = library.register(make_tool(run="r1"))
    document = json.loads((library.folder / "nth_fibonacci.json").read_text())
    assert list(document) == ["name", "title", "description", "inputSchema", "outputSchema", "annotations", "_meta"]
    assert document["_meta"]["alita/status"] == "verified"
    assert document["_meta"]["alita/source-hash"] == tool.source_hash
    assert document["_meta"]["alita/provenance"]["run"] == "r1"
    assert (library.folder / "nth_fibonacci.py").read_text() == tool.source


def test_another_source_of_the_same_name_stands_beside_with_its_function_renamed(library: Library) -> None:
    library.register(make_tool())
    body = "x = 'nth_fibonacci'\n    return n if n < 2 else nth_fibonacci(n - 1) + len(x.nth_fibonacci)"
    second = library.register(make_tool(body=body))
    assert second.name == "nth_fibonacci_2"
    assert "def nth_fibonacci_2(n: int)" in second.source
    assert (
        "x = 'nth_fibonacci'\n    return n if n < 2 else nth_fibonacci_2(n - 1) + len(x.nth_fibonacci)" in second.source
    )
    assert library.get("nth_fibonacci").source == make_tool().source


@pytest.mark.parametrize(
    "body",
    [
        "return sum(map(lambda nth_fibonacci: nth_fibonacci + n, [1, 2]))",
        "try:\n        return [n][n]\n    except IndexError as nth_fibonacci:\n        return len(str(nth_fibonacci))",
        "nth_fibonacci = n + 1\n    return nth_fibonacci",
        "class Row:\n        def nth_fibonacci(self) -> int:\n            return 2\n"
        "    return nth_fibonacci(n - 1) + Row().nth_fibonacci() if n else 1",
    ],
    ids=["parameter", "exception", "variable", "method"],
)
def test_a_renamed_function_still_does_what_it_did(library: Library, body: str) -> None:
    library.register(make_tool())
    tool = make_tool(body=body)
    results = []
    for each in (tool, library.register(tool)):
        scope: dict[str, Any] = {}
        exec(each.source, scope)
        results.append(scope[each.name](4))
    assert results[0] == results[1]
    assert each.name == "nth_fibonacci_2"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "../up",
        "class",
        "a" * 65,
        "ünder",
    ],
)
def test_a_name_that_cannot_name_a_tool_is_refused(library: Library, name: str) -> None:
    with pytest.raises(LibraryError, match="is not a valid tool name"):
        library.register(make_tool(name))
    assert not library.folder.exists()
    with pytest.raises(UnknownToolError):
        library.get(name)


def test_a_deleted_tool_is_gone_and_kept_among_the_versions(library: Library) -> None:
    tool = library.register(make_tool())
    library.delete("nth_fibonacci")
    assert library.list() == []
    assert library.search("fibonacci") == []
    kept = library.folder / ".alita" / "versions" / "nth_fibonacci"
    assert {path.name for path in kept.iterdir()} == {f"{tool.source_hash[:12]}.py", f"{tool.source_hash[:12]}.json"}


# Search


def test_search_finds_by_description_name_and_parameters(library: Library) -> None:
    library.register(make_tool())
    library.register(make_tool("days_between", description="Count the days between two dates."))
    library.register(make_tool("count_primes", description="Count primes below a limit."))
    assert [hit.tool.name for hit in library.search("What is the 57th Fibonacci number?")] == ["nth_fibonacci"]
    assert library.search("How many days lie between these dates?")[0].tool.name == "days_between"
    assert library.search("prime")[0].tool.name == "count_primes"
    assert library.search("what is the of it") == []
    assert len(library.search("count", limit=1)) == 1
    assert library.search("count", limit=0) == []


def test_search_leaves_out_what_has_little_to_do_with_the_query(library: Library) -> None:
    library.register(make_tool("days_between", description="Count the days from the first date to the last date."))
    library.register(make_tool("easter_date", description="The date of Easter Sunday in a year."))
    library.register(make_tool("molar_mass", description="Mass of a compound. " + "It has atoms. " * 400))
    assert library.search("Who of the first settlers of Iceland wrote letters to relatives in Norway?") == []
    assert [hit.tool.name for hit in library.search("On which date is Easter Sunday?")] == ["easter_date"]
    assert [hit.tool.name for hit in library.search("calendar with the last date")] == ["days_between", "easter_date"]
    assert [hit.tool.name for hit in library.search("molar mass of glucose")] == ["molar_mass"]  # a long description
    assert library.search("What has a shine of 3 m?") == []  # m is no word of molar_mass


@pytest.mark.parametrize(
    "query",
    ["", "   ", '"', "a AND OR NOT (", "name:*", "NEAR(a b)", "'; DROP TABLE tools", "\0", "é 漢字", "x" * 10**6],
)
def test_any_query_is_only_words(library: Library, query: str) -> None:
    library.register(make_tool())
    assert isinstance(library.search(query), list)


def test_a_change_made_by_another_process_is_seen_at_once(library: Library) -> None:
    other = Library(library.folder, library.folder.parent / "data")
    assert other.search("fibonacci") == []
    library.register(make_tool())
    assert other.search("fibonacci")
    library.register(make_tool(description="Return a Lucas number."), replace=True)
    assert other.search("lucas")
    assert other.search("fibonacci")[0].tool.description == "Return a Lucas number."
    library.delete("nth_fibonacci")
    assert other.search("lucas") == []
    other.close()


@pytest.mark.parametrize("damage", ["delete", "scribble", "truncate", "delete while open"])
def test_the_index_may_be_lost_at_any_time(library: Library, damage: str) -> None:
    library.register(make_tool())
    library.record_call("nth_fibonacci", True)
    assert library.search("fibonacci")
    path = derived(library) / "index.sqlite"
    if damage != "delete while open":
        library.close()
    if damage.startswith("delete"):
        for file in path.parent.glob("index.sqlite*"):
            file.unlink()
    else:
        path.write_bytes(b"nonsense" * 1000 if damage == "scribble" else path.read_bytes()[:5000])
    assert [hit.tool.name for hit in library.search("fibonacci")] == ["nth_fibonacci"]
    assert len(library.list()) == 1
    assert library.stats("nth_fibonacci").calls == 1


# What is damaged


DAMAGES: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "no JSON": (lambda folder: (folder / "broken.json").write_text("{"), "corrupt", "broken.json is invalid"),
    "deep": (lambda folder: (folder / "broken.json").write_text("[" * 100_000), "corrupt", "is invalid"),
    "other name": (lambda folder: _edit(folder, name="x"), "corrupt", "describes the tool 'x'"),
    "no schema": (lambda folder: _edit(folder, inputSchema=None), "corrupt", "inputSchema"),
    "not UTF-8": (lambda folder: (folder / "broken.json").write_bytes(b"\xff\xfe"), "corrupt", "is invalid"),
    "edited": (
        lambda folder: (folder / "broken.py").write_text("x = 1"),
        "changed",
        "has changed since it was checked",
    ),
    "no source": (lambda folder: (folder / "broken.py").unlink(), "incomplete", "no broken.py"),
    "no object": (lambda folder: (folder / "broken.json").unlink(), "incomplete", "no broken.json"),
}


def _edit(folder: Path, **changes: object) -> None:
    document = json.loads((folder / "broken.json").read_text())
    (folder / "broken.json").write_text(json.dumps(document | changes))


@pytest.mark.parametrize(("damage", "kind", "says"), DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_tool_is_told_and_the_others_stand(
    library: Library, damage: Callable[[Path], object], kind: str, says: str
) -> None:
    library.register(make_tool("broken"))
    library.register(make_tool("whole"))
    damage(library.folder)
    library.close()
    assert [tool.name for tool in library.list()] == ["whole"]
    assert [hit.tool.name for hit in library.search("fibonacci")] == ["whole"]
    [flaw] = library.flaws()
    assert (flaw.name, flaw.kind) == ("broken", kind)
    assert says in flaw.message
    with pytest.raises(LibraryError, match="alita tools"):
        library.get("broken")
    assert library.register(make_tool("broken", body="return 7 * n")).name == "broken_2"
    library.delete("broken")
    assert library.flaws() == []


def test_an_edit_in_place_is_noticed_without_reopening(library: Library) -> None:
    library.register(make_tool())
    library.register(make_tool("other", description="Something about Fibonacci and much else besides."))
    time.sleep(0.1)  # the folder's time stamp has settled
    assert library.search("fibonacci", limit=1)[0].tool.name == "nth_fibonacci"
    edited = make_tool(body="return n + 1")
    library.path("nth_fibonacci").write_text(edited.source)
    assert library.search("fibonacci", limit=1) == []
    with pytest.raises(LibraryError, match="alita tools check nth_fibonacci"):
        library.get("nth_fibonacci")
    library.register(edited, replace=True)
    assert library.get("nth_fibonacci").source == edited.source


# Counts


def test_calls_are_counted_by_kind(library: Library) -> None:
    library.register(make_tool())
    for _ in range(3):
        library.record_call("nth_fibonacci", True)
    library.record_call("nth_fibonacci", False, "exception")
    library.record_call("nth_fibonacci", False)
    library.record_call("nth_fibonacci", False, "refused")
    stats = Library(library.folder, library.folder.parent / "data").stats("nth_fibonacci")
    assert (stats.calls, stats.successes, stats.refused) == (6, 3, 1)
    assert stats.failures == {"exception": 1, "unknown": 1}
    assert stats.last is not None


def test_damaged_counts_are_put_aside(library: Library) -> None:
    library.register(make_tool())
    library.record_call("nth_fibonacci", True)
    library.close()
    path = derived(library) / "calls.sqlite"
    path.write_bytes(b"nonsense" * 1000)
    library.record_call("nth_fibonacci", True)
    assert library.stats("nth_fibonacci").calls == 1
    assert list(path.parent.glob("calls.damaged-*"))


@pytest.mark.parametrize("target", ["/dev/zero", "pipe", "large"])
def test_what_is_no_file_is_not_read(tmp_path: Path, target: str) -> None:
    library = Library(tmp_path / "tools", tmp_path / "data")
    library.register(make_tool())
    path = library.path("nth_fibonacci")
    path.unlink()
    if target == "pipe":
        os.mkfifo(path)
    elif target == "large":
        with path.open("wb") as file:
            file.truncate(50_000_000)
    else:
        path.symlink_to(target)
    with pytest.raises(LibraryError):
        library.get("nth_fibonacci")
    library.close()


@pytest.mark.parametrize(
    "link",
    [
        ".alita/versions/nth_fibonacci/{label}.py",
        ".alita/versions/nth_fibonacci/{label}.json",
        ".alita/pending/nth_fibonacci.py",
        ".alita/pending/.nth_fibonacci.py.new",
        ".alita/lock",
        "nth_fibonacci.py",
        "nth_fibonacci.json",
    ],
)
def test_no_verb_writes_or_removes_through_a_link(tmp_path: Path, link: str) -> None:
    mine = tmp_path / "mine"
    with sqlite3.connect(mine) as database:
        database.execute("CREATE TABLE places (name TEXT)")
    database.close()
    before = mine.read_bytes()
    folder, tool = tmp_path / "tools", make_tool()
    library = Library(folder, folder.parent / "data")
    library.register(tool)
    library.close()
    place = folder / link.format(label=tool.source_hash[:12])
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.symlink_to(mine)
    verbs: list[Callable[[], object]] = [
        lambda: library.approve(tool.name),
        lambda: library.register(tool, replace=True),
        lambda: library.record_call(tool.name, True),
        lambda: library.stats(tool.name),
        lambda: library.search("fibonacci"),
        lambda: library.delete(tool.name),
        library.list,
        library.served,
        library.flaws,
        library.close,
    ]
    for verb in verbs:
        with contextlib.suppress(LibraryError, UnknownToolError):
            verb()
    assert mine.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("mine")] == ["mine"]


@pytest.mark.parametrize("link", [".alita", ".alita/versions", ".alita/versions/nth_fibonacci", ".alita/pending"])
def test_no_verb_writes_into_a_folder_behind_a_link(tmp_path: Path, link: str) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "tools"
    outside.mkdir()
    (folder / link).parent.mkdir(parents=True)
    (folder / link).symlink_to(outside)
    (folder / "nth_fibonacci.py").write_text(make_tool().source)
    library = Library(folder, folder.parent / "data")
    verbs: list[Callable[[], object]] = [
        lambda: library.register(make_tool(), replace=True),
        lambda: library.record_call("nth_fibonacci", True),
        lambda: library.approve("nth_fibonacci"),
        lambda: library.delete("nth_fibonacci"),
        library.list,
        library.close,
    ]
    for verb in verbs:
        with contextlib.suppress(LibraryError, UnknownToolError):
            verb()
    assert list(outside.iterdir()) == []


def test_a_tool_that_is_a_link_is_told_and_can_be_deleted(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("secret = 1\n")
    library = Library(tmp_path / "tools", tmp_path / "data")
    library.register(make_tool("other"))
    library.path("evil").symlink_to(tmp_path / "mine.py")
    [flaw] = library.flaws()
    assert (flaw.name, flaw.kind) == ("evil", "unreadable")
    assert "is a link" in flaw.message
    library.delete("evil")
    assert library.flaws() == []
    assert (tmp_path / "mine.py").read_text() == "secret = 1\n"


@pytest.mark.parametrize("name", ["../outside/mine", "sub/mine", "/etc/mine", "..", "Caps", "mine\0"])
def test_every_verb_refuses_a_name_that_is_a_path(tmp_path: Path, name: str) -> None:
    outside = Library(tmp_path / "outside", tmp_path / "data")
    outside.register(make_tool("mine"))
    library = Library(tmp_path / "tools", tmp_path / "data")
    library.register(make_tool())
    before = sorted((tmp_path / "outside").rglob("*"))
    verbs: list[Callable[[str], object]] = [
        library.get,
        library.tool_or_flaw,
        library.path,
        library.source,
        library.approve,
        library.delete,
        lambda text: library.kept(text, make_tool("mine").source_hash),
    ]
    for verb in verbs:
        with pytest.raises(UnknownToolError):
            verb(name)
    with pytest.raises(LibraryError, match="is not a valid tool name"):
        library.register(make_tool(name))
    assert sorted((tmp_path / "outside").rglob("*")) == before


def test_a_library_that_is_a_link_out_of_its_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    project = tmp_path / "project"
    (project / "tools").mkdir(parents=True)
    (project / "generated_tools").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LibraryError, match=r"is a link to .*elsewhere, which is outside its parent folder"):
        Library(project / "generated_tools", project / "data")
    (project / "beside").symlink_to("tools")
    Library(project / "beside", project / "data").register(make_tool())
    assert (project / "tools" / "nth_fibonacci.py").is_file()
    opened = Library(project / "later", project / "data")
    (project / "later").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LibraryError, match="outside its parent folder"):
        opened.register(make_tool())
    assert list((tmp_path / "elsewhere").iterdir()) == []


@pytest.mark.parametrize(("gone", "old", "removed"), [(True, True, True), (True, False, False), (False, True, False)])
def test_what_was_derived_from_a_library_that_is_gone_is_removed(library: Library, gone, old, removed) -> None:
    library.register(make_tool())
    library.search("fibonacci")
    library.close()
    place, day = derived(library), 86400
    if gone:
        shutil.rmtree(library.folder)
    for path in (*place.iterdir(), place) if old else ():
        os.utime(path, (time.time() - 40 * day,) * 2)
    sweep_data_folders(place.parent)
    assert place.exists() is not removed
