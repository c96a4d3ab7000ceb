"""Paths in arguments of servers' tools: what counts as one, and which the user named or forbids."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.consent.external_tools import Grants
from agent.consent.questions import CallProposal
from agent.consent.rulings import judge_call
from agent.consent.text_origins import Origins
from agent.consent.user_paths import NamedPaths, is_path

HOME = Path("~").expanduser()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with some files, and a folder beside it."""
    home = tmp_path / "home"
    for name in ("notes/sum.md", ".ssh/id_rsa", "Documents/tax.pdf", "todo"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("x")
    monkeypatch.setenv("HOME", str(home))
    (tmp_path / "work").mkdir()
    (tmp_path / "work/list.txt").write_text("x")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


@pytest.mark.parametrize(
    ("value", "argument", "expected"),
    [
        ("/etc/passwd", "", True),
        ("/", "path", True),
        ("~", "path", True),
        (".", "path", True),
        (".ssh/id_rsa", "path", True),
        (".never_made/key", "q", True),
        ("ok/../other", "q", True),
        ("notes\\..\\x", "q", True),
        ("notes/sum.md", "q", True),
        ("Documents/tax.pdf", "q", True),
        ("todo", "path", True),
        ("list.txt", "path", False),
        ("file:///etc/passwd", "url", True),
        ("todo", "query", False),
        ("owner/repository", "repo", False),
        ("text/plain", "type", False),
        (".5", "x", False),
        ("https://example.org/.well-known/x", "url", False),
        ("what is .NET about", "query", False),
        ("", "path", False),
    ],
)
def test_what_a_server_may_open_is_a_path(folder: Path, value: str, argument: str, expected: bool) -> None:
    assert is_path(value, argument) is expected


@pytest.mark.parametrize(
    ("wanted", "path", "expected"),
    [
        ("Read /tmp/e/notes/sum.md please.", "/tmp/e/notes/sum.md", True),
        ("Read '/tmp/e/notes'", "/tmp/e/notes/", True),
        ("Read ~/notes/sum.md", f"{HOME}/notes/sum.md", True),
        (f"Read {HOME}/notes/sum.md", "~/notes/sum.md", True),
        ("Read notes/sum.md", "notes/sum.md", True),
        ("Read sum.md", "sum.md", True),
        ("Read /tmp/e/notes/sum.md", "/tmp/e/notes/../sum.md", False),
        ("Read /tmp/e/notes/sum.md", "~/notes/sum.md", False),
        ("Read /tmp/e/notes/sum.md", "/tmp/e/notes", False),
        ("Read /tmp/e/notes/summary.md", "/tmp/e/notes/sum", False),
        ("Read the key in ssh", ".ssh", False),
        ("Never touch anything in /tmp/e/other, it is private.", "/tmp/e/other", False),
        ("/tmp/e/other is private, stay out of it", "/tmp/e/other", False),
        ("Copy all of /tmp/e except /tmp/e/other", "/tmp/e/other", False),
        ("Lies /tmp/e/a nicht", "/tmp/e/a", False),
        ("Read /tmp/e/data.csv and do not include headers", "/tmp/e/data.csv", True),
        ("Why is the total not in /tmp/e/report.txt?", "/tmp/e/report.txt", True),
        ("If nothing is there, write it to /tmp/e/new.txt", "/tmp/e/new.txt", True),
    ],
)
def test_a_path_is_named_as_it_stands_and_where_it_is_not_forbidden(wanted: str, path: str, expected: bool) -> None:
    assert NamedPaths(wanted).names(path) is expected


def test_a_reason_to_refuse_names_no_folder_with_spaces(folder: Path) -> None:
    (folder / "My Notes").mkdir()
    paths = NamedPaths(f"List what is new.\nNo, because: {folder}/My Notes is not yours")
    assert (paths.names(f"{folder}/My Notes"), paths.below(f"{folder}/My Notes/a.txt")) == (False, "")


@pytest.mark.parametrize(
    "path", ["/tmp/\0x", "WORK/\0", "WORK/\ud83d", "~nobody-of-this-name/x", "WORK/" + "x" * 300, ".\0"]
)
def test_what_is_no_name_of_a_file_is_judged_too(folder: Path, path: str) -> None:
    place = path.replace("WORK", str(folder / "work"))
    verdict = judge_call("files__read", {"path": place}, Origins(wanted=f"Read {folder}/work"), read_only=True)
    assert verdict.ruling in {"asked", "fine"}
    grants = Grants(folder / "allowed.json", [("files__", "digest")])
    call = CallProposal("use_tool", {}, "", tool="files__read", paths=(place,))
    grants.keep(replace(call, paths=(f"{folder}/work/list.txt",)), "folder")
    assert grants.cover(call) in {True, False}, "it does not fail"


def test_what_is_forbidden_below_a_named_folder_is_not_named(folder: Path) -> None:
    work = folder / "work"
    paths = NamedPaths(f"Tidy {work}, but never touch secrets.txt.")
    assert paths.below(f"{work}/list.txt") == "list.txt"
    assert paths.below(f"{work}/secrets.txt") == ""
    assert NamedPaths(f"Tidy {work}. Stay out of {work}/private").below(f"{work}/private/a") == ""


@pytest.mark.parametrize(
    ("arguments", "ruling"),
    [
        ({"path": ".ssh/authorized_keys", "text": "k"}, "asked"),
        ({"path": "Documents/tax.pdf"}, "asked"),
        ({"paths": ["WORK/list.txt", "~/todo"]}, "asked"),
        ({"path": "WORK/../home/todo"}, "asked"),
        ({"path": "/"}, "asked"),
        ({"path": "WORK/list.txt"}, "fine"),
        ({"path": "WORK/new.txt", "text": "hello"}, "fine"),
    ],
    ids=lambda value: json.dumps(value)[:40],
)
def test_a_call_with_a_path_that_nobody_named_is_asked_about(
    folder: Path, arguments: dict[str, Any], ruling: str
) -> None:
    given = json.loads(json.dumps(arguments).replace("WORK", str(folder / "work")))
    origins = Origins(wanted=f"Store the note hello in {folder}/work please")
    assert judge_call("files__store_note", given, origins, read_only=True).ruling == ruling


@pytest.mark.parametrize("piece", ["a@", "../", "Ab "])
def test_a_huge_argument_and_a_huge_question_are_judged_in_bounded_time(piece: str) -> None:
    text = piece * (50_000 // len(piece))
    started = time.process_time()
    origins = Origins(wanted=f"Keep this: {text}", foreign=["Some page."], private=["PASSWORD=b7Kq2zz19Lm04"])
    judge_call("notes__write", {"text": text[::-1], "path": text[:4000]}, origins, read_only=False)
    assert time.process_time() - started < 10
