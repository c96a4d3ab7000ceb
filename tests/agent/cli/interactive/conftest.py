"""A session in process: real Alita, library, sandbox and store; the model plays a script, the reader a list."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.cli.interactive.reader import Prompt
from agent.cli.interactive.terminal import Terminal
from agent.cli.screens.screen import Screen
from agent.configuration.settings_sources import read_settings
from agent.store.sessions import Session
from support.fibonacci import Line, write_script

Typed = str | type[BaseException] | Callable[[Any], str]
"""An entry, an exception that stands for a key, or what is decided when it is read."""


class ListReader:
    """Reads what a test says; at its end, Ctrl-D."""

    touched = False

    def __init__(self, prompt: Prompt, typed: list[Typed], asked: list[str]) -> None:
        self.prompt = prompt
        self.defaults: list[str] = []
        self._typed = typed
        self._asked = asked

    async def read(self, default: str = "") -> str:
        self.defaults.append(default)
        return self._next(EOFError)

    async def choose(self, question: str, choices: Mapping[str, str]) -> str:
        self._asked.append(question)
        return self._next(EOFError)

    def _next(self, end: type[BaseException]) -> str:
        entry = self._typed.pop(0) if self._typed else end
        if isinstance(entry, str):
            return entry
        if isinstance(entry, type):
            raise entry
        return entry(self)


class Sitting:
    """One session after the other, at the same desk."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[str] = []
        """The questions of `choose`."""
        self.terminal: Terminal
        self.model = ""

    def plays(self, *lines: Line) -> Sitting:
        self.model = write_script(self.folder / "script.jsonl", list(lines))
        return self

    async def types(self, *typed: Typed, session: Session | None = None, **flags: Any) -> str:
        """What the screen shows after these entries."""
        given = {"model": self.model or "scripted:none", "tools_dir": self.folder / "tools", **flags}
        stream = io.StringIO()
        self.asked.clear()
        self.terminal = Terminal(
            given,
            Screen(stream),
            lambda prompt: ListReader(prompt, list(typed), self.asked),
            settings=read_settings(given),
            session=session,
        )
        await self.terminal.run()
        return stream.getvalue()

    @property
    def turns(self) -> Sequence[Any]:
        return self.terminal.session.turns


@pytest.fixture
def sitting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sitting:
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.chdir(tmp_path)
    return Sitting(tmp_path)
