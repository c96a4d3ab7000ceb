"""The command in its own process, forked from one that has imported everything, which takes 2 s."""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import multiprocessing
import os
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Sequence
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any

_FORKS = multiprocessing.get_context("forkserver")
_MODES = ("r", "w", "w")
_SHARED = [
    *(f"agent.cli.verbs.{verb}" for verb in ("ask", "config", "files", "gaia", "mcp", "runs", "tools.tools")),
    "agent.small.small", "agent.models.openai", "agent.web.engines.search_engines", "rich.live",
    "agent.alita", "agent.graph", "agent.standard.standard", "agent.calls.web_access",
    "anyio._backends._asyncio", "h11", "httpcore2", "mcp_tools.sandbox.warm", "openai",
]  # fmt: skip
"""Modules to import before the fork. Only installed ones: the process does not have the tests on its path."""


def _become(
    arguments: list[str], streams: list[Any], here: str, variables: dict[str, str], at_terminal: bool, first: str = ""
) -> None:
    """Turn this process into the command."""
    for number, stream in enumerate(streams):
        os.dup2(stream.detach(), number)
    if at_terminal:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    opened = [open(number, mode, encoding="utf-8") for number, mode in enumerate(_MODES)]  # noqa: PTH123, SIM115
    sys.stdin, sys.stdout, sys.stderr = opened
    sys.stderr.reconfigure(line_buffering=True, errors="backslashreplace")
    os.environ.clear()
    os.environ.update(variables)
    os.chdir(here)
    sys.argv = ["alita", *arguments]
    code: object = 0
    try:
        exec(first, {})
        from agent.cli.main import main

        main()
    except SystemExit as end:
        code = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


def start_process(
    arguments: Sequence[str],
    descriptors: Sequence[int],
    here: Path,
    variables: dict[str, str],
    *,
    at_terminal: bool = False,
    first: str = "",
) -> Any:
    """Start the command.

    Args:
        arguments: Arguments of the command.
        descriptors: Its stdin, stdout and stderr.
        here: Working folder.
        variables: Its environment.
        at_terminal: Make stdin its controlling terminal.
        first: Python code to run before the command.
    """
    _FORKS.set_forkserver_preload(_SHARED)
    streams = [DupFd(number) for number in descriptors]
    process = _FORKS.Process(target=_become, args=(list(arguments), streams, str(here), variables, at_terminal, first))
    process.start()
    return process


class ForkedCommand:
    """Like a `subprocess.Popen` of the command with text pipes.

    Args:
        arguments: Arguments of the command.
        stdin: True for a pipe; else stdin is empty.
        here: Working folder.
        variables: Its environment.
        first: Python code to run before the command.
    """

    def __init__(
        self, arguments: Sequence[str], *, stdin: bool, here: Path, variables: dict[str, str], first: str = ""
    ) -> None:
        given, to_write = os.pipe() if stdin else (os.open(os.devnull, os.O_RDONLY), -1)
        out, out_end = os.pipe()
        err, err_end = os.pipe()
        self.args = ["alita", *arguments]
        self._process = start_process(arguments, (given, out_end, err_end), here, variables, first=first)
        for number in (given, out_end, err_end):
            os.close(number)
        self.stdin = open(to_write, "w", encoding="utf-8") if stdin else None  # noqa: PTH123, SIM115
        self.stdout, self.stderr = open(out, encoding="utf-8"), open(err, encoding="utf-8")  # noqa: PTH123, SIM115

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        if self._process.exitcode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def communicate(self, given: str | None = None, timeout: float | None = None) -> tuple[str, str]:
        texts = ["", ""]

        def read(index: int, stream: Any) -> None:
            with stream:
                texts[index] = stream.read()

        def write() -> None:
            with contextlib.suppress(BrokenPipeError), self.stdin:
                self.stdin.write(given or "")

        work = [threading.Thread(target=read, args=each, daemon=True) for each in enumerate((self.stdout, self.stderr))]
        work += [threading.Thread(target=write, daemon=True)] if self.stdin else []
        for each in work:
            each.start()
        self.wait(timeout)
        for each in work:
            each.join(timeout)
        return texts[0], texts[1]
