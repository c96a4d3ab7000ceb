"""The programs of the user's desktop: the editor, for what is too long to type on a line, and the clipboard."""

from __future__ import annotations

import base64
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from agent.errors import UsageError
from mcp_tools import child

_VARIABLES = (
    "TERM*", "COLOR*", "LC_*", "USER", "LOGNAME", "SHELL", "TMPDIR", "EDITOR", "VISUAL", "VIM*", "NVIM_*", "EMACS*",
    "ALTERNATE_EDITOR", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_*", "DBUS_SESSION_BUS_ADDRESS",
)  # fmt: skip
"""What an editor or a clipboard needs, on a terminal or a desktop."""
_REMEDY = "Set one: export EDITOR=nano"


def edit(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Opens the editor on a text and gives what was saved, without the last line end.

    Raises:
        UsageError: There is no editor, or it failed; the text is unchanged.
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
    named = environment.get("VISUAL") or environment.get("EDITOR") or ""
    try:
        usual = [name for name in ("sensible-editor", "nano", "vi") if shutil.which(name)]
        command = shlex.split(named) or usual[:1]
    except ValueError as error:
        raise UsageError(f"EDITOR is {named!r}, which is not a command: {error}.", remedy=_REMEDY) from None
    if not command:
        raise UsageError("No editor is set, and none was found.", remedy=_REMEDY)
    command.append(str(file))
    env = child.environment(*_VARIABLES, of=environment)
    try:
        process = child.popen(command, env=env, cwd=file.parent, stdin=None, stdout=None, stderr=None, on_terminal=True)
    except OSError as error:
        raise UsageError(f"The editor {command[0]} could not be started: {error.strerror}.", remedy=_REMEDY) from None
    if (code := process.wait()) != 0:
        raise UsageError(f"The editor {command[0]} ended with status {code}; the text is unchanged.")


LONGEST_THROUGH_A_TERMINAL = 74_000
"""Characters of base64; many terminals take no longer sequence."""


def copy(text: str, *, terminal: TextIO | None, environment: Mapping[str, str] | None = None) -> str:
    """Copies a text and says where it went, as a sentence.

    Args:
        text: What to copy; no sequence in it can reach the terminal.
        terminal: Where an escape sequence may be written; None when that is no terminal.
        environment: The process's own when not given.

    Raises:
        UsageError: No clipboard is reached.
    """
    environment = os.environ if environment is None else environment
    programs = {"wl-copy": "WAYLAND_DISPLAY", "xclip": "DISPLAY", "pbcopy": "PATH"}
    for program, needed in programs.items():
        if environment.get(needed) and shutil.which(program, path=environment.get("PATH")):
            command = [program, "-selection", "clipboard"] if program == "xclip" else [program]
            # No stream of it is ours but stdin: xclip stays behind to serve the text, and would hold a pipe open.
            variables = child.environment(*_VARIABLES, of=environment)
            process = child.popen(command, env=variables, stdin=child.PIPE)
            try:
                process.communicate(text.encode("utf-8", "replace"), 5.0)
            except subprocess.TimeoutExpired:
                process.kill()
            if process.wait() == 0:
                return f"Copied with {program}."
    packed = base64.b64encode(text.encode("utf-8", "replace")).decode()
    if terminal is None or len(packed) > LONGEST_THROUGH_A_TERMINAL:
        raise UsageError("No clipboard is available.", remedy="Write it to a file: /save FILE")
    terminal.write(f"\x1b]52;c;{packed}\x07")
    terminal.flush()
    return "Copied through the terminal. If pasting gives nothing, your terminal does not allow it: use /save FILE."
