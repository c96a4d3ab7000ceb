"""A real terminal, controlled through tmux."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path
from typing import Self

import pytest

PATIENCE = 40.0


class Terminal:
    """The only window of a tmux server.

    Args:
        folder: Working folder of the command; it also has the server's socket.
        command: The program and its arguments.
        environment: The program's complete environment.
        columns: Width.
        rows: Height.
    """

    def __init__(
        self, folder: Path, command: list[str], environment: dict[str, str], *, columns: int = 80, rows: int = 40
    ) -> None:
        if shutil.which("tmux") is None:
            pytest.skip("no tmux: apt-get install tmux")
        self._socket = str(folder / f"tmux-{time.monotonic_ns()}")
        clean = {"PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8", "SHELL": "/bin/sh"}
        variables = [f"{name}={value}" for name, value in environment.items()]
        # The window outlives the program, so that its last output can be read.
        program = shlex.join(["env", "-i", *variables, *command])
        line = f"trap : INT; {program}; printf '\\n[ended %s]\\n' $?; exec sleep 60"
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", str(folder),
                   "/bin/sh", "-c", line, env=clean)  # fmt: skip
        self._tmux("set-option", "-g", "history-limit", "5000")
        self._tmux("set-option", "-s", "set-clipboard", "on")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the program and its terminal."""
        self._tmux("kill-server", check=False)

    def type(self, text: str) -> None:
        """Type a text literally."""
        self._tmux("send-keys", "-l", "--", text)

    def press(self, *keys: str) -> None:
        """Press keys by their tmux names: `Enter`, `C-c`, `M-Enter`, `BTab`."""
        self._tmux("send-keys", *keys)

    def enter(self, text: str) -> None:
        """Type a line and press Enter."""
        self.type(text)
        self.press("Enter")

    def paste(self, text: str) -> None:
        """Paste a text; as a bracketed paste if the program asked for that."""
        self._tmux("set-buffer", "--", text)
        self._tmux("paste-buffer", "-p")

    def resize(self, columns: int, rows: int = 40) -> None:
        self._tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def screen(self, *, everything: bool = True, colour: bool = False) -> str:
        """Return the text of the screen; `everything` adds scrolled lines, `colour` adds escape sequences."""
        options = [*(["-S", "-"] if everything else []), *(["-e"] if colour else [])]
        return self._tmux("capture-pane", "-p", *options)

    def wait_for(self, text: str, *, count: int = 1, patience: float = PATIENCE) -> str:
        """Wait until a text is on the screen `count` times, and return the screen."""
        deadline = time.monotonic() + patience
        while True:
            screen = self.screen()
            if screen.count(text) >= count:
                return screen
            assert time.monotonic() < deadline, f"{text!r} did not appear {count} times:\n{screen}"
            time.sleep(0.05)

    def ended(self) -> int:
        """Wait for the program to end, and return its exit code."""
        screen = self.wait_for("[ended ")
        return int(screen.rpartition("[ended ")[2].partition("]")[0])

    def _tmux(self, *arguments: str, check: bool = True, env: dict[str, str] | None = None) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, *arguments], capture_output=True, text=True, check=False, env=env
        )
        assert not check or done.returncode == 0, f"tmux {arguments[0]}: {done.stderr}"
        return done.stdout
