"""Where what is typed comes from: the prompt of a full terminal, plain lines elsewhere, and what was typed before."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, completion_is_selected
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.styles import Style

from agent.errors import AlitaError
from agent.store.redact import Redactor
from mcp_tools.atomic import private_folder
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding import KeyPressEvent as Press
    from prompt_toolkit.output import Output

    from agent.cli.interactive.completion import Suggestions
    from agent.cli.interactive.terminal import Terminal


class Interrupted(Exception):
    """Ctrl-C at a prompt. A KeyboardInterrupt would end the event loop when it leaves a task."""


class History(FileHistory):
    """What was typed, without keys, in a file that only its owner can read."""

    def __init__(self, folder: Path, redactor: Redactor) -> None:
        super().__init__(folder / "history")
        self._path = folder / "history"
        self._redactor = redactor

    def load_history_strings(self) -> Iterable[str]:
        """The newest first; none when there is no file."""
        try:
            return super().load_history_strings()
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        """Appends an entry. One that begins with a blank is not kept, nor is one without content."""
        if not string.strip() or string.startswith((" ", "\t")):
            return
        with contextlib.suppress(OSError):  # then it is not remembered in the next session
            private_folder(self._path.parent)
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._path.chmod(0o600)
            super().store_string(self._redactor.text(string.replace("\r", "\n")))


class LineReader:
    """Reads lines as the terminal gives them; read aloud, readline edits them. Prompts go to the stream."""

    def __init__(self, terminal: Terminal, history: History, stream: TextIO) -> None:
        self._terminal = terminal
        self._history = history
        self._stream = stream
        self._edits = terminal.screen.spoken and sys.stdout.isatty()
        if self._edits:
            with contextlib.suppress(ImportError):
                import readline  # which `input` uses from now on

                for entry in reversed(list(history.load_history_strings())):
                    readline.add_history(entry.replace("\n", " "))

    async def read(self, begun: str = "") -> str:
        """One entry; see `PromptReader.read`."""
        text = begun + self._line(f"alita ({self._terminal.mode})> ")
        if text.strip():
            self._history.append_string(text)
        return text

    def _line(self, prompt: str) -> str:
        # Ctrl-C is an exception at once; the event loop would only see it after the line.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            if self._edits:
                return input(prompt)
            print(prompt, end="", file=self._stream, flush=True)
            if not (line := sys.stdin.readline()):
                raise EOFError
            return line.rstrip("\n")
        except (EOFError, KeyboardInterrupt) as end:
            self._stream.write("\n")
            raise (Interrupted if isinstance(end, KeyboardInterrupt) else EOFError) from None
        finally:
            signal.signal(signal.SIGINT, before)


STYLE = Style.from_dict(
    {
        "mode.ask": "ansigreen",
        "mode.auto": "ansiyellow bold",
        "mode.never": "ansicyan",
        "bottom-toolbar": "noreverse ansibrightblack",
    }
)


class PromptReader:
    """The prompt of a full terminal: editing, history, completion, several lines."""

    def __init__(
        self,
        terminal: Terminal,
        choices: Suggestions,
        history: History,
        *,
        source: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self._terminal = terminal
        self._session: PromptSession[str] = PromptSession(
            self._message,
            multiline=True,
            prompt_continuation=lambda width, *_: "·".rjust(max(width - 1, 0)) + " ",
            history=history,
            completer=choices,
            complete_in_thread=True,
            complete_while_typing=True,
            bottom_toolbar=lambda: one_line(terminal.status(), max(self._session.output.get_size().columns - 1, 10)),
            key_bindings=self._bindings(),
            reserve_space_for_menu=6,
            enable_suspend=True,
            style=STYLE,
            interrupt_exception=Interrupted,
            input=source,
            output=output,
        )

    async def read(self, begun: str = "") -> str:
        """Read one entry, which may have several lines; `begun` is its beginning.

        Raises:
            EOFError: Ctrl-D.
            Interrupted: Ctrl-C on an empty line.
        """
        text: str = await self._session.prompt_async(default=begun)
        return text

    def _message(self) -> StyleAndTextTuples:
        mode = self._terminal.mode
        return [("bold", "alita"), ("", " ("), (f"class:mode.{mode}", mode), ("", ") "), ("bold", "› ")]

    def _bindings(self) -> KeyBindings:
        keys = KeyBindings()

        @keys.add("enter")
        def accept(event: Press) -> None:
            if event.current_buffer.text.strip():
                event.current_buffer.validate_and_handle()

        @keys.add("escape", "enter")
        def new_line(event: Press) -> None:
            event.current_buffer.insert_text("\n")

        @keys.add("s-tab", filter=~completion_is_selected)
        def next_mode(event: Press) -> None:
            self._terminal.next_mode()

        @keys.add("c-c", filter=Condition(lambda: bool(self._session.default_buffer.text)))
        def clear(event: Press) -> None:
            event.current_buffer.reset()

        @keys.add("c-x", "c-e")
        async def in_editor(event: Press) -> None:
            buffer = event.current_buffer
            try:
                text = await run_in_terminal(lambda: _edited(buffer.text), in_executor=True)
            except AlitaError as error:
                await run_in_terminal(partial(self._terminal.screen.error, error))
            else:
                buffer.document = Document(text, len(text))

        return keys


def _edited(text: str) -> str:
    """The text as the user's editor saved it; prompt_toolkit's own way would give the editor our keys."""
    from agent.cli.verbs.config import open_editor

    with tempfile.TemporaryDirectory(prefix="alita-") as folder:
        file = Path(folder) / "question.md"
        file.write_text(text, encoding="utf-8", errors="replace")
        open_editor(file)
        return file.read_text(encoding="utf-8", errors="replace").removesuffix("\n")


Reader = PromptReader | LineReader
