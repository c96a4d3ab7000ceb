"""Copying: the desktop's program, else the terminal, else a file."""

import base64
import io
from pathlib import Path

import pytest

from agent.cli.interactive.desktop import LONGEST_THROUGH_A_TERMINAL, copy
from agent.errors import UsageError


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
    assert name in copy("é\n", terminal=None, environment=environment)
    assert (tmp_path / "got").read_text() == "é\n"
    assert "sk-secret" not in (tmp_path / "env").read_text()


def test_without_a_display_its_programs_are_not_tried(tmp_path: Path) -> None:
    environment = program(tmp_path, "xclip", "exit 0")
    with pytest.raises(UsageError, match="No clipboard"):
        copy("x", terminal=None, environment=environment)


def test_a_terminal_takes_it_in_a_sequence_that_no_text_can_leave() -> None:
    terminal = io.StringIO()
    told = copy("a\x07\x1b[2Jb", terminal=terminal, environment={"PATH": ""})
    packed = base64.b64encode(b"a\x07\x1b[2Jb").decode()
    assert terminal.getvalue() == f"\x1b]52;c;{packed}\x07"
    assert "/save" in told


def test_a_program_that_fails_makes_way_for_the_terminal(tmp_path: Path) -> None:
    environment = {**program(tmp_path, "wl-copy", "exit 1"), "WAYLAND_DISPLAY": "w"}
    terminal = io.StringIO()
    copy("x", terminal=terminal, environment=environment)
    assert terminal.getvalue()


@pytest.mark.parametrize("terminal", [None, io.StringIO()])
def test_what_no_clipboard_takes_is_told(terminal: io.StringIO | None) -> None:
    with pytest.raises(UsageError, match="No clipboard"):
        copy("x" * LONGEST_THROUGH_A_TERMINAL, terminal=terminal, environment={"PATH": ""})
    assert terminal is None or terminal.getvalue() == ""
