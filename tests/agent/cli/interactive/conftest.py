"""A session in process: real Alita, library, sandbox and store; the model plays a script, the reader a list."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agent.cli import confirmations
from agent.cli.interactive.commands import command_of
from agent.cli.interactive.terminal import Terminal
from agent.cli.screen import Screen
from agent.configuration.settings_sources import read_settings
from agent.store.sessions import StoredSession
from support.fibonacci import Line, write_script

Typed = str | type[BaseException] | Callable[[Any], str]
"""An entry, an exception that stands for a key, or what is decided when it is read."""


class ListReader:
    """Reads what a test says; at its end, Ctrl-D."""

    def __init__(self, typed: list[Typed]) -> None:
        self._typed = typed

    async def read(self, begun: str = "") -> str:
        entry = self._typed.pop(0) if self._typed else EOFError
        if isinstance(entry, str):
            return entry
        if isinstance(entry, type):
            raise entry
        return entry(self)

    async def choose(self, question: str, choices: Mapping[str, str], *, spoken: bool = False) -> str:
        try:
            return await self.read()
        except EOFError:
            return ""


class Sitting:
    """One session after the other, at the same desk."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._monkeypatch = monkeypatch
        self.asked: list[str] = []
        """The questions of `choose`."""
        self.terminal: Terminal
        self.model = ""

    def plays(self, *lines: Line) -> Sitting:
        self.model = write_script(self.folder / "script.jsonl", list(lines))
        return self

    async def types(self, *typed: Typed, session: StoredSession | None = None, **flags: Any) -> str:
        """What the screen shows after these entries."""
        given = {"model": self.model or "scripted:none", "tools_dir": self.folder / "tools", **flags}
        stream = io.StringIO()
        self.asked.clear()
        reader = ListReader(list(typed))

        async def choose(question: str, choices: Mapping[str, str], *, spoken: bool = False) -> str:
            self.asked.append(question)
            return await reader.choose(question, choices)

        self._monkeypatch.setattr(confirmations, "choose", choose)
        settings = read_settings(given)
        self.terminal = Terminal(
            given, Screen(stream, folds=True), lambda _: reader, command_of, settings=settings, session=session
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
    return Sitting(tmp_path, monkeypatch)
