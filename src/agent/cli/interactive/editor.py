"""The user's own editor, for what is too long to type on a line."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from agent.errors import UsageError
from mcp_tools import child

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
