"""What Ctrl-C does while nobody reads the keyboard."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator

_acts: list[Callable[[], object]] = []


@contextlib.contextmanager
def on_interrupt(act: Callable[[], object]) -> Iterator[None]:
    """Meanwhile, Ctrl-C does this and nothing else."""
    _acts.append(act)
    listen()
    try:
        yield
    finally:
        _acts.pop()
        listen()


def listen() -> None:
    """Takes Ctrl-C back from a prompt, which had it to itself."""
    loop = asyncio.get_running_loop()
    if _acts:
        loop.add_signal_handler(signal.SIGINT, _acts[-1])
    else:
        loop.remove_signal_handler(signal.SIGINT)
