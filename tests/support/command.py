"""The real `alita` process, with its own working folder and home."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from support.fibonacci import write_script
from support.forked_command import ForkedCommand, start_process

ALITA = [sys.executable, "-c", "from agent.cli.main import main; main()"]
_USUAL = ALITA


def clean(home: Path, **variables: str) -> dict[str, str]:
    """Return an environment without the developer's variables."""
    kept = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    return {**kept, "ALITA_HOME": str(home), "LANG": "C.UTF-8", **variables}


class Terminal:
    """A home and a working folder for the command. The folder is empty unless one is given."""

    def __init__(self, folder: Path, here: Path | None = None) -> None:
        self.here, self.home = here or folder / "here", folder / "home"
        self.started: list[Any] = []
        if here is None:
            (self.here / "generated_tools").mkdir(parents=True)

    def start(
        self,
        *arguments: str,
        stdin: str | None = None,
        before: object = None,
        leading: Sequence[str] = (),
        **variables: str,
    ):
        if (
            before is None
            and not leading
            and ALITA is _USUAL
            and not {"PYTHONPATH", "gaia"} & {*variables, *arguments[:1]}
        ):
            forked = ForkedCommand(
                arguments, stdin=stdin is not None, here=self.here, variables=clean(self.home, **variables)
            )
            self.started.append(forked)
            return forked
        process = subprocess.Popen(
            [*leading, *ALITA, *arguments],
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.here,
            env=clean(self.home, **variables),
            preexec_fn=before,
        )
        self.started.append(process)
        return process

    def run(self, *arguments: str, stdin: str | None = None, **more: object) -> Ended:
        return ended(self.start(*arguments, stdin=stdin, **more), stdin)

    def call(self, *arguments: str, stdin: str = "", **variables: str) -> Ended:
        """Run the command in this process, which is ten times as fast. Only for commands that start no processes."""
        from agent.cli import exits, main

        out, err, before = io.StringIO(), io.StringIO(), Path.cwd()
        os.chdir(self.here)
        try:
            with (
                contextlib.redirect_stdout(out),
                contextlib.redirect_stderr(err),
                mock.patch.object(sys, "stdin", io.StringIO(stdin)),
                mock.patch.object(sys, "argv", ["alita", *arguments]),
                mock.patch.dict(os.environ, clean(self.home, **variables), clear=True),
                mock.patch.object(exits, "leave", sys.exit),  # other tests' threads are not part of the command
                mock.patch.object(exits.Watch, "_look"),  # it would end the tests
                pytest.raises(SystemExit) as end,
            ):
                main.main()
        finally:
            os.chdir(before)
        return Ended(end.value.code or 0, out.getvalue(), err.getvalue())

    def script(self, *lines: dict) -> str:
        return write_script(self.here / "script.jsonl", list(lines))

    @property
    def runs(self) -> list[Path]:
        return sorted((self.home / "data" / "runs").glob("*"))


class Ended:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err
        assert "Traceback" not in err, err

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def ended(process: Any, stdin: str | None = None, *, timeout: float = 55) -> Ended:
    out, err = process.communicate(stdin, timeout=timeout)
    return Ended(process.returncode, out, err)


class Tty:
    """`alita` in its own terminal, which is stdin and stderr. stdout is a file or the terminal."""

    def __init__(
        self,
        here: Path,
        home: Path,
        *arguments: str,
        out: Path | None = None,
        first: str = "",
        **variables: str,
    ) -> None:
        self.out, self.seen = out, ""
        self.terminal, theirs = pty.openpty()
        stdout = theirs if out is None else os.open(out, os.O_WRONLY | os.O_CREAT)
        variables = clean(home, TERM="xterm", **variables)
        streams = (theirs, stdout, theirs)
        self.process = start_process(arguments, streams, here, variables, at_terminal=True, first=first)
        for descriptor in {theirs, stdout}:
            os.close(descriptor)

    def wait_for(self, text: str, seconds: float = 40.0) -> None:
        end = time.monotonic() + seconds
        while text not in self.seen:
            assert time.monotonic() < end, f"{text!r} did not come; seen: {self.seen}"
            if select.select([self.terminal], [], [], 0.2)[0]:
                try:
                    self.seen += os.read(self.terminal, 65536).decode(errors="replace")
                except OSError:
                    raise AssertionError(f"ended before {text!r} came; seen: {self.seen}") from None

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def ended(self) -> tuple[int, str]:
        """Return the exit code and stdout."""
        with contextlib.suppress(OSError):
            while data := os.read(self.terminal, 65536):
                self.seen += data.decode(errors="replace")
        self.process.join(40)
        os.close(self.terminal)
        return self.process.exitcode, self.out.read_text() if self.out else ""

    def kill(self) -> None:
        self.process.kill()
        self.process.join()
