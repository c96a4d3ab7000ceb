"""A client's settings file: changed whole or not at all, with a backup, and left alone when anything is odd."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.errors import SettingsError, StorageError
from agent.hosts import Change, find_host, planned_entry, planned_removal, write

ENTRY = {"command": "/opt/alita", "args": ["serve"]}
CLAUDE = find_host("claude-code")


def put(path: Path, entry: dict[str, object] = ENTRY) -> Path | None:
    return write(planned_entry(CLAUDE, path, "alita", entry))


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


def test_the_same_entry_changes_nothing(tmp_path: Path) -> None:
    """However the file writes it."""
    path = tmp_path / "settings.json"
    path.write_text('{"mcpServers": {"alita": {"args":["serve"],"command":"/opt/alita"}}}')
    assert not planned_entry(CLAUDE, path, "alita", ENTRY).is_needed
    assert not planned_removal(CLAUDE, path, "other").is_needed
    assert not planned_removal(CLAUDE, tmp_path / "missing.json", "alita").is_needed


@pytest.mark.parametrize("text", ['{"a": 1,}', "{", "[1]", '{"a": 1} x', '// c\n{"a": 1}'])
def test_a_damaged_file_is_refused_with_its_line_and_never_overwritten(tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text(text)
    for plan in (lambda: planned_entry(CLAUDE, path, "alita", ENTRY), lambda: planned_removal(CLAUDE, path, "alita")):
        with pytest.raises(SettingsError, match=r"is damaged, line \d+, column \d+: "):
            plan()
    assert path.read_text() == text
    assert list(tmp_path.iterdir()) == [path]


def test_a_shape_that_is_not_edited_gives_what_to_paste(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("extensions: {dev: {enabled: true}}\n")
    with pytest.raises(SettingsError) as told:
        planned_entry(find_host("goose"), path, "alita", {"cmd": "/opt/alita"})
    assert "is not edited: 'extensions' is written in braces" in told.value.message
    assert 'alita:\n    cmd: "/opt/alita"' in told.value.remedy
    path.write_text('{"mcpServers": [1]}')
    with pytest.raises(SettingsError, match="holds no servers"):
        planned_entry(CLAUDE, path, "alita", ENTRY)


def test_an_edit_that_would_change_more_is_refused(tmp_path: Path) -> None:
    """Servers in an inline table cannot be added to by a table of their own."""
    path = tmp_path / "config.toml"
    path.write_text("mcp_servers = { other = { command = 'x' } }\n")
    with pytest.raises(SettingsError, match="would be damaged"):
        planned_entry(find_host("codex"), path, "alita", ENTRY)
    path.write_text("[mcp_servers]\nalita = { command = 'x' }\n")
    with pytest.raises(SettingsError, match="would"):
        planned_removal(find_host("codex"), path, "alita")


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
    change = planned_entry(CLAUDE, path, "alita", ENTRY)
    path.write_text('{"theme": "dark"}')
    with pytest.raises(SettingsError, match="changed by another program"):
        write(change)
    assert path.read_text() == '{"theme": "dark"}'
    with pytest.raises(SettingsError, match="changed by another program"):
        write(Change(path, None, "{}"))


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


def test_a_byte_order_mark_and_windows_lines_stay(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b'\xef\xbb\xbf{\r\n  "a": 1\r\n}\r\n')
    put(path)
    content = path.read_bytes()
    assert content.startswith(b'\xef\xbb\xbf{\r\n  "a": 1,\r\n  "mcpServers": {\r\n')
    assert content.count(b"\n") == content.count(b"\r\n")


def test_what_is_no_text_or_no_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes("{}".encode("utf-16"))
    with pytest.raises(SettingsError, match="is not UTF-8"):
        put(path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(SettingsError, match="cannot be read"):
        put(tmp_path / "folder")
    with pytest.raises(StorageError, match="cannot be written"):
        put(path / "below" / "settings.json")
