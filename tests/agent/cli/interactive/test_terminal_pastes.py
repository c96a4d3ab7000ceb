"""Long pastes: folded in the prompt, opened with a key, sent in full; very long ones become files of the session."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from agent.cli.interactive.completion import Suggestions, mentioned
from agent.cli.interactive.keyboard import Keyboard
from agent.cli.interactive.pastes import Pastes
from agent.cli.interactive.prompt import History, PromptReader
from agent.configuration.settings import Settings
from agent.store.redact import Redactor
from agent.store.sessions import delete_session, files_of

SIXTY = "\n".join(f"line {number}" for number in range(60))
FOLDED = "[pasted 60 lines]"


def bracketed(text: str) -> str:
    return f"\x1b[200~{text}\x1b[201~"


class Desk:
    """A prompt and its keyboard."""

    def __init__(self, keyboard: PipeInput, folder: Path) -> None:
        self.keyboard, self.mode = keyboard, "ask"
        self.pastes = Pastes(lambda: folder / "sessions" / "k3f9", Redactor(("sk-0123456789",)))
        self.history = History(folder / "data", Redactor())
        self.screen = SimpleNamespace(error=pytest.fail)
        self.reader: Any = PromptReader(
            self, Suggestions([], {}, {}, folder), self.history, source=keyboard, output=DummyOutput()
        )

    def status(self) -> str:
        return ""

    async def typed(self, keys: str, *, shows: str = "") -> str:
        reading = asyncio.create_task(self.reader.read())
        await asyncio.sleep(0)
        await asyncio.to_thread(self.keyboard.send_text, keys)  # a pipe takes little at once
        if shows:
            for _ in range(200):
                if self.reader._session.default_buffer.text == shows:
                    break
                await asyncio.sleep(0.02)
            assert self.reader._session.default_buffer.text == shows
        self.keyboard.send_text("\r")
        return str(await asyncio.wait_for(reading, 10))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with create_pipe_input() as keyboard:
        yield Desk(keyboard, tmp_path)


@pytest.mark.parametrize(
    ("keys", "shows", "sent"),
    [
        pytest.param(bracketed("one\r\ntwo"), "one\ntwo", "one\ntwo", id="short"),
        pytest.param("Sum: " + bracketed(SIXTY) + " end", f"Sum: {FOLDED} end", f"Sum: {SIXTY} end", id="lines"),
        pytest.param(bracketed("x" * 1200), "[pasted 1,200 characters]", "x" * 1200, id="one long line"),
        pytest.param(
            bracketed(SIXTY) + bracketed(SIXTY.upper()),
            f"{FOLDED}[pasted 60 lines #2]",
            SIXTY + SIXTY.upper(),
            id="two of a size",
        ),
        pytest.param(bracketed(SIXTY) + "\x0f", SIXTY, SIXTY, id="opened"),
        pytest.param("[pasted 9 lines]", "[pasted 9 lines]", "[pasted 9 lines]", id="typed, not pasted"),
    ],
)
async def test_a_long_paste_is_folded_and_sent_in_full(desk: Desk, keys: str, shows: str, sent: str) -> None:
    assert await desk.typed(keys, shows=shows) == sent
    assert next(iter(desk.history.load_history_strings())) == sent


async def test_the_editor_gets_the_whole_paste(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = tmp_path / "editor"
    editor.write_text(f'#!/bin/sh\ncp "$1" {tmp_path}/seen\n')
    editor.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(editor))
    assert await desk.typed(bracketed(SIXTY) + "\x18\x05", shows=SIXTY) == SIXTY
    assert (tmp_path / "seen").read_text() == SIXTY


async def test_a_very_long_paste_becomes_a_file_of_the_session_and_goes_with_it(desk: Desk, tmp_path: Path) -> None:
    text = "a line with a key sk-0123456789\n" * 160_000
    sent = await desk.typed("Sum " + bracketed(text), shows="Sum [pasted_1.txt, 4.6 MB]")
    question, files, _ = mentioned(sent, tmp_path)
    assert question == "Sum pasted_1.txt"
    assert files == (tmp_path / "sessions" / "k3f9" / "pasted_1.txt",)
    kept = files[0].read_text()
    assert kept.count("a line with a key") == 160_000
    assert "sk-0123456789" not in kept
    assert files[0].stat().st_mode & 0o077 == 0
    (tmp_path / "sessions" / "k3f9.json").write_text("{}")
    delete_session(Settings(data_dir=tmp_path), "k3f9")
    assert not files_of(tmp_path / "sessions", "k3f9").exists()


@pytest.mark.parametrize("size", [1, 7, 100_000], ids=["bytes", "pieces", "at once"])
async def test_a_paste_during_a_run_is_folded_and_submits_nothing(desk: Desk, size: int) -> None:
    sent: list[str] = []
    keyboard = Keyboard(lambda: pytest.fail("stopped"), sent.append, desk.pastes.fold)
    keys = "See " + bracketed(SIXTY.replace("\n", "\r")) + "."
    for start in range(0, len(keys), size):
        if keyboard._timer is not None:
            keyboard._timer.cancel()
        keyboard.take(keys[start : start + size])
    assert (sent, keyboard.typed) == ([], f"See {FOLDED}.")
    keyboard.take("\r")
    assert sent == [f"See {FOLDED}."]
    assert desk.pastes.fold_again(desk.pastes.expand(sent[0])) == sent[0]


def test_a_paste_of_megabytes_during_a_run_is_taken_at_once(desk: Desk) -> None:
    keyboard = Keyboard(lambda: pytest.fail("stopped"), pytest.fail, desk.pastes.fold)
    keys = bracketed("word " * 1_000_000)
    for start in range(0, len(keys), 4096):
        keyboard.take(keys[start : start + 4096])
    assert keyboard.typed == "[pasted_1.txt, 5.0 MB]"
    assert desk.pastes.has_file(keyboard.typed)
