"""The command in a folder of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.command import Ended, Terminal


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    yield terminal
    for process in terminal.started:
        if process.poll() is None:
            process.kill()
            process.communicate()


@pytest.fixture
def alita(terminal: Terminal) -> Callable[..., Ended]:
    """Runs the command in an empty folder and an empty home."""
    return terminal.run


@pytest.fixture
def quick(terminal: Terminal) -> Callable[..., Ended]:
    """The same in this process, for verbs that start none."""
    return terminal.call
