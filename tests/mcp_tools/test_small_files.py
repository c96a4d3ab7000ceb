"""Reading what anybody may have written."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

from mcp_tools.atomic import write_whole
from mcp_tools.small_files import JOURNAL, json_of, read_small, toml_of


@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "large", "link"])
def test_only_regular_files_up_to_a_size_are_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "file"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to(tmp_path / "mine")
        (tmp_path / "mine").write_text("mine")
    else:
        path.write_bytes(b"x" * 11)
    with pytest.raises(OSError, match=r".") as caught:
        read_small(path, 10, follow=kind != "link")
    assert caught.value.strerror


def test_a_file_of_a_gigabyte_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    tracemalloc.start()
    with pytest.raises(OSError, match="more than 256,000,000 bytes"):
        read_small(path, JOURNAL)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1_000_000


@pytest.mark.parametrize(
    "text", ["[" * 101 + "]" * 101, "[" * 200_000, '{"a":' * 101 + "1" + "}" * 101, "", "9" * 5000]
)
def test_json_that_cannot_be_walked_through_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        json_of(text)


@pytest.mark.parametrize("text", ["a = " + "[" * 101 + "]" * 101, "a." * 60_000 + "b = 1", "a = 0x" + "f" * 20])
def test_toml_that_cannot_be_walked_through_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        toml_of(text.encode())


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_draft_of_another_user_is_not_written(tmp_path: Path) -> None:
    """In a folder that several users share, its owner could read it, and would own the file."""
    theirs = tmp_path / ".alita-draft-1"
    theirs.touch(mode=0o666)
    os.chown(theirs, 65534, 65534)
    write_whole(tmp_path / "answer.txt", b"secret")
    assert theirs.read_bytes() == b""
    assert (tmp_path / "answer.txt").stat().st_uid == os.getuid()
