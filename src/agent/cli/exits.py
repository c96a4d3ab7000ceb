"""Exit codes, and exiting even if a library hangs.

A library may hang in a thread or block the event loop. Therefore, threads get a limited time to finish, and a watchdog
thread kills the process when its time is up.
"""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

EXIT_CODES: tuple[tuple[int, str, str], ...] = (
    (0, "answered", "answered"),
    (1, "failed", "failed"),
    (2, "", "bad usage or configuration"),
    (3, "no_answer", "finished without an answer"),
    (4, "declined", "declined"),
    (124, "limit", "a limit was reached; the best answer so far is printed"),
    (130, "interrupted", "interrupted"),
)
"""The exit codes, each with its answer status and help text."""

BAD_USAGE = 2
INTERRUPTED = 130


def exit_code(status: str) -> int:
    """Return the exit code for an answer's status."""
    return next(code for code, stands_for, _ in EXIT_CODES if status == stands_for)


_THREADS_SECONDS = 2.0
_BEFORE = {thread.ident for module in [sys.modules.get("threading")] if module for thread in module.enumerate()}
"""Ids of the threads that a host program started before this module was imported."""
_WITHOUT_PYTHON = 10.0
"""Additional seconds after which faulthandler kills the process if a library blocks the Python interpreter."""


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine like `asyncio.run`, but without waiting for hanging threads."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    class Threads(ThreadPoolExecutor):
        """An executor whose shutdown does not wait for threads. `leave` waits for a limited time."""

        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            super().shutdown(wait=False, cancel_futures=True)

    with asyncio.Runner() as runner:
        runner.get_loop().set_default_executor(Threads())
        return runner.run(work)


def leave(code: object) -> NoReturn:
    """Exit the process. Threads get a moment to finish; if one hangs, the process is killed."""
    if (module := sys.modules.get("threading")) is not None:  # if not imported, there are no other threads
        until = time.monotonic() + _THREADS_SECONDS
        for thread in module.enumerate():
            if thread is not module.current_thread() and not thread.daemon and thread.ident not in _BEFORE:
                thread.join(max(0.0, until - time.monotonic()))
                if thread.is_alive():
                    end_now(code)
    sys.exit(code if isinstance(code, int | None) else 1)


def end_now(code: object) -> NoReturn:
    """Kill the process and its children immediately. Journals and ledgers are already on disk."""
    import os

    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    with contextlib.suppress(Exception):
        from mcp_tools.child import kill_descendants

        server = sys.modules.get("agent.models.embedded.local_server")  # this server is shared with other processes
        kill_descendants(os.getpid(), spared={process.pid for process in server.started()} if server else ())
    os._exit(code if isinstance(code, int) else int(code is not None))


class Watch:
    """A watchdog that kills the process when `seconds_left` reaches 0. `last_words` returns the exit code.

    Nothing happens while `seconds_left` returns None.
    """

    def __init__(self, seconds_left: Callable[[], float | None], last_words: Callable[[], int]) -> None:
        import threading

        self._seconds_left = seconds_left
        self._last_words = last_words
        self._over = threading.Event()
        self._terminal: list[Any] | None = None
        with contextlib.suppress(Exception):  # stdin is not a terminal
            import termios

            self._terminal = termios.tcgetattr(sys.stdin.fileno())

    def __enter__(self) -> Watch:
        import threading

        threading.Thread(target=self._look, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        import faulthandler

        self._over.set()
        faulthandler.cancel_dump_traceback_later()

    def _look(self) -> None:
        import faulthandler

        while not self._over.wait(0.25):
            left = self._seconds_left()
            if left is None:
                faulthandler.cancel_dump_traceback_later()
                continue
            faulthandler.dump_traceback_later(max(left, 0.0) + _WITHOUT_PYTHON, exit=True)
            if left <= 0:
                try:
                    code = self._last_words()
                finally:
                    self._restore_terminal()
                end_now(code)

    def _restore_terminal(self) -> None:
        """Undo terminal changes made by prompts and live displays."""
        with contextlib.suppress(Exception):
            import termios

            if self._terminal is not None:
                termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, self._terminal)
                if sys.stderr.isatty():
                    print("\x1b[?25h", end="", file=sys.stderr, flush=True)  # shows the cursor, which may be hidden


_CLOSING = 10.0


def run_until_signal(work: Coroutine[Any, Any, None]) -> None:
    """Run a server until it finishes or a signal arrives. If it does not close in time, the process is killed."""
    import asyncio
    import signal

    ending: list[float] = []

    async def watched() -> None:
        task = asyncio.create_task(work)

        def end() -> None:
            ending.append(time.monotonic() + _CLOSING)
            task.cancel()

        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, end)
        with contextlib.suppress(asyncio.CancelledError):
            await task

    watch = Watch(lambda: ending[0] - time.monotonic() if ending else None, lambda: 0)
    with contextlib.suppress(KeyboardInterrupt), watch:
        run(watched())
