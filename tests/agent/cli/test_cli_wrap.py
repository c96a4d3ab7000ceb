"""`alita tools wrap`: a tool around a package, or around the user's own code."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from mcp_tools.library.library import Library
from support.command import Ended, Terminal
from support.gauge import NAME, TASK, made_by, write_repository
from support.wheels import OFFLINE


class Desk:
    """A folder with a repository, and the command in it."""

    def __init__(self, terminal: Terminal, wheels: Path) -> None:
        self.terminal, self.repository = terminal, write_repository(terminal.here / "needles")
        self.variables = {"UV_FIND_LINKS": str(wheels), **OFFLINE, "ALITA_PACKAGES": "auto"}

    def run(self, *words: str, **variables: str) -> Ended:
        return self.terminal.run("tools", *words, **{**self.variables, **variables})

    def wrap(self, what: str | Path, *lines: Any, task: str = TASK, **variables: str) -> Ended:
        model = self.terminal.script(*(lines or made_by()))
        return self.run("wrap", str(what), "--task", task, "--model", model, **variables)

    @property
    def library(self) -> Library:
        return Library(self.terminal.here / "generated_tools", self.terminal.home / "data")

    @property
    def code(self) -> list[str]:
        return sorted(os.listdir(self.terminal.home / "data" / "environments" / "wrapped"))


@pytest.fixture
def desk(terminal: Terminal, tmp_path: Path) -> Desk:
    (tmp_path / "wheels").mkdir()
    return Desk(terminal, tmp_path / "wheels")


def test_a_repository_becomes_a_tool_that_runs_without_it(desk: Desk) -> None:
    made = desk.wrap("./needles")
    assert (made.code, made.out) == (0, "0.82\n"), made.err
    assert re.search(r"Wrapping needles: gauge 0\.3\.1 / [0-9a-f]{32}, 4 files\.", made.err)
    assert f"New: {NAME}." in made.err
    shutil.rmtree(desk.repository)
    shown = desk.run("show", NAME)
    assert re.search(r"wraps +gauge 0\.3\.1 / [0-9a-f]{32}\n", shown.out), shown.out
    assert re.search(r'# dependencies = \["gauge==0\.3\.1\+wrapped[0-9a-f]{32}"\]', shown.out)
    called = desk.run("run", NAME, '{"gauge": 25}')
    assert (called.code, called.out) == (0, "0.51\n"), called.err
    assert "wraps" in desk.run("review", NAME, "--json").json["reviews"][0]
