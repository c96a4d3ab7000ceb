"""Copying a text: with the desktop's own program, else through the terminal, else into a file."""

from __future__ import annotations

import base64
import contextlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from agent.store.user_files import write_file
from mcp_tools import child
from mcp_tools.atomic import private_folder

LONGEST_THROUGH_A_TERMINAL = 74_000
"""Characters of base64; many terminals take no longer sequence."""
_FILE = "copied.txt"
_PATIENCE = 5.0


def copy(text: str, *, terminal: TextIO | None, folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """Copies a text and says where it went, as a sentence.

    Args:
        text: What to copy; no sequence in it can reach the terminal.
        terminal: Where an escape sequence may be written; None when that is no terminal.
        folder: Where the file is put when nothing else works.
        environment: The process's own when not given.

    Raises:
        StorageError: Nothing else works, and the file cannot be written.
    """
    environment = os.environ if environment is None else environment
    for command in _programs(environment):
        if _runs(command, text, environment):
            return f"Copied with {command[0]}."
    packed = base64.b64encode(text.encode("utf-8", "replace")).decode()
    if terminal is not None and len(packed) <= LONGEST_THROUGH_A_TERMINAL:
        terminal.write(f"\x1b]52;c;{packed}\x07")
        terminal.flush()
        return "Copied through the terminal. If nothing arrives, it does not allow that: use /save FILE."
    return f"Written to {_written(text, folder)}, as no clipboard is reached from here."


def _programs(environment: Mapping[str, str]) -> list[list[str]]:
    """The programs that are there and can reach a clipboard."""
    wanted = []
    if environment.get("WAYLAND_DISPLAY"):
        wanted.append(["wl-copy"])
    if environment.get("DISPLAY"):
        wanted.append(["xclip", "-selection", "clipboard"])
    wanted.append(["pbcopy"])
    return [command for command in wanted if shutil.which(command[0], path=environment.get("PATH"))]


def _runs(command: list[str], text: str, environment: Mapping[str, str]) -> bool:
    desktop = child.environment("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", of=environment)
    try:
        # No stream of it is ours but stdin: xclip stays behind to serve the text, and would hold a pipe open.
        process = child.popen(command, env=desktop, stdin=child.PIPE)
    except OSError:
        return False
    try:
        process.communicate(text.encode("utf-8", "replace"), _PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
    return process.returncode == 0


def _written(text: str, folder: Path) -> Path:
    target = folder / _FILE
    with contextlib.suppress(OSError):
        private_folder(folder)
    write_file(target, text)
    return target
