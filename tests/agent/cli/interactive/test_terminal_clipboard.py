"""Copying: the desktop's program, else the terminal, else a file."""

import base64
import io
import stat
from pathlib import Path

import pytest

from agent.cli.interactive.desktop import LONGEST_THROUGH_A_TERMINAL, copy


def program(folder: Path, name: str, body: str) -> dict[str, str]:
    (folder / "bin").mkdir(exist_ok=True)
    path = folder / "bin" / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return {"PATH": f"{folder / 'bin'}:/usr/bin:/bin"}


@pytest.mark.parametrize(
    ("name", "display"), [("wl-copy", {"WAYLAND_DISPLAY": "w"}), ("xclip", {"DISPLAY": ":0"}), ("pbcopy", {})]
)
def test_the_program_of_the_desktop_is_used(tmp_path: Path, name: str, display: dict[str, str]) -> None:
    found = program(tmp_path, name, f"cat > {tmp_path}/got; env > {tmp_path}/env")
    environment = {**found, **display, "OPENAI_API_KEY": "sk-secret"}
    assert name in copy("é\n", terminal=None, folder=tmp_path, environment=environment)
    assert (tmp_path / "got").read_text() == "é\n"
    assert "sk-secret" not in (tmp_path / "env").read_text()


def test_without_a_display_its_programs_are_not_tried(tmp_path: Path) -> None:
    environment = program(tmp_path, "xclip", "exit 0")
    assert "Written to" in copy("x", terminal=None, folder=tmp_path, environment=environment)


def test_a_terminal_takes_it_in_a_sequence_that_no_text_can_leave(tmp_path: Path) -> None:
    terminal = io.StringIO()
    told = copy("a\x07\x1b[2Jb", terminal=terminal, folder=tmp_path, environment={"PATH": ""})
    packed = base64.b64encode(b"a\x07\x1b[2Jb").decode()
    assert terminal.getvalue() == f"\x1b]52;c;{packed}\x07"
    assert "/save" in told


def test_a_program_that_fails_makes_way_for_the_terminal(tmp_path: Path) -> None:
    environment = {**program(tmp_path, "wl-copy", "exit 1"), "WAYLAND_DISPLAY": "w"}
    terminal = io.StringIO()
    copy("x", terminal=terminal, folder=tmp_path, environment=environment)
    assert terminal.getvalue()


@pytest.mark.parametrize("terminal", [None, io.StringIO()])
def test_what_neither_takes_is_put_into_a_private_file(tmp_path: Path, terminal: io.StringIO | None) -> None:
    text = "x" * LONGEST_THROUGH_A_TERMINAL
    told = copy(text, terminal=terminal, folder=tmp_path / "data", environment={"PATH": ""})
    path = tmp_path / "data" / "copied.txt"
    assert str(path) in told
    assert path.read_text() == text
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert terminal is None or terminal.getvalue() == ""
