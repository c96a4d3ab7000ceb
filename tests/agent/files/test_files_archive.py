"""Archives: members by their own readers, nested ones, and everything that must not get out of one."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from agent.files.archive import Archive
from agent.files.contents import FileProblem, ReadLimits, Source
from agent.files.reading import preview, read

pytestmark = pytest.mark.usefixtures("in_process")


def zipped(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def tarred(members: dict[str, bytes | tarfile.TarInfo]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in members.items():
            info = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = len(content) if isinstance(content, bytes) else 0
            archive.addfile(info, io.BytesIO(content) if isinstance(content, bytes) else None)
    return stream.getvalue()


def file(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


async def test_members_are_read_by_their_own_readers(tmp_path: Path) -> None:
    inner = zipped({"deep/b.csv": b"id,n\n00001,2\n"})
    path = file(tmp_path / "a.zip", zipped({"a.txt": b"Tea", "in.zip": inner, "e.txt": b"", "x.bin": bytes(300)}))
    seen = await preview(path)
    assert seen.summary.startswith("Archive (zip): 4 files, ")
    names = [one["name"] for one in seen.facts["files"]]
    assert names == ["a.txt", "in.zip/deep/b.csv", "e.txt", "x.bin"]
    told = await read(path, page=1, to=9)
    assert "- in.zip/deep/b.csv (csv, 13 bytes)" in told.text
    assert "## a.txt: line 1\n\nTea" in told.text
    assert "| 2 | 00001 | 2 |" in told.text
    assert "## e.txt\n\n(empty, 0 bytes)" in told.text
    assert not any("e.txt" in one for one in told.lost)
    third = await read(path, page=3)
    assert third.where == "page 3 (in.zip/deep/b.csv: rows 2-2)"
    assert third.more == "Continue with page=4."
    assert "## page 3" in (await read(path, find="00001")).text


@pytest.mark.parametrize(
    ("name", "pack"),
    [("a.csv.gz", gzip.compress), ("a.csv.bz2", bz2.compress), ("a.csv.xz", lzma.compress)],
)
async def test_packed_files(name: str, pack: object, tmp_path: Path) -> None:
    assert callable(pack)
    told = await read(file(tmp_path / name, pack(b"id,n\n00001,2\n")), page=2)
    assert told.where == "page 2 (a.csv: rows 2-2)"


def link(name: str, kind: bytes, target: str = "/etc/passwd") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


async def test_nothing_gets_out_of_an_archive(tmp_path: Path) -> None:
    members: dict[str, bytes | tarfile.TarInfo] = {
        "../up.txt": b"x",
        "/root.txt": b"x",
        "a/../../up2.txt": b"x",
        "..\\up3.txt": b"x",
        "C:\\up4.txt": b"x",
        "fine.txt": b"fine",
        "soft": link("soft", tarfile.SYMTYPE),
        "hard": link("hard", tarfile.LNKTYPE, "fine.txt"),
        "soft/through.txt": b"x",
        "pipe": link("pipe", tarfile.FIFOTYPE),
        "device": link("device", tarfile.CHRTYPE),
        "a\nb": b"x",
    }
    folder = tmp_path / "out"
    folder.mkdir()
    seen = await preview(file(tmp_path / "a.tar", tarred(members)), folder=folder)
    assert sorted(str(one.relative_to(folder)) for one in seen.data) == ["fine.txt", "soft/through.txt"]
    assert sorted(one.name for one in folder.rglob("*") if one.is_file()) == ["fine.txt", "through.txt"]
    said = "\n".join(seen.lost)
    assert said.count("its path leads out of the archive") == 3
    assert said.count("its path is absolute") == 2
    assert said.count("it is a link") == 2
    assert said.count("it is a device") == 2


async def test_links_in_a_zip_are_left_out(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("soft")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
        archive.writestr("b.txt", "b")
    assert (await preview(tmp_path / "a.zip")).lost == ["soft was skipped: it is a link."]


async def test_a_password_is_told(tmp_path: Path) -> None:
    content = bytearray(zipped({"a.txt": b"Tea"}))
    content[6] |= 1
    content[content.rfind(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(FileProblem, match="protected by a password") as raised:
        await read(file(tmp_path / "a.zip", bytes(content)))
    assert raised.value.reason == "encrypted"


@pytest.mark.parametrize("pack", ["zip", "gz", "nested", "sparse tar"])
def test_a_bomb_is_told(pack: str, tmp_path: Path) -> None:
    zeros = bytes(20 << 20)
    content = {
        "zip": lambda: zipped({"a": zeros}),
        "gz": lambda: gzip.compress(zeros),
        "nested": lambda: zipped({"a.zip": zipped({"b.zip": zipped({"c": zeros})})}),
        "sparse tar": lambda: tarred({"a": zeros}),
    }[pack]()
    kind = {"nested": "zip", "sparse tar": "tar"}.get(pack, pack)
    path = file(tmp_path / "a", content)
    with pytest.raises(FileProblem) as raised:
        Archive(Source(path, kind), ReadLimits(unpacked=10 << 20))
    assert raised.value.reason == "bomb"


def test_depth_and_number_are_limited(tmp_path: Path) -> None:
    content = b"the core"
    for _ in range(6):
        content = zipped({"in.zip": content})
    deep = Archive(Source(file(tmp_path / "deep.zip", content), "zip"), ReadLimits())
    assert deep.lost == ["in.zip/in.zip/in.zip/in.zip was not unpacked: it is nested 4 archives deep."]
    deep.close()
    many = Archive(
        Source(file(tmp_path / "many.zip", zipped({f"{i}.txt": b"x" for i in range(30)})), "zip"),
        ReadLimits(members=20),
    )
    assert many.facts["files"][-1]["name"] == "19.txt"
    assert many.lost == ["Only the first 20 members are read."]
    many.close()


@pytest.mark.parametrize(
    ("encoding", "names"),
    [
        ("cp932", ["売上_東京.csv", "メモ.txt"]),
        ("gbk", ["销售数据/北京.csv", "说明.txt"]),
        ("cp1251", ["данные.txt"]),
        ("cp1252", ["Größe.txt", "Übersicht.csv"]),
    ],
)
async def test_names_in_any_code_page_are_read(encoding: str, names: list[str], tmp_path: Path) -> None:
    packed = [name.encode(encoding) for name in names]
    holders = [f"{number}".ljust(len(name), "_") for number, name in enumerate(packed)]
    content = zipped(dict.fromkeys(holders, b"x"))
    tar = tarred({name.decode("utf-8", "surrogateescape"): b"x" for name in packed})
    for holder, name in zip(holders, packed, strict=True):
        content = content.replace(holder.encode(), name)
    for name, archive in (("a.zip", content), ("a.tar", tar)):
        seen = await preview(file(tmp_path / name, archive))
        assert [one["name"] for one in seen.facts["files"]] == names


ROWS = b"id,n\n" + b"".join(b"%d,%d\n" % (i, i * i % 7919) for i in range(60_000))


async def test_a_packed_file_whose_sum_is_wrong_is_a_problem(tmp_path: Path) -> None:
    whole = gzip.compress(ROWS)
    with pytest.raises(FileProblem, match="CRC check failed") as raised:
        await preview(file(tmp_path / "a.csv.gz", whole[:-8] + bytes(4) + whole[-4:]))
    assert raised.value.reason == "damaged"


PACKERS = {
    "a.tar": tarred,
    "a.tgz": lambda members: gzip.compress(tarred(members)),
}


@pytest.mark.parametrize("name", PACKERS)
async def test_of_an_archive_cut_short_all_that_is_there_is_read(name: str, tmp_path: Path) -> None:
    whole = PACKERS[name]({"é.txt": b"first", "d/b.csv": ROWS, "c.csv": ROWS[::-1]})
    path = file(tmp_path / name, whole[: len(whole) * 3 // 4])
    seen = await preview(path, folder=tmp_path)
    inner = "a.tar/" if name == "a.tgz" else ""
    first, second, last = seen.facts["files"]
    assert [one["name"] for one in (first, second, last)] == [f"{inner}{n}" for n in ("é.txt", "d/b.csv", "c.csv")]
    assert (first["bytes"], second["bytes"]) == (5, len(ROWS))
    assert 0.2 < last["bytes"] / len(ROWS) < 0.8
    assert f"{inner}c.csv is truncated: only its first {last['bytes']:,} bytes could be unpacked." in seen.lost
    assert "is truncated: files after these could not be read" in seen.lost[-1]
    kept = seen.data[-1].read_bytes()
    assert len(kept) == last["bytes"]
    assert ROWS[::-1].startswith(kept)
    if name == "a.tar":
        assert whole[: len(whole) * 3 // 4].endswith(kept[-100:])


@pytest.mark.parametrize("name", PACKERS)
async def test_an_archive_of_which_nothing_is_left_is_a_problem(name: str, tmp_path: Path) -> None:
    whole = PACKERS[name]({"b.csv": ROWS})
    with pytest.raises(FileProblem, match="is truncated") as raised:
        await preview(file(tmp_path / name, whole[: 512 if name == "a.tar" else 20]))
    assert raised.value.reason == "truncated"


async def test_a_damaged_member_does_not_hide_the_others(tmp_path: Path) -> None:
    content = bytearray(zipped({"a.txt": bytes(range(256)) * 4, "b.txt": b"fine"}))
    content[60:90] = bytes(30)
    told = await read(file(tmp_path / "a.zip", bytes(content)), page=1, to=5)
    assert "fine" in told.text
    assert "a.txt was skipped" in "".join(told.lost)
