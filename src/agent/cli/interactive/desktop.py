"""The user's own editor, for what is too long to type on a line."""

from __future__ import annotations

import base64
import contextlib
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from agent.errors import UsageError
from agent.store.user_files import write_file
from mcp_tools import child
from mcp_tools.atomic import private_folder

FALLBACKS = ("sensible-editor", "nano", "vi")
_VARIABLES = (
    "TERM*", "COLOR*", "LC_*", "USER", "LOGNAME", "SHELL", "TMPDIR", "EDITOR", "VISUAL", "VIM*", "NVIM_*", "EMACS*",
    "ALTERNATE_EDITOR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_*", "DBUS_SESSION_BUS_ADDRESS",
)  # fmt: skip
"""What an editor needs, on a terminal or a desktop."""


def edit(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Opens the editor on a text and gives what was saved, without the last line end.

    Raises:
        UsageError: There is no editor, or it failed; the text is as it was.
    """
    with tempfile.TemporaryDirectory(prefix="alita-") as folder:
        file = Path(folder) / "question.md"
        file.write_text(text, encoding="utf-8", errors="replace")
        edit_file(file, environment)
        return file.read_text(encoding="utf-8", errors="replace").removesuffix("\n")


def edit_file(file: Path, environment: Mapping[str, str] | None = None) -> None:
    """Opens the editor on a file, and waits until it is left.

    Raises:
        UsageError: There is no editor, or it failed.
    """
    environment = os.environ if environment is None else environment
    command = _command(environment)
    try:
        code = child.popen(
            [*command, str(file)],
            env=child.environment(*_VARIABLES, of=environment),
            cwd=str(file.parent),
            stdin=None,
            stdout=None,
            stderr=None,
            on_terminal=True,
        ).wait()
    except OSError as error:
        raise UsageError(f"The editor {command[0]} does not start: {error.strerror}.", remedy=_REMEDY) from None
    if code != 0:
        raise UsageError(f"The editor {command[0]} ended with status {code}; the text is as it was.")


_REMEDY = "Name one: export EDITOR=nano"


def _command(environment: Mapping[str, str]) -> list[str]:
    named = environment.get("VISUAL") or environment.get("EDITOR") or ""
    try:
        command = shlex.split(named)
    except ValueError as error:
        raise UsageError(f"EDITOR is {named!r}, which is no command: {error}.", remedy=_REMEDY) from None
    if not command:
        command = [name for name in FALLBACKS if shutil.which(name)][:1]
    if not command:
        raise UsageError("No editor is named, and none was found.", remedy=_REMEDY)
    return command


LONGEST_THROUGH_A_TERMINAL = 74_000
"""Characters of base64; many terminals take no longer sequence."""
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
    programs = [["pbcopy"]]
    if environment.get("DISPLAY"):
        programs.insert(0, ["xclip", "-selection", "clipboard"])
    if environment.get("WAYLAND_DISPLAY"):
        programs.insert(0, ["wl-copy"])
    for command in programs:
        if shutil.which(command[0], path=environment.get("PATH")) and _runs(command, text, environment):
            return f"Copied with {command[0]}."
    packed = base64.b64encode(text.encode("utf-8", "replace")).decode()
    if terminal is not None and len(packed) <= LONGEST_THROUGH_A_TERMINAL:
        terminal.write(f"\x1b]52;c;{packed}\x07")
        terminal.flush()
        return "Copied through the terminal. If nothing arrives, it does not allow that: use /save FILE."
    with contextlib.suppress(OSError):
        private_folder(folder)
    write_file(folder / "copied.txt", text)
    return f"Written to {folder / 'copied.txt'}, as no clipboard is reached from here."


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
