"""The kind of a file comes from its content; its name only breaks ties."""

from __future__ import annotations

import io
import sqlite3
import tarfile
import zipfile
from pathlib import Path

import pytest

from agent.files.contents import FileProblem
from agent.files.detection import kind_of


def zipped(*names: str, content: bytes = b"x") -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(name, content)
    return stream.getvalue()


def tarred() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"))
    return stream.getvalue()


def old_tar() -> bytes:
    info = tarfile.TarInfo("a.txt")
    head = bytearray(info.tobuf(tarfile.USTAR_FORMAT))
    head[257:265] = bytes(8)
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head)


def mimed(mime: str) -> bytes:
    return zipped("mimetype", content=mime.encode())


MAIL = (
    b"From: a@example.org\r\nTo: b@example.org\r\nSubject: Tea\r\nDate: Mon, 1 Jan 2024 10:00:00 +0000\r\n\r\nHello\r\n"
)
PDB = b"HEADER    HYDROLASE\nTITLE     AN ENZYME\nATOM      1  N   MET A   1      1.0  2.0  3.0\n"

CONTENT: dict[str, tuple[bytes, str, str]] = {
    "pdf": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3", "a.txt", "pdf"),
    "xlsx": (zipped("[Content_Types].xml", "xl/workbook.xml"), "a.zip", "xlsx"),
    "xlsb": (zipped("[Content_Types].xml", "xl/workbook.bin"), "a.xlsx", "xlsb"),
    "docx": (zipped("[Content_Types].xml", "word/document.xml"), "a", "docx"),
    "pptx": (zipped("[Content_Types].xml", "ppt/presentation.xml"), "a.bin", "pptx"),
    "ods": (mimed("application/vnd.oasis.opendocument.spreadsheet"), "a.zip", "ods"),
    "epub": (mimed("application/epub+zip"), "a.zip", "epub"),
    "empty zip": (b"PK\x05\x06" + bytes(18), "a.zip", "zip"),
    "tar": (tarred(), "a.dat", "tar"),
    "gz": (b"\x1f\x8b\x08\0", "a.csv", "gz"),
    "png": (b"\x89PNG\r\n\x1a\n", "a.jpg", "png"),
    "jpeg": (b"\xff\xd8\xff\xe0", "a.png", "jpeg"),
    "webp": (b"RIFF\x10\0\0\0WEBPVP8 ", "a", "webp"),
    "wav": (b"RIFF\x10\0\0\0WAVEfmt ", "a.mp3", "wav"),
    "mp3 with a tag": (b"ID3\x03\0\0\0", "a", "mp3"),
    "csv that has WAVE where a sound has it": (b"station,WAVE height\n1,2\n", "a.csv", "csv"),
    "text about PDFs": (b"# A PDF begins with %PDF-1.7\n", "a.md", "md"),
    "pdf behind a byte order mark": (b"\xef\xbb\xbf\r\n%PDF-1.7\n", "a", "pdf"),
    "wav of more than 4 GB": (b"RF64\xff\xff\xff\xffWAVEds64", "a", "wav"),
    "mp3 without one": (b"\xff\xfb\x90\x00" * 8, "a", "mp3"),
    "aac": (b"\xff\xf1\x50\x80\x02\x1f\xfc", "a.mp3", "aac"),
    "m4a": (b"\0\0\0\x20ftypM4A ", "a", "m4a"),
    "mov": (b"\0\0\0\x14ftypqt  ", "a.mp4", "mov"),
    "mp4": (b"\0\0\0\x14ftypisom", "a.mov", "mp4"),
    "avif": (b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf", "a.mp4", "avif"),
    "heic": (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "a.jpg", "heic"),
    "film that can show stills": (b"\0\0\0\x18ftypisom\0\0\0\0mif1isom", "a.mp4", "mp4"),
    "pdf behind text": (b"To: printer\n" * 20 + b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\n", "a.pdf", "pdf"),
    "old tar": (old_tar(), "a.tar", "tar"),
    "zip behind a program": (b"MZ" + bytes(80) + zipped("a.txt"), "a.exe", "zip"),
    "text with a NUL": (b"Name,Price\nN\0ut,2.25\nBolt,1\n", "a.csv", "csv"),
    "utf-16 without a mark": ("Name,Preis\nMütter,1\n".encode("utf-16-le"), "a.csv", "csv"),
    "zeros": (bytes(300), "a.txt", "binary"),
    "html": (b"<!DOCTYPE html><html><body>x</body></html>", "a.txt", "html"),
    "svg": (b'<?xml version="1.0"?><!-- x --><svg xmlns="http://www.w3.org/2000/svg"/>', "a.xml", "xml"),
    "xml": (b'<?xml version="1.0"?><feed><a/></feed>', "a.txt", "xml"),
    "json": (b'{"a": [1, 2]}', "a.txt", "json"),
    "jsonld": (b'{"@context": "https://schema.org", "name": "x"}', "a.json", "jsonld"),
    "jsonl": (b'{"a": 1}\n{"a": 2}\n', "a.json", "jsonl"),
    "long json": (b'{"a": [' + b'{"b": "x y", "c": [1, 2.5]},\n' * 4000 + b"1]}", "a.txt", "json"),
    "log in brackets": (b"[1] start\n[2] end\n", "a", "txt"),
    "json lines, some broken": (b'{"a": 1}\n{"a":\n{"a": 2}\n' + b'{"a": 3}\n' * 9, "a.log", "jsonl"),
    "csv without its name": (b"a,b\n1,2\n3,4\n5,6\n", "a", "csv"),
    "tsv": (b"a\tb\n1\t2\n", "a.tsv", "tsv"),
    "prose with commas": (b"One, two\nthree, four\nfive, six\nseven, eight\n", "a.txt", "txt"),
    "Markdown": (b"# Tea\n", "a.md", "md"),
    "program": (b"import os\nprint(1)\n", "a.py", "source"),
    "program without a name": (b"#!/usr/bin/env python3\nprint(1)\n", "run", "source"),
    "mail": (MAIL, "a", "eml"),
    "molecule": (PDB, "a.ent", "pdb"),
    "crystal": (b"data_1ABC\n#\n_entry.id 1ABC\n", "a.mmcif", "cif"),
    "noise": (bytes(range(256)) * 4, "a.xlsx", "binary"),
    "nothing": (b"", "a.csv", "empty"),
}


@pytest.mark.parametrize("case", CONTENT)
def test_the_content_tells_the_kind(case: str, tmp_path: Path) -> None:
    content, name, kind = CONTENT[case]
    path = tmp_path / name
    path.write_bytes(content)
    assert kind_of(path) == kind


def test_a_database_is_known_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE tea (leaf)")
    database.close()
    assert kind_of(path) == "sqlite"


def test_what_is_not_there_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(FileProblem, match="does not exist"):
        kind_of(tmp_path / "nothing.pdf")
    with pytest.raises(FileProblem, match="is a folder"):
        kind_of(tmp_path)
