"""Adding a kind of file takes its reader and its row in `files/kinds.py`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

import agent
from support.command import ALITA

READER = """
from agent.files.contents import ReadLimits, Section, Source, TextContents


def open_tune(source: Source, limits: ReadLimits) -> TextContents:
    notes = source.path.read_bytes().removeprefix(b"TUNE").decode()
    return TextContents(source.kind, "a tune", [Section("the tune", notes)])
"""
ROW = """    FileKind("tune", "tune", rb"TUNE\\0?", open="tune:open_tune", for_programs="a text copy"),
"""


def test_a_new_kind_is_read_also_in_an_archive(tmp_path: Path) -> None:
    src, original = tmp_path / "src" / "agent", Path(agent.__file__).parent
    src.mkdir(parents=True)
    for entry in original.iterdir():
        if entry.name != "files":
            (src / entry.name).symlink_to(entry)
    files = Path(shutil.copytree(original / "files", src / "files", ignore=shutil.ignore_patterns("__pycache__")))
    (files / "tune.py").write_text(READER)
    kinds = (files / "kinds.py").read_text()
    (files / "kinds.py").write_text(kinds.replace("_ROWS = (\n", f"_ROWS = (\n{ROW}"))

    (tmp_path / "a.dat").write_bytes(b"TUNE c d e")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("b.tune", b"TUNE f g a")
    (tmp_path / "c.tune").write_bytes(bytes(range(256)))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "src")}

    def show(name: str, *options: str) -> subprocess.CompletedProcess[str]:
        command = [*ALITA, "files", "show", str(tmp_path / name), "--json", *options]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    shown = show("a.dat")
    assert shown.returncode == 0, shown.stderr
    seen = json.loads(shown.stdout)
    assert (seen["kind"], seen["summary"]) == ("tune", "a tune")
    assert "c d e" in shown.stdout
    assert "f g a" in show("a.zip", "--find", "g").stdout
    assert "c.tune is not a tune file" in show("c.tune").stderr
