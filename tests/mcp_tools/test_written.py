"""Files written whole or not at all, by several processes, beside leftovers and planted drafts."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import stat
from pathlib import Path

import pytest

from mcp_tools.atomic import backup_of, whole_file, write_whole


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_whole_for_its_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    path.chmod(0o644)
    write_whole(path, b"new")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o600)
    path.chmod(0o640)
    write_whole(path, b"newer", keep_mode=True)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"newer", 0o640)
    assert names(tmp_path) == ["a.json"]


def test_what_fails_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    with pytest.raises(TypeError), whole_file(path) as file:
        file.writelines([b"half", None])  # type: ignore[list-item]  # which fails when half is written
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.json"]


def test_the_draft_of_a_killed_process_is_used_again(tmp_path: Path) -> None:
    (tmp_path / ".alita-draft-1").write_bytes(b"left by a kill, and longer than what comes")
    write_whole(tmp_path / "a", b"short")
    assert (tmp_path / "a").read_bytes() == b"short"
    assert names(tmp_path) == ["a"]


@pytest.mark.parametrize("plant", [os.symlink, os.link])
def test_a_planted_draft_changes_no_other_file(tmp_path: Path, plant: object) -> None:
    victim, folder = tmp_path / "victim", tmp_path / "folder"
    folder.mkdir()
    victim.write_bytes(b"mine")
    assert callable(plant)
    plant(victim, folder / ".alita-draft-1")
    try:
        write_whole(folder / "a", b"new")
    except OSError:
        assert plant is os.symlink
    assert victim.read_bytes() == b"mine"
    assert victim.stat().st_nlink == 1


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"mine")
    (tmp_path / "link").symlink_to("real")
    write_whole(tmp_path / "link", b"new")
    assert (tmp_path / "real").read_bytes() == b"mine"
    assert not (tmp_path / "link").is_symlink()


def _write_often(path: Path, letter: str) -> None:
    for _ in range(200):
        write_whole(path, letter.encode() * 50_000)


def test_writers_at_the_same_time_never_mix(tmp_path: Path) -> None:
    path = tmp_path / "a"
    writers = [multiprocessing.get_context("fork").Process(target=_write_often, args=(path, one)) for one in "abc"]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        content = path.read_bytes() if path.exists() else b""
        assert content in {b"", b"a" * 50_000, b"b" * 50_000, b"c" * 50_000}
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    assert names(tmp_path) == ["a"]


def test_what_is_no_file_is_never_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="Not a regular file"):
        write_whole(tmp_path / "pipe", b"x")
    assert (tmp_path / "pipe").is_fifo()


def test_a_backup_is_its_users_alone_until_it_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    path.write_text("a key")
    path.chmod(0o640)
    modes: list[int] = []

    def copying(source: Path, copy: Path) -> Path:
        modes.append(stat.S_IMODE(copy.stat().st_mode))
        return copy2(source, copy)

    copy2 = shutil.copy2
    monkeypatch.setattr(shutil, "copy2", copying)
    backup = backup_of(path)
    assert modes == [0o600]
    assert (backup.read_text(), stat.S_IMODE(backup.stat().st_mode)) == ("a key", 0o640)
