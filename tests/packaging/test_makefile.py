"""`make ask` passes the question on as it was typed, and allows the download where no terminal can be asked."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

MAKEFILE = Path(__file__).parents[2] / "Makefile"


def test_uv_trusts_the_certificates_of_the_system(tmp_path: Path) -> None:
    """A proxy that opens TLS has its authority there alone; older versions of uv read the second variable."""
    command = tmp_path / "bin" / "alita"
    command.parent.mkdir()
    command.write_text('#!/bin/sh\necho "$UV_SYSTEM_CERTS $UV_NATIVE_TLS"\n')
    command.chmod(0o755)
    for done in ("bin/uv", "uv", ".installed"):
        (tmp_path / done).touch()
    make = ["make", "-s", "-f", str(MAKEFILE), "ask", "Q=?", f"VENV={tmp_path}"]
    made = subprocess.run(make, cwd=MAKEFILE.parent, capture_output=True, text=True, check=True)
    assert made.stdout == "true true\n"


@pytest.mark.parametrize(
    "question",
    [
        "It's $100 or `date` or $(HOME) or $HOME; a\\b #1 %",
        "Wie heißt 42?",
    ],
)
def test_a_question_reaches_the_command_unchanged(tmp_path: Path, question: str) -> None:
    command = tmp_path / "bin" / "alita"
    command.parent.mkdir()
    command.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    command.chmod(0o755)
    for done in ("bin/uv", "uv", ".installed"):
        (tmp_path / done).touch()
    made = subprocess.run(
        ["make", "-s", "-f", str(MAKEFILE), "ask", f"Q={question}", f"VENV={tmp_path}"],
        cwd=MAKEFILE.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (made.stdout, made.stderr) == (f"--yes|{question}|", "")
