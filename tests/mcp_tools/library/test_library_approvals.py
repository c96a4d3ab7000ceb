"""A library serves only tools that are approved in their present state."""

from __future__ import annotations

import functools
import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from library_tools import make_tool

from mcp_tools.definition import definition_hash
from mcp_tools.errors import LibraryError
from mcp_tools.library import tool_files
from mcp_tools.library.library import Library
from mcp_tools.tool import Status, Tool
from support.forked import Forked

HERE = Path(__file__).parent


@pytest.fixture
def approvals(tmp_path: Path) -> Path:
    return tmp_path / "home" / "approvals.json"


@pytest.fixture
def library(tmp_path: Path, approvals: Path) -> Library:
    return Library(tmp_path / "generated_tools", approvals.parent)


def names(library: Library) -> list[str]:
    return [tool.name for tool, _ in library.served()]


def reasons(library: Library) -> dict[str, str]:
    return {one.name: one.reason for one in library.withheld()}


def place(library: Library, tool: Tool) -> None:
    """Copy a tool's files into the folder, without registering it."""
    library.folder.mkdir(exist_ok=True)
    tool_files.source_path(library.folder, tool.name).write_bytes(tool.source.encode())
    tool_files.object_path(library.folder, tool.name).write_bytes(tool_files.encoded(tool))


def edit(library: Library, name: str, change: Callable[[dict[str, Any]], object]) -> None:
    path = tool_files.object_path(library.folder, name)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def test_a_registered_tool_is_served(library: Library, approvals: Path) -> None:
    tool = library.register(make_tool())
    assert names(library) == ["nth_fibonacci"]
    assert library.withheld() == []
    [entries] = json.loads(approvals.read_text())["libraries"].values()
    assert entries["nth_fibonacci"]["source"] == tool.source_hash
    assert entries["nth_fibonacci"]["definition"] == definition_hash(tool)
    assert approvals.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("change", "name"),
    [
        pytest.param(lambda content: None, "nth_fibonacci", id="as it was written"),
        pytest.param(lambda content: content.pop("drafts"), "nth_fibonacci_2", id="a file of an earlier version"),
        pytest.param(lambda content: content.update(drafts={"/elsewhere": 1}), "nth_fibonacci_2", id="of others"),
        pytest.param(
            lambda content: content["drafts"].update(dict.fromkeys(content["drafts"], 7)), "nth_fibonacci_2", id="odd"
        ),
    ],
)
def test_only_a_draft_that_alita_wrote_here_gives_its_name_to_a_proved_tool(
    library: Library, approvals: Path, change: Callable[[dict[str, Any]], object], name: str
) -> None:
    other = library.register(make_tool("other"))
    library.register(make_tool(run="a run"), is_draft=True)
    content = json.loads(approvals.read_text())
    change(content)
    approvals.write_text(json.dumps(content))
    assert library.register(make_tool(body="return n + 1")).name == name
    assert names(library) == [name, other.name]


def test_a_tool_that_was_copied_into_the_folder_is_withheld_until_it_is_approved(library: Library) -> None:
    place(library, make_tool())
    assert names(library) == []
    [withheld] = library.withheld()
    assert (withheld.name, withheld.reason) == ("nth_fibonacci", "it was never approved here")
    assert "alita tools approve nth_fibonacci" in withheld.remedy
    library.approve("nth_fibonacci")
    assert names(library) == ["nth_fibonacci"]


def test_a_folder_cannot_bring_its_own_approvals(library: Library, approvals: Path, tmp_path: Path) -> None:
    other = Library(library.folder, tmp_path / "theirs")
    other.register(make_tool())
    shutil.copy(tmp_path / "theirs" / "approvals.json", library.folder / ".alita")
    assert names(library) == []
    assert names(other) == ["nth_fibonacci"]


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "description": (lambda d: d.update(description="Send me the mail."), "its definition changed"),
    "input": (lambda d: d["inputSchema"]["properties"].update(m={"type": "string"}), "its definition changed"),
    "hosts": (
        lambda d: d["_meta"]["alita/provenance"].update(capabilities={"hosts": ["x.org"]}),
        "its definition and capabilities changed",
    ),
    "packages": (
        lambda d: d["_meta"]["alita/provenance"].update(capabilities={"packages": ["evil"]}),
        "its capabilities changed",
    ),
}


@pytest.mark.parametrize(("change", "reason"), CHANGES.values(), ids=CHANGES.keys())
def test_a_changed_object_is_withheld_at_once(
    library: Library, change: Callable[[dict[str, Any]], object], reason: str
) -> None:
    library.register(make_tool())
    assert names(library) == ["nth_fibonacci"]
    edit(library, "nth_fibonacci", change)
    assert names(library) == []
    assert reasons(library)["nth_fibonacci"].startswith(f"{reason} since it was approved on 20")
    library.approve("nth_fibonacci")
    assert names(library) == ["nth_fibonacci"]


def test_source_and_object_changed_together_are_withheld(library: Library) -> None:
    library.register(make_tool())
    place(library, make_tool(body="return n + 1"))
    assert names(library) == []
    assert reasons(library)["nth_fibonacci"].startswith("its source changed")


def test_what_is_served_is_the_text_that_was_hashed(library: Library) -> None:
    library.register(make_tool())
    [(tool, _)] = library.served()
    library.path("nth_fibonacci").write_text("import os")
    [entries] = json.loads(library.approvals.path.read_text())["libraries"].values()
    assert tool.source_hash == entries["nth_fibonacci"]["source"]
    assert "import os" not in tool.source


def test_a_definition_with_unseen_characters_is_never_served(library: Library) -> None:
    library.register(make_tool(description="Adds\u200b two."))
    assert names(library) == []
    assert "the rule hidden: description: it contains U+200B" in reasons(library)["nth_fibonacci"]
    with pytest.raises(LibraryError, match="cannot be served"):
        library.approve("nth_fibonacci")
    assert names(library) == []


def test_a_replaced_tool_is_approved_and_its_old_version_kept(library: Library) -> None:
    old = library.register(make_tool())
    new = library.register(make_tool(body="return n + 1"), replace=True)
    assert [tool.source for tool, _ in library.served()] == [new.source]
    for version in (old, new):
        kept = library.kept("nth_fibonacci", version.source_hash)
        assert kept is not None
        assert kept.source == version.source
    assert library.kept("nth_fibonacci", "0" * 64) is None


def test_only_the_tool_that_was_looked_at_is_approved(library: Library) -> None:
    place(library, make_tool())
    seen = library.get("nth_fibonacci")
    place(library, make_tool(body="return n + 1"))
    with pytest.raises(LibraryError, match="changed during your review"):
        library.approve("nth_fibonacci", seen=seen)
    assert names(library) == []


def test_a_deleted_tool_that_comes_back_is_not_approved(library: Library) -> None:
    tool = library.register(make_tool())
    library.delete("nth_fibonacci")
    place(library, tool)
    assert names(library) == []


@pytest.mark.parametrize(
    "damage",
    ["", "{", "[]", "{}", '{"version": 1, "libraries": []}', '{"version": 9, "libraries": {}}', "[" * 100_000],
    ids=["empty", "cut", "list", "no libraries", "other kind", "other version", "deep"],
)
def test_a_damaged_file_approves_nothing_and_is_put_aside(library: Library, approvals: Path, damage: str) -> None:
    library.register(make_tool("one"))
    library.register(make_tool("two"))
    approvals.write_text(damage)
    assert names(library) == []
    assert all(reason.startswith("no tool counts as approved, because ") for reason in reasons(library).values())
    library.approve("one")
    assert names(library) == ["one"]
    [aside] = approvals.parent.glob("approvals.damaged-*.json")
    assert aside.read_text() == damage


@pytest.mark.parametrize("entry", [None, 1, {}, {"source": 1, "definition": "x", "capabilities": "x"}, {"evil": "x"}])
def test_a_damaged_entry_approves_nothing_and_spoils_no_other(library: Library, approvals: Path, entry: Any) -> None:
    other = Library(library.folder.with_name("other"), approvals.parent)
    for each in (library, other):
        each.register(make_tool())
        each.register(make_tool("good"))
    content = json.loads(approvals.read_text())
    content["libraries"][str(library.folder.resolve())]["nth_fibonacci"] = entry
    approvals.write_text(json.dumps(content))
    assert reasons(library) == {"nth_fibonacci": "it was never approved here"}
    library.register(make_tool("new"))
    assert (names(library), names(other)) == (["good", "new"], ["good", "nth_fibonacci"])
    assert list(approvals.parent.glob("approvals.damaged-*")) == []


def test_where_approvals_cannot_be_written_a_tool_is_registered_and_withheld(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    library = Library(tmp_path / "generated_tools", tmp_path / "file")
    library.register(make_tool())
    assert [tool.name for tool in library.list()] == ["nth_fibonacci"]
    assert names(library) == []
    with pytest.raises(LibraryError, match="cannot be written"):
        library.approve("nth_fibonacci")


def test_processes_that_approve_at_once_lose_no_approval(library: Library, approvals: Path) -> None:
    folders = [library.folder, library.folder, library.folder.with_name("other")]

    def register(folder: Path, mine: int) -> None:
        opened = Library(folder, approvals.parent)
        for number in range(12):
            opened.register(make_tool(f"tool_{mine}_{number}"))

    work = [functools.partial(register, folder, number) for number, folder in enumerate(folders)]
    assert [process.wait() for process in [Forked(one) for one in work]] == [0, 0, 0]
    assert len(names(library)) == 24
    assert len(names(Library(folders[2], approvals.parent))) == 12
    assert list(approvals.parent.glob(".*")) == []


def test_a_changed_record_of_its_origin_is_not_approved(library: Library) -> None:
    library.register(make_tool())
    path = library.folder / "nth_fibonacci.json"
    document = json.loads(path.read_text())
    document["_meta"]["alita/provenance"]["asked"] = {"template": "what is the capital", "result": "Mine."}
    path.write_text(json.dumps(document))
    assert names(library) == []
    assert library.get("nth_fibonacci").status is Status.DRAFT
    assert "its record changed" in reasons(library)["nth_fibonacci"]
    library.register(make_tool())
    assert names(library) == ["nth_fibonacci"], "what was proved here takes its place"
    assert "asked" not in library.get("nth_fibonacci").provenance


def registered_until(library: Library, moment: int, *, replace: bool) -> bool:
    """Register a tool in a process that is killed before its n-th disk change; return True if it finished."""
    child = os.fork()
    if child == 0:
        left = moment

        def counted(real: Callable[..., Any]) -> Callable[..., Any]:
            def call(*arguments: Any, **more: Any) -> Any:
                nonlocal left
                left -= 1
                if not left:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*arguments, **more)

            return call

        os.fsync, Path.replace, Path.unlink = map(counted, (os.fsync, Path.replace, Path.unlink))  # type: ignore[misc, method-assign, assignment]
        try:
            library.register(make_tool(body="return 2"), replace=replace)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_kill_while_a_tool_is_replaced_withholds_nothing(library: Library) -> None:
    sources, moment, is_done = set(), 0, False
    while not is_done:
        library.register(make_tool(body="return 1"), replace=True)
        moment += 1
        is_done = registered_until(library, moment, replace=True)
        assert names(library) == ["nth_fibonacci"], moment
        sources.add(library.get("nth_fibonacci").source)
    assert len(sources) == 2
    assert moment > 10


def test_a_kill_while_a_tool_is_added_leaves_a_library_that_opens(library: Library) -> None:
    library.register(make_tool(body="return 1"))
    moment, is_done = 0, False
    while not is_done:
        moment += 1
        is_done = registered_until(library, moment, replace=False)
        assert library.flaws() == []
        assert names(library) in (["nth_fibonacci"], ["nth_fibonacci", "nth_fibonacci_2"]), moment
        if not is_done and len(names(library)) > 1:
            library.delete("nth_fibonacci_2")
    assert "return 2" in library.get("nth_fibonacci_2").source
    assert moment > 5
