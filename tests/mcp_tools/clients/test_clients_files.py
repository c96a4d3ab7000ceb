"""Which entries count, how files are changed, and what a user decided about a project's servers."""

from __future__ import annotations

import json
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mcp_tools.clients.config_files import configured_servers, read_servers, write_entry
from mcp_tools.clients.config_parser import ServerEntry
from mcp_tools.clients.trust import Decisions, status_of
from mcp_tools.errors import ServersFileError
from support.external import write_servers

A, B = {"command": "a"}, {"command": "b"}


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "config", tmp_path / "project"


def test_the_users_own_come_first_and_one_name_counts_once(folders: tuple[Path, Path]) -> None:
    user, project = folders
    write_servers(user / "mcp.json", mine=A, both=A)
    write_servers(project / ".mcp.json", both=B, shared=A)
    write_servers(project / ".cursor/mcp.json", shared=A, cursor=A)
    (project / ".vscode").mkdir()
    (project / ".vscode/mcp.json").write_text(
        '{"servers": {"code": {"command": "a"}, /* twice */ "cursor": {"command": "b"}}}'
    )
    found = configured_servers(user, project)
    assert {entry.name: (entry.command, entry.scope) for entry in found.entries} == {
        "mine": ("a", "user"),
        "both": ("a", "user"),
        "shared": ("a", "project"),
        "cursor": ("a", "project"),
        "code": ("a", "project"),
    }
    assert [problem.where.rpartition(": ")[2] for problem in found.problems] == ["both", "cursor"]


def test_a_file_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b'{"mcpServers": "\xe9"}')
    (tmp_path / "large").write_text(" " * 1_000_001)
    assert "not UTF-8" in read_servers(tmp_path / "latin", "user").problems[0].message
    assert "more than 1,000,000 bytes" in read_servers(tmp_path / "large", "user").problems[0].message
    os.mkfifo(tmp_path / "pipe")
    assert read_servers(tmp_path / "pipe", "user").entries == ()


def test_a_file_is_changed_without_losing_what_else_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "mcp.json"
    assert write_entry(path, "new", ServerEntry(name="new", command="x")) is None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_text(json.dumps({"other": [1], "mcpServers": {"new": {"command": "y", "note": "mine"}, "old": A}}))
    path.chmod(0o644)
    before = path.read_text()
    first = write_entry(path, "new", ServerEntry(name="new", command="z", arguments=("é",)))
    second = write_entry(path, "old", None)
    assert first is not None
    assert first.read_text() == before
    assert json.loads(path.read_text()) == {
        "other": [1],
        "mcpServers": {"new": {"note": "mine", "command": "z", "args": ["é"]}},
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert {*path.parent.iterdir()} == {path, first, second}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"mcpServers": {}, /* mine */ "x": 1}', "contains comments"),
        ("{", "is not a valid list of servers"),
        ("[]", "is not a JSON object"),
        ('{"mcpServers": 3}', "`mcpServers` is not an object"),
    ],
)
def test_a_file_that_would_be_damaged_is_left_alone(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(text)
    with pytest.raises(ServersFileError, match=said):
        write_entry(path, "new", ServerEntry(name="new", command="x"))
    assert path.read_text() == text


def test_trust_holds_for_one_project_and_one_entry_as_it_stands(tmp_path: Path) -> None:
    entry = ServerEntry(name="x", command="sh", scope="project")
    decisions = Decisions(tmp_path / "data" / "decisions.json")

    def state(entry: ServerEntry, project: Path = tmp_path) -> str:
        return status_of(entry, Decisions(decisions.path), {}, project).state

    assert state(entry) == "undecided"
    decisions.decide(entry.digest, tmp_path, "trusted")
    assert state(entry) == "ready"
    assert state(ServerEntry(name="x", command="sh", arguments=("--more",), scope="project")) == "undecided"
    assert state(entry, tmp_path / "elsewhere") == "undecided"
    missing = status_of(ServerEntry(name="y", command="no-such-command"), decisions, {}, tmp_path)
    assert (missing.state, missing.reason) == ("unusable", "the command no-such-command was not found")
    decisions.switch(entry, tmp_path, off=True)
    assert state(entry) == "off"
    decisions.switch(entry, tmp_path, off=False)
    decisions.decide(entry.digest, tmp_path, "refused")
    assert state(entry) == "refused"
    assert state(ServerEntry(name="x", command="sh")) == "ready", "the user's own needs no decision"
    assert stat.S_IMODE(decisions.path.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("/x/bin/alita", ("serve",)),
        ("/x/python", ("-c", "from agent.cli.main import main; main()", "serve", "--tools", "all")),
    ],
)
def test_alita_s_own_server_is_never_started(tmp_path: Path, command: str, arguments: tuple[str, ...]) -> None:
    entry = ServerEntry(name="alita", command=command, arguments=arguments)
    for decided in (False, True):
        standing = status_of(entry, Decisions(tmp_path / "d.json"), {}, tmp_path, decided=decided)
        assert (standing.state, standing.reason) == ("off", "it is alita's own server")


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"schema": 1, "projects": 3}', '{"schema": 9}', '{"schema": 1, "projects": {"/": 1}}']
)
def test_damaged_decisions_count_as_none(tmp_path: Path, text: str) -> None:
    decisions = Decisions(tmp_path / "d.json")
    decisions.path.write_text(text)
    entry = ServerEntry(name="x", command="sh", scope="project")
    assert decisions.of(entry.digest, Path("/")) is None
    decisions.decide(entry.digest, Path("/"), "trusted")
    assert decisions.of(entry.digest, Path("/")) == "trusted"


def test_of_decisions_at_the_same_time_none_is_lost(tmp_path: Path) -> None:
    digests = [str(number) for number in range(8)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda each: Decisions(tmp_path / "d.json").decide(each, tmp_path, "refused"), digests))
    assert [each for each in digests if Decisions(tmp_path / "d.json").of(each, tmp_path) != "refused"] == []
