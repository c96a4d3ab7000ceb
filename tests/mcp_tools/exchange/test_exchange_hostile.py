"""Hostile and damaged archives, folders and registries are refused before anything is written."""

from __future__ import annotations

import io
import json
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_tools.errors import UsageError
from mcp_tools.exchange import members
from mcp_tools.exchange.candidates import candidates

SOURCE = b'def double(n: int) -> int:\n    """Twice a number."""\n    return 2 * n\n'
Archive = zipfile.ZipFile


def entry(name: str, mode: int = 0) -> zipfile.ZipInfo:
    made = zipfile.ZipInfo(name)
    made.external_attr = mode << 16
    return made


def bomb(archive: Archive) -> None:
    archive.writestr("double.py", b"\0" * 5_000_000, zipfile.ZIP_DEFLATED)


def many_bombs(archive: Archive) -> None:
    for number in range(20):
        archive.writestr(f"double_{number}.py", b"\0" * 3_900_000, zipfile.ZIP_DEFLATED)


def doubled(archive: Archive) -> None:
    archive.writestr("double.py", SOURCE)
    with pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("double.py", SOURCE + b"#")


def false_hash(archive: Archive) -> None:
    archive.writestr("tools/double.py", SOURCE)
    archive.writestr(
        "manifest.json", json.dumps({"format": "alita-tools", "version": 1, "files": {"tools/double.py": "0"}})
    )


def beside_the_manifest(archive: Archive) -> None:
    archive.writestr("tools/double.py", SOURCE)
    archive.writestr("manifest.json", json.dumps({"format": "alita-tools", "version": 1, "files": {}}))


HOSTILE: dict[str, tuple[Callable[[Archive], object], str]] = {
    "bomb": (bomb, "unpacks to 5,000,000 bytes"),
    "many bombs": (many_bombs, "it unpacks to 78,000,000 bytes"),
    "many files": (lambda a: [a.writestr(f"f{n}.py", b"") for n in range(4_001)], "more than 4,000 files"),
    "above": (lambda a: a.writestr("../double.py", SOURCE), "points outside the archive"),
    "above inside": (lambda a: a.writestr("tools/../../double.py", SOURCE), "points outside the archive"),
    "absolute": (lambda a: a.writestr("/tmp/double.py", SOURCE), "points outside the archive"),
    "backslash": (lambda a: a.writestr("..\\double.py", SOURCE), "contains forbidden characters"),
    "drive": (lambda a: a.writestr("C:double.py", SOURCE), "contains forbidden characters"),
    "escape": (lambda a: a.writestr("\x1b[2J.py", SOURCE), "contains forbidden characters"),
    "link": (lambda a: a.writestr(entry("double.py", stat.S_IFLNK | 0o777), "/etc/passwd"), "is a link"),
    "device": (lambda a: a.writestr(entry("double.py", stat.S_IFCHR | 0o777), ""), "is a link or a special file"),
    "twice": (doubled, "contains double.py twice"),
    "twice by case": (lambda a: (a.writestr("a.py", SOURCE), a.writestr("A.py", SOURCE)), "contains A.py twice"),
    "deep": (lambda a: a.writestr("a/b/c/d/e.py", SOURCE), "too deep"),
    "hash": (false_hash, "tools/double.py does not match its hash in manifest.json"),
    "not in the manifest": (
        beside_the_manifest,
        "tools/double.py is missing from the archive or from its manifest.json",
    ),
    "unknown version": (
        lambda a: a.writestr("manifest.json", json.dumps({"format": "alita-tools", "version": 2, "files": {}})),
        "has the unknown version 2",
    ),
    "other manifest": (lambda a: a.writestr("manifest.json", "[]"), "manifest.json was not written by alita"),
    "wheel without record": (
        lambda a: (a.writestr("x/tools/double.py", SOURCE), a.writestr("x-1.dist-info/RECORD", "")),
        "does not match its hash in RECORD",
    ),
    "empty": (lambda a: None, "contains no tool"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_archive_is_refused_whole(tmp_path: Path, case: str) -> None:
    fill, reason = HOSTILE[case]
    with Archive(tmp_path / "tools.zip", "w") as archive:
        fill(archive)
    with pytest.raises(UsageError, match=reason):
        candidates(tmp_path / "tools.zip")


def test_an_entry_that_unpacks_to_more_than_it_says_is_damage(tmp_path: Path) -> None:
    made = io.BytesIO()
    with Archive(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("double.py", b"\0" * 20_000_000)
    size = (20_000_000).to_bytes(4, "little")
    (tmp_path / "tools.zip").write_bytes(made.getvalue().replace(size, (100).to_bytes(4, "little")))
    with pytest.raises(UsageError, match="it is not a valid archive: Bad CRC-32"):
        candidates(tmp_path / "tools.zip")


@pytest.mark.parametrize("cut", [1, 30, 60, 200])
def test_a_torn_archive_is_damage(tmp_path: Path, cut: int) -> None:
    whole = members.zipped({"double.py": SOURCE, "triple.py": SOURCE})
    (tmp_path / "tools.zip").write_bytes(whole[:-cut])
    with pytest.raises(UsageError, match="it is not a valid archive"):
        candidates(tmp_path / "tools.zip")


def test_no_link_in_a_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "double.py").write_bytes(SOURCE)
    (tmp_path / "in" / "double.py").symlink_to(tmp_path / "double.py")
    with pytest.raises(UsageError, match="is a link, and links are not followed"):
        candidates(tmp_path / "in")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        pytest.param("r.json", b"{}", "it is not a registry", id="no registry"),
        pytest.param("r.json", b"[" * 5000 + b"]" * 5000, "nested", id="nested"),
        pytest.param("r.json", b"\xff\xfe", "r.json is not valid JSON", id="no UTF-8"),
        pytest.param("r.json", b"[]", "contains no tool", id="no entry"),
        pytest.param(
            "r.json", json.dumps([{"name": "a"}] * 1001).encode(), "1,001 tools; the limit is 1,000", id="many"
        ),
        pytest.param("a.txt", b"hello", "contains no tool", id="a text"),
    ],
)
def test_a_file_that_brings_nothing_is_refused(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=reason):
        candidates(tmp_path / name)


def test_a_server_file_is_read_and_never_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    file = tmp_path / "server.py"
    file.write_text(f"open({str(mark)!r}, 'w')\nEXPORTED_TOOLS = {{'double': ({SOURCE.decode()!r}, '{{}}')}}\n")
    assert [one.name for one in candidates(file)] == ["double"]
    assert not mark.exists()
    file.write_text("EXPORTED_TOOLS = dict(double=__import__('os').system('true'))\n")
    assert [one.name for one in candidates(file)] == ["server"]  # a module, which the checks refuse
