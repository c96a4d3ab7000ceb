"""`--folder`, `--write`, `/folder` and `alita changes`, as commands."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from support.command import Ended, Terminal, Tty
from support.openai_server import OpenAIServer, Step

CODE = """
import os
os.chdir({folder!r})
open('notes.txt', 'a').write('two\\n')
open('.envrc', 'w').write('evil')
open('new.txt', 'w').write('new')
os.unlink('old.txt')
"""
WORK = ("--folder", "work", "--write")


@pytest.fixture
def work(terminal: Terminal, openai_server: OpenAIServer) -> Path:
    """A folder of the user's, and a model that changes it once in each turn."""
    folder = terminal.here / "work"
    folder.mkdir()
    (folder / "notes.txt").write_text("one\n")
    (folder / "old.txt").write_text("old\n")

    def reply(body: dict[str, Any]) -> Step:
        told = body["messages"]
        if told[-1]["role"] == "tool" or "folder: /" not in str(told[-1]["content"]):
            return Step(text="done")
        place = str(told[-1]["content"]).partition("folder: ")[2].split("\n")[0]
        return Step(tools=[("run_python", {"code": CODE.format(folder=place)})])

    openai_server.default = reply
    return folder


def settings(server: OpenAIServer) -> dict[str, str]:
    return {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.url, "ALITA_MODEL": "tiny-1"}


def says(alita: Tty, typed: str, then: str) -> None:
    """Type a line, and wait for a text."""
    alita.seen = ""
    alita.type(f"{typed}\r")
    alita.wait_for(then)


def files_in(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


BEFORE = {"notes.txt": "one\n", "old.txt": "old\n"}
AFTER = {"notes.txt": "one\ntwo\n", "new.txt": "new"}


def test_without_a_terminal_nothing_is_applied_until_alita_changes_does(
    terminal: Terminal, work: Path, openai_server: OpenAIServer
) -> None:
    asked: Ended = terminal.run(*WORK, "--json", "--yes", "Change it.", **settings(openai_server))
    run = asked.json["run_id"]
    assert [(one["path"], one["kind"]) for one in asked.json["changes"]] == [
        *((".envrc", "added"), ("new.txt", "added"), ("notes.txt", "changed"), ("old.txt", "removed")),
    ]
    assert asked.json["changes"][2] | {"path": ""} == {
        **{"path": "", "kind": "changed", "bytes_before": 4, "bytes_after": 8},
    }
    assert f"nothing is applied. To apply: alita changes {run} --apply" in asked.err
    assert files_in(work) == BEFORE
    shown = terminal.call("changes")
    assert "changed  notes.txt  4 → 8 bytes" in shown.out
    assert "+two" in shown.out
    assert ".envrc  – → 4 bytes  (applied only by name" in shown.out
    assert terminal.call("changes", run, "--json").json["changes"] == asked.json["changes"]
    assert files_in(work) == BEFORE
    one = terminal.call("changes", run, "notes.txt", "--apply", "--json").json
    assert (one["applied"], one["left"], files_in(work)) == (["notes.txt"], [], BEFORE | {"notes.txt": "one\ntwo\n"})
    rest = terminal.call("changes", run, "--apply")
    assert "Applied 2 changes" in rest.out
    assert "not applied: .envrc: give its name to apply it" in rest.out
    assert files_in(work) == AFTER
    kept = rest.out.partition("Removed files are kept in ")[2].split("\n")[0].rstrip(".")
    assert (Path(kept) / "old.txt").read_text() == "old\n"
    assert terminal.call("changes", "--apply", ".envrc").code == 0
    assert files_in(work) == AFTER | {".envrc": "evil"}
    assert "Nothing was changed." in terminal.call("changes", run).out
    terminal.call("runs", "export", run, "-o", "run.tar.gz")
    with tarfile.open(terminal.here / "run.tar.gz") as archive:
        assert [name for name in archive.getnames() if name.startswith(f"{run}/folder")] == []


def test_a_conflict_is_told_and_left(terminal: Terminal, work: Path, openai_server: OpenAIServer) -> None:
    terminal.run(*WORK, "Change it.", **settings(openai_server))
    (work / "notes.txt").write_text("mine\n")
    applied = terminal.call("changes", "--apply")
    assert applied.code == 1
    assert "notes.txt: it has changed since it was copied; both versions are kept" in applied.out
    assert files_in(work) == AFTER | {"notes.txt": "mine\n"}


def test_at_a_terminal_the_user_accepts_file_by_file(
    terminal: Terminal, work: Path, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    alita = Tty(terminal.here, terminal.home, *WORK, "Change it.", out=tmp_path / "out.txt", **settings(openai_server))
    alita.wait_for("Apply 4 changes to your folder?")
    assert files_in(work) == BEFORE
    says(alita, "d", "+two")
    alita.wait_for("Apply 4 changes to your folder?")
    for key, file in (("f", ".envrc"), ("n", "new.txt"), ("n", "notes.txt"), ("y", "old.txt")):
        says(alita, key, f"{file}  ")
    says(alita, "q", "To apply it later: alita changes")
    alita.ended()
    assert files_in(work) == BEFORE | {"notes.txt": "one\ntwo\n"}


def test_a_session_has_a_folder_and_applies_all_but_what_acts_by_being_there(
    terminal: Terminal, work: Path, openai_server: OpenAIServer
) -> None:
    alita = Tty(terminal.here, terminal.home, **settings(openai_server))
    alita.wait_for("Ask a question.")
    says(alita, "/folder", "Programs cannot use a folder.")
    says(alita, "/folder work --write", "programs may change a copy of")
    says(alita, "Change it.", "Apply 4 changes to your folder?")
    says(alita, "a", "The rest is not applied.")
    says(alita, "/files", "a copy")
    says(alita, "/exit", "The session is saved.")
    alita.ended()
    assert files_in(work) == AFTER


def test_changes_of_a_run_from_elsewhere_are_not_applied(
    terminal: Terminal, work: Path, openai_server: OpenAIServer
) -> None:
    run = terminal.run(*WORK, "--json", "Change it.", **settings(openai_server)).json["run_id"]
    victim = terminal.here / "victim"
    victim.mkdir()
    file = terminal.home / "data" / "runs" / run / "run.json"
    data = json.loads(file.read_text())
    data["configuration"]["folder"] = str(victim)
    file.write_text(json.dumps(data))
    refused = terminal.call("changes", run, "--apply")
    assert (refused.code, "comes from elsewhere" in refused.err) == (2, True)
    assert [*victim.iterdir()] == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--write", "Why?"], "--write needs a folder."),
        (["--folder", "none", "Why?"], "none is not a folder."),
        (["changes"], "No run has worked on a copy of a folder."),
        (["changes", "abcd"], "There is no run 'abcd'."),
    ],
    ids=["write alone", "missing", "no run", "unknown run"],
)
def test_misuse_is_told(terminal: Terminal, arguments: list[str], said: str) -> None:
    ended = (
        terminal.call("--model", "tiny-1", "--base-url", "http://127.0.0.1:9/v1", *arguments)
        if (arguments[0] != "changes")
        else terminal.call(*arguments)
    )
    assert ended.code == 2
    assert said in ended.err
