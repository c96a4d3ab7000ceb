"""A client's settings file: changed whole or not at all, with a backup, and left alone when anything is odd."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.errors import SettingsError
from agent.hosts.clients import find_host
from agent.hosts.settings_file import SettingsChange, edited, planned, read_text, write

ENTRY = {"command": "/opt/alita", "args": ["serve"]}
CLAUDE = find_host("claude-code")
WIDE: dict[str, Any] = {
    "command": "/opt/ä b/alita",
    "args": ["serve", "--tools", 'a"b\\c'],
    "env": {"ALITA_HOME": "/h", "X.Y": "z"},
    "timeout": 600,
    "enabled": True,
}
TEXTS: list[Any] = [
    ("json", ""),
    ("json", "{}"),
    ("json", '{\n    "a": [1, {"b": null}],\n    "z": "ü\\u00e9"\n}\n'),
    ("json", '{\n\t"servers": {\n\t\t"x": {"command": "y"}\n\t},\n\t"z": 1\n}\n'),
    ("json", '{"servers": {"alita": 1, "y": {}}}'),
    ("toml", ""),
    ("toml", "# hi\nmodel = 'x' # c\n\n[profiles.a]\nm = 1 # one\n"),
    ("toml", "[servers.other]\ncommand = 'x'\n\n# about a\n[a]\nm = 1"),
    ("toml", "[servers.alita]\ncommand = 'old' # c\n[servers.alita.env]\nX = '1'\n\n# about z\n[z]\na = 1\n"),
    ("toml", "[ servers . \"alita\" ]\ncommand = 'old'\n[servers.'alita'.env]\nX = '1'\n"),
    ("toml", "servers = { other = { command = 'x' } }\n"),
    ("yaml", ""),
    ("yaml", "A: 1\nB:\n  - 1\n  - {c: d}\n"),
    (
        "yaml",
        "A: yes\nservers:\n    alita:\n        cmd: old\n        x: |\n          text\n    z:\n        a: 22:22\n",
    ),
    ("yaml", "servers:\n  d: &x\n    a: 1\n  e: *x\n"),
]


@pytest.mark.parametrize(("form", "text"), TEXTS)
def test_an_entry_is_put_and_removed_and_nothing_else_changes(form: Any, text: str) -> None:
    """As values, and of TOML each line that is not ours."""
    before = read_text(form, text)
    wanted = copy.deepcopy(before)
    wanted["servers"] = {**(before.get("servers") or {}), "alita": WIDE}
    put = edited(form, text, "servers", "alita", WIDE)
    assert read_text(form, put) == wanted
    if form == "toml" and "alita" not in text and "{" not in text:
        assert set(text.splitlines()) <= set(put.splitlines())
    del wanted["servers"]["alita"]
    assert {"servers": {}, **read_text(form, edited(form, put, "servers", "alita", None))} == wanted


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=10)
@given(st.dictionaries(st.text(max_size=5), values, max_size=4), st.sampled_from([None, 2, "\t"]))
def test_any_json_keeps_what_it_says(told: dict[str, Any], indent: Any) -> None:
    told.pop("servers", None)
    text = json.dumps(told, indent=indent)
    assert json.loads(edited("json", text, "servers", "alita", WIDE)) == {**told, "servers": {"alita": WIDE}}


def put(path: Path, entry: dict[str, Any] = ENTRY) -> Path | None:
    return write(planned(CLAUDE, path, "alita", entry))


def test_a_missing_file_is_made_with_its_folder(tmp_path: Path) -> None:
    """For its owner's eyes only; there is nothing to back up."""
    path = tmp_path / "new" / "settings.json"
    assert put(path) is None
    assert json.loads(path.read_text()) == {"mcpServers": {"alita": ENTRY}}
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_the_old_file_is_kept_as_it_was(tmp_path: Path) -> None:
    """With its rights, and beside older copies."""
    path = tmp_path / "settings.json"
    path.write_text('{"theme": "dark"}')
    path.chmod(0o640)
    first = put(path)
    second = put(path, {"command": "/elsewhere"})
    assert first is not None
    assert second is not None
    assert first != second
    assert first.name.startswith("settings.json.backup-20")
    assert first.read_text() == '{"theme": "dark"}'
    assert json.loads(second.read_text())["mcpServers"]["alita"] == ENTRY
    assert json.loads(path.read_text()) == {"theme": "dark", "mcpServers": {"alita": {"command": "/elsewhere"}}}
    assert path.stat().st_mode & 0o777 == first.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("client", "text"),
    [
        ("cursor", '{"a": 1'),
        ("cursor", "[1]"),
        ("cursor", '{"a": ' + "[" * 100_000),
        ("codex", "a = 1\nb = \n"),
        ("codex", "a = 1\na = 2\n"),
        ("goose", "a: 1\nb: [1\n"),
        ("goose", "- 1\n"),
        ("goose", "a: 1\n---\nb: 1\n"),
    ],
)
def test_a_damaged_file_is_refused_and_never_overwritten(tmp_path: Path, client: str, text: str) -> None:
    path, host = tmp_path / "settings", find_host(client)
    path.write_text(text)
    for plan in (lambda: planned(host, path, "alita", ENTRY), lambda: planned(host, path, "alita", None)):
        with pytest.raises(SettingsError, match="cannot be parsed: "):
            plan()
    assert path.read_text() == text
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("client", "text", "says"),
    [
        ("vscode", '// ours\n{"servers": {"x": {}}}', "it contains comments or trailing commas, which would be lost"),
        ("goose", "extensions:\n  x: {}  # mine\n", "it seems to contain comments, which would be lost"),
        ("cursor", '{"mcpServers": [1]}', "'mcpServers' is not an object of named servers"),
    ],
)
def test_a_file_that_only_its_owner_can_edit_gives_what_to_paste(
    tmp_path: Path, client: str, text: str, says: str
) -> None:
    path = tmp_path / "settings"
    path.write_text(text)
    with pytest.raises(SettingsError) as told:
        planned(find_host(client), path, "alita", ENTRY)
    assert f"was not edited: {says}" in told.value.message
    assert "Add this to the file yourself:\n" in told.value.remedy
    assert "/opt/alita" in told.value.remedy
    assert path.read_text() == text


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "settings.json")
    with pytest.raises(SettingsError, match="not a regular file"):
        planned(CLAUDE, tmp_path / "settings.json", "alita", ENTRY)


def test_a_read_only_file_is_told(tmp_path: Path) -> None:
    """Also to an administrator."""
    path = tmp_path / "settings.json"
    path.write_text("{}")
    path.chmod(0o444)
    with pytest.raises(SettingsError, match="is read-only") as told:
        put(path)
    assert f"chmod u+w {path}" in told.value.remedy
    assert path.read_text() == "{}"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    """Clients write their settings themselves."""
    path = tmp_path / "settings.json"
    path.write_text("{}")
    change = planned(CLAUDE, path, "alita", ENTRY)
    path.write_text('{"theme": "dark"}')
    with pytest.raises(SettingsError, match="Another program changed"):
        write(change)
    assert path.read_text() == '{"theme": "dark"}'
    with pytest.raises(SettingsError, match="Another program changed"):
        write(SettingsChange(path, None, "{}"))


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """Settings that are kept elsewhere are changed there."""
    (tmp_path / "dotfiles").mkdir()
    real, link = tmp_path / "dotfiles" / "settings.json", tmp_path / "settings.json"
    real.write_text("{}")
    link.symlink_to(real)
    put(link)
    assert link.is_symlink()
    assert "alita" in real.read_text()
    assert len(list((tmp_path / "dotfiles").glob("settings.json.backup-*"))) == 1
