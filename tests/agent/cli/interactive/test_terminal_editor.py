"""The user's own editor."""

import json
from pathlib import Path

import pytest

from agent.cli.interactive.desktop import edit
from agent.errors import UsageError


def script(folder: Path, body: str) -> str:
    path = folder / "an editor"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return f"'{path}' --wait"


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    editor = script(
        tmp_path, 'test "$1" = --wait && printf "%s and more\\n" "$(cat "$2")" > "$2.new" && mv "$2.new" "$2"'
    )
    assert edit("first\nsecond", {"EDITOR": editor, "PATH": "/usr/bin:/bin"}) == "first\nsecond and more"


def test_visual_goes_before_editor(tmp_path: Path) -> None:
    editor = script(tmp_path, 'echo visual > "$2"')
    assert edit("", {"VISUAL": editor, "EDITOR": "false", "PATH": "/usr/bin:/bin"}) == "visual"


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"EDITOR": "/nowhere/editor"}, "could not be started"),
        ({"EDITOR": "false", "PATH": "/usr/bin:/bin"}, "ended with status 1"),
        ({"EDITOR": "vi 'open"}, "is not a command"),
    ],
)
def test_an_editor_that_fails_is_told(environment: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        edit("text", environment)


def test_without_any_editor_one_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError) as raised:
        edit("text", {})
    assert "EDITOR=" in raised.value.remedy


def test_it_sees_no_key_and_its_file_is_private(tmp_path: Path) -> None:
    body = f'stat -c %a "$(dirname "$2")" > {tmp_path}/mode; env > {tmp_path}/env'
    edit(
        "x", {"EDITOR": script(tmp_path, body), "OPENAI_API_KEY": "sk-1", "ALITA_API_KEY": "k", "PATH": "/usr/bin:/bin"}
    )
    assert (tmp_path / "mode").read_text() == "700\n"
    assert "KEY" not in json.dumps((tmp_path / "env").read_text())
