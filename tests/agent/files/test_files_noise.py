"""Whatever bytes a reader of a text, a table, a database or an archive gets: contents, or a FileProblem."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sqlite3
import tarfile
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openpyxl import Workbook

from agent.files import reader_worker
from agent.files.contents import FileProblem, ReadLimits

LIMITS = ReadLimits(unpacked=8 << 20, members=50)
OURS = ["xlsx", "ods", "csv", "sqlite", "json", "jsonl", "xml", "zip", "tar", "gz"]


def _workbook() -> bytes:
    book, stream = Workbook(), io.BytesIO()
    assert book.active is not None
    for row in (["a", 1, "=B1"], ["b", 2.5, None]):
        book.active.append(row)
    book.save(stream)
    return stream.getvalue()


def _database() -> bytes:
    database = sqlite3.connect(":memory:")
    database.executescript("CREATE TABLE a (b, c); INSERT INTO a VALUES (1, 'x'), (2, x'00ff')")
    return database.serialize()


def _zip() -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a.csv", "a,b\n1,2\n")
        archive.writestr("b.json", '{"a": 1}')
    return stream.getvalue()


def _tar() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        info = tarfile.TarInfo("a.txt")
        info.size = 3
        archive.addfile(info, io.BytesIO(b"abc"))
    return stream.getvalue()


TEXTS = [
    b'a,b\n1,"2\n3"\n',
    b'{"a": [1, {"b": null}]}\n{"a": 2}\n',
    b"<a><b c='d'/></a>",
    b"ATOM      1  N   MET A   1\n",
]
WHOLE: dict[str, bytes] = {
    **{kind: TEXTS[number % len(TEXTS)] for number, kind in enumerate(OURS)},
    "xlsx": _workbook(), "sqlite": _database(), "zip": _zip(), "tar": _tar(),
    "gz": gzip.compress(b"a,b\n1,2\n"), "bz2": bz2.compress(b"abc"), "xz": lzma.compress(b"abc"),
    "xls": (Path(__file__).with_name("data") / "tea.xls").read_bytes(),
}  # fmt: skip


WHOLE |= {"ods": _workbook(), "xlsb": _workbook()}


@st.composite
def damaged(draw: st.DrawFn, kind: str) -> bytes:
    """Random bytes, or a valid file that was cut, changed or extended."""
    whole = WHOLE[kind]
    if draw(st.booleans()):
        return draw(st.binary(max_size=400))
    at = draw(st.integers(0, len(whole)))
    change: Callable[[bytes], bytes] = draw(
        st.sampled_from(
            [lambda noise: noise, lambda noise: noise + whole[at + len(noise) :], lambda noise: noise + whole[at:]]
        )
    )
    return whole[:at] + change(draw(st.binary(max_size=40)))


@pytest.mark.parametrize("kind", OURS)
@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_bytes_are_read_or_refused(kind: str, data: st.DataObject, tmp_path: Path) -> None:
    path = tmp_path / "any"
    path.write_bytes(data.draw(damaged(kind)))
    request = {"path": str(path), "name": "any", "kind": kind, "page": 1, "to": 3, "limit": 5000, "folder": ""}
    with suppress(FileProblem):
        assert reader_worker.attempt({**request, "do": "preview"}, LIMITS)["summary"]
    with suppress(FileProblem):
        assert "text" in reader_worker.attempt({**request, "do": "read", "find": ""}, LIMITS)
    with suppress(FileProblem):
        assert "where" in reader_worker.attempt({**request, "do": "read", "find": "a b"}, LIMITS)
