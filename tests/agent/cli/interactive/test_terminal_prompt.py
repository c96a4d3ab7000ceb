"""The prompt: keys as they are typed, on prompt_toolkit's own pipe."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from agent.cli.interactive.completion import Suggestion, Suggestions
from agent.cli.interactive.pastes import Pastes
from agent.cli.interactive.prompt import History, PromptReader
from agent.store.redact import Redactor
from mcp_tools.errors import AlitaError


class Narrow(DummyOutput):
    def get_size(self) -> Size:
        return Size(rows=40, columns=60)


class Desk:
    """A prompt, its keyboard, and what it asked the session for."""

    def __init__(self, keyboard: PipeInput, folder: Path) -> None:
        self.keyboard = keyboard
        self.modes = ["ask", "auto", "never"]
        self.errors: list[AlitaError] = []
        self.history = History(folder / "data", Redactor())
        self.pastes = Pastes(lambda: folder / "pasted", Redactor())
        (folder / "two words.txt").write_text("")
        choices = Suggestions([Suggestion("/help", "tells"), Suggestion("/show", "a tool")], {}, {}, folder)
        self.screen = SimpleNamespace(error=self.errors.append)
        self.reader = PromptReader(self, choices, self.history, source=keyboard, output=Narrow())

    @property
    def mode(self) -> str:
        return self.modes[0]

    def status(self) -> str:
        return "status\x1b[2J"

    def next_mode(self) -> None:
        self.modes.append(self.modes.pop(0))

    async def typed(self, keys: str) -> str:
        self.keyboard.send_text(keys)
        return await asyncio.wait_for(self.reader.read(), 10)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with create_pipe_input() as keyboard:
        yield Desk(keyboard, tmp_path)


async def test_alt_enter_begins_a_new_line(desk: Desk) -> None:
    assert await desk.typed("one\x1b\rtwo\r") == "one\ntwo"


async def test_a_paste_keeps_its_lines_and_submits_nothing(desk: Desk) -> None:
    assert await desk.typed("\x1b[200~one\r\ntwo\nthree\x1b[201~!\r") == "one\ntwo\nthree!"


async def test_ctrl_c_clears_the_line_and_stays(desk: Desk) -> None:
    assert await desk.typed("wrong\x03right\r") == "right"


async def test_ctrl_d_leaves_from_an_empty_line_only(desk: Desk) -> None:
    assert await desk.typed("ab\x01\x04\r") == "b"
    with pytest.raises(EOFError):
        await desk.typed("\x04")


async def test_shift_tab_changes_the_approval_mode_in_the_prompt(desk: Desk) -> None:
    assert "".join(text for _, text in desk.reader._message()) == "alita (ask) › "
    assert await desk.typed("x\x1b[Z\r") == "x"
    assert "".join(text for _, text in desk.reader._message()) == "alita (auto) › "


async def test_what_was_entered_is_kept_and_comes_back_with_the_arrow(desk: Desk) -> None:
    await desk.typed("first\x1b\rline\r")
    assert list(desk.history.load_history_strings()) == ["first\nline"]
    assert await desk.typed("\x1b[A\r") == "first\nline"


async def test_tab_completes(desk: Desk) -> None:
    reading = asyncio.create_task(desk.reader.read())
    for keys, shown in [("read @two", "read @two"), ("\t", 'read @"two words.txt"')]:
        desk.keyboard.send_text(keys)
        async with asyncio.timeout(20):
            while desk.reader._session.default_buffer.text != shown:
                await asyncio.sleep(1 if keys == "\t" else 0.02)
                if keys == "\t" and desk.reader._session.default_buffer.text != shown:
                    desk.keyboard.send_text(keys)  # what was pressed while completions were sought only shows them
    desk.keyboard.send_text(" b\r")
    assert await asyncio.wait_for(reading, 10) == 'read @"two words.txt" b'


async def test_the_editor_changes_the_entry(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "editor"
    script.write_text(f'#!/bin/sh\nenv > {tmp_path}/env\nprintf "%s, edited\\n" "$(cat "$1")" > "$1"\n')
    script.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(script))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789")
    reading = asyncio.create_task(desk.reader.read())
    desk.keyboard.send_text("draft\x18\x05")
    await asyncio.sleep(0.7)
    desk.keyboard.send_text("!\r")
    assert await asyncio.wait_for(reading, 10) == "draft, edited!"
    assert "sk-0123456789" not in (tmp_path / "env").read_text()


async def test_an_editor_that_fails_leaves_the_entry(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "false")
    reading = asyncio.create_task(desk.reader.read())
    desk.keyboard.send_text("draft\x18\x05")
    await asyncio.sleep(0.7)
    desk.keyboard.send_text("\r")
    assert await asyncio.wait_for(reading, 10) == "draft"
    assert "status 1" in desk.errors[0].message
