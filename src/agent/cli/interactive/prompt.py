"""The prompt of a session, with full editing if the terminal allows it and plain lines otherwise, and its history."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import run_in_terminal
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition, completion_is_selected
from prompt_toolkit.history import FileHistory
from prompt_toolkit.input import create_input
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys
from prompt_toolkit.styles import Style

from agent.cli.interactive.keyboard import PASTED
from agent.errors import AlitaError
from agent.store.redact import Redactor
from mcp_tools.atomic import private_folder
from mcp_tools.errors import UsageError, os_errors_as
from mcp_tools.small_files import SETTINGS, read_small
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding import KeyPressEvent as Press
    from prompt_toolkit.output import Output

    from agent.cli.interactive.pastes import Pastes
    from agent.cli.screen import Screen
    from agent.consent.questions import ApprovalMode


LONGEST_ENTRY = 20_000
"""For an entry longer than this many characters, the history stores the labels of pastes instead of their text."""


class Prompted(Protocol):
    """The part of a session that the prompt needs."""

    screen: Screen
    mode: ApprovalMode
    pastes: Pastes

    def status(self) -> str:
        """Return the status line below the prompt."""

    def next_mode(self) -> None:
        """Switch to the next approval mode for new tools."""


class Interrupted(Exception):
    """Raised for Ctrl-C at the prompt. A KeyboardInterrupt that escapes from a task would stop the event loop."""


class History(FileHistory):
    """Earlier entries, stored with keys removed in a file that only its owner can read."""

    def __init__(self, folder: Path, redactor: Redactor) -> None:
        super().__init__(folder / "history")
        self._path = folder / "history"
        self._redactor = redactor
        self.expand: Callable[[str], str] = str
        """A function that replaces the labels in an entry with the pasted texts."""

    def append_string(self, string: str) -> None:
        """Append an entry with its pasted texts."""
        whole = self.expand(string)
        super().append_string(whole if len(whole) <= LONGEST_ENTRY else string)

    def load_history_strings(self) -> Iterable[str]:
        """Return earlier entries, newest first."""
        try:
            return super().load_history_strings()
        except OSError:
            return []

    def store_string(self, string: str) -> None:
        """Store an entry unless it is empty or begins with a space."""
        if not string.strip() or string.startswith((" ", "\t")):
            return
        with contextlib.suppress(OSError):  # the entry will be missing from the history of the next session
            private_folder(self._path.parent)
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._path.chmod(0o600)
            super().store_string(self._redactor.text(string.replace("\r", "\n")))


class LineReader:
    """Reads plain lines, edited with readline if a screen reader is used. Prompts are written to the stream."""

    def __init__(self, terminal: Prompted, history: History, stream: TextIO) -> None:
        self._terminal = terminal
        self._history = history
        self._stream = stream
        self._edits = terminal.screen.spoken and sys.stdout.isatty()
        if self._edits:
            with contextlib.suppress(ImportError):
                import readline  # `input` uses readline once the module is imported

                for entry in reversed(list(history.load_history_strings())):
                    readline.add_history(entry.replace("\n", " "))

    async def read(self, begun: str = "") -> str:
        """Read one entry; see `PromptReader.read`."""
        text = begun + self._line(f"alita ({self._terminal.mode})> ")
        if text.strip():
            self._history.append_string(text)
        return text

    def _line(self, prompt: str) -> str:
        # makes Ctrl-C raise immediately; the event loop would only handle it after the line
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


class PasteParser(Vt100Parser):
    """Parses a paste in linear time. The base class searches the whole text again after every kilobyte."""

    def __init__(self, feed_key_callback: Callable[[KeyPress], None]) -> None:
        super().__init__(feed_key_callback)
        self._parts: list[str] = []
        self._tail = ""

    def feed(self, data: str) -> None:
        """Process typed or pasted text."""
        if not self._in_bracketed_paste:
            super().feed(data)
            return
        self._parts.append(data)
        self._tail += data
        if PASTED not in self._tail:
            self._tail = self._tail[-len(PASTED) :]
            return
        pasted, _, rest = "".join(self._parts).partition(PASTED)
        self._parts, self._tail, self._in_bracketed_paste = [], "", False
        self.feed_key_callback(KeyPress(Keys.BracketedPaste, pasted))
        self.feed(rest)


STYLE = Style.from_dict(
    {
        "mode.ask": "ansigreen",
        "mode.auto": "ansiyellow bold",
        "mode.never": "ansicyan",
        "bottom-toolbar": "noreverse ansibrightblack",
    }
)


class PromptReader:
    """A full prompt with editing, history, completion and multi-line entries."""

    def __init__(
        self,
        terminal: Prompted,
        choices: Completer,
        history: History,
        *,
        source: Input | None = None,
        output: Output | None = None,
    ) -> None:
        self._terminal = terminal
        source = source or create_input()
        if isinstance(source, Vt100Input):
            source.vt100_parser = PasteParser(source.vt100_parser.feed_key_callback)
        history.expand = terminal.pastes.expand
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
        """Read one entry, which may have several lines and initially contains `begun`.

        Raises:
            EOFError: The user pressed Ctrl-D.
            Interrupted: The user pressed Ctrl-C on an empty line.
        """
        text: str = await self._session.prompt_async(default=begun)
        return self._terminal.pastes.expand(text)

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

        @keys.add(Keys.BracketedPaste)
        def paste(event: Press) -> None:
            try:
                event.current_buffer.insert_text(self._terminal.pastes.fold(event.data))
            except AlitaError as error:
                run_in_terminal(partial(self._terminal.screen.error, error))

        @keys.add("c-o")
        def open_pastes(event: Press) -> None:
            text = self._terminal.pastes.open(event.current_buffer.text)
            event.current_buffer.document = Document(text, len(text))

        @keys.add("c-x", "c-e")
        async def in_editor(event: Press) -> None:
            buffer = event.current_buffer
            opened = self._terminal.pastes.open(buffer.text)
            try:
                text = await run_in_terminal(lambda: _edited(opened), in_executor=True)
            except AlitaError as error:
                await run_in_terminal(partial(self._terminal.screen.error, error))
            else:
                buffer.document = Document(text, len(text))

        return keys


def _edited(text: str) -> str:
    """Let the user edit a text in their editor. prompt_toolkit's own function would pass our API keys to it."""
    from agent.cli.verbs.config import open_editor

    with tempfile.TemporaryDirectory(prefix="alita-") as folder:
        file = Path(folder) / "question.md"
        file.write_text(text, encoding="utf-8", errors="replace")
        open_editor(file)
        with os_errors_as(
            UsageError,
            "Cannot read the question from the editor",
            "Save it under the name that the editor opened, and keep it short.",
        ):
            text = read_small(file, SETTINGS, follow=False).decode(errors="replace")
        return text.replace("\r\n", "\n").removesuffix("\n")


Reader = PromptReader | LineReader
