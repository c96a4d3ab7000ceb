"""Where what is typed comes from: the seam between the keyboard and the session."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import termios
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol, TextIO

from agent.errors import AlitaError, StorageError
from agent.store.redact import Redactor
from mcp_tools.atomic import private_folder, write_whole
from mcp_tools.text import printable


class Interrupted(Exception):
    """Ctrl-C at a prompt. A KeyboardInterrupt would end the event loop when it leaves a task."""


class Reader(Protocol):
    """Reads questions and commands. Ctrl-C and Ctrl-D are exceptions."""

    @property
    def touched(self) -> bool:
        """Whether anything was typed since the newest `read` began."""
        ...

    async def read(self, default: str = "") -> str:
        """One entry, which may have several lines.

        Args:
            default: Text that is there already, to be changed.

        Raises:
            EOFError: Ctrl-D.
            Interrupted: Ctrl-C on an empty line.
        """
        ...

    async def choose(self, question: str, choices: Mapping[str, str]) -> str:
        """One of a few letters. What was typed before the question was there does not count.

        Args:
            question: What is asked.
            choices: What each letter stands for; the letter is part of the word.

        Raises:
            EOFError: Ctrl-D.
            Interrupted: Ctrl-C.
        """
        ...


class Prompt(NamedTuple):
    """What a reader asks of the session while something is typed."""

    mode: Callable[[], str]
    """The approval mode, which the prompt shows."""
    status: Callable[[], str]
    """The line below it."""
    next_mode: Callable[[], None]
    """Shift-Tab."""
    tell: Callable[[AlitaError], None]
    """What went wrong while it was typed."""


def choices_text(choices: Mapping[str, str]) -> str:
    """The letters with their words, as they stand behind the question: `[y]es [n]o`."""
    return " ".join(word.replace(letter, f"[{letter}]", 1) for letter, word in choices.items())


GOES_ON = "\\"
"""At the end of a line: the entry goes on."""


class LineReader:
    """See `agent.cli.interactive.reader.Reader`.

    Args:
        prompt: What the session is asked for.
        history: What was typed before.
        stream: Where prompts are written.
        editing: Whether readline may edit the line, which moves the cursor.
    """

    touched = False

    def __init__(self, prompt: Prompt, history: History, stream: TextIO, *, editing: bool = False) -> None:
        self._prompt = prompt
        self._history = history
        self._stream = stream
        self._editing = editing and _load_readline(history)

    async def read(self, default: str = "") -> str:
        """See `Reader.read`. Nothing can stand there already: a default is shown, and an empty line takes it."""
        if default:
            self._stream.write("".join(f"  {line}\n" for line in printable(default).split("\n")))
            self._stream.write("Enter alone takes this text.\n")
        lines = [self._line(f"alita ({self._prompt.mode()})> ")]
        while lines[-1].endswith(GOES_ON):
            lines[-1] = lines[-1].removesuffix(GOES_ON)
            lines.append(self._line("more> "))
        text = "\n".join(lines)
        if not text.strip():
            return default
        self._history.add(text)
        self._history.tell(self._prompt.tell)
        if self._editing:
            _remember(text)
        return text

    async def choose(self, question: str, choices: Mapping[str, str]) -> str:
        """See `Reader.choose`; the letter or its word, then Enter."""
        ways = ", ".join(f"{letter} for {word}" for letter, word in choices.items())
        with contextlib.suppress(termios.error, OSError):
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        while True:
            typed = self._line(f"{printable(question)} Type {ways}: ").strip().lower()
            for letter, word in choices.items():
                if typed in {letter, word}:
                    return letter

    def _line(self, prompt: str) -> str:
        try:
            with _interruptible():
                return input(prompt) if self._editing else self._bare_line(prompt)
        except EOFError:
            self._stream.write("\n")
            raise
        except KeyboardInterrupt:
            self._stream.write("\n")
            raise Interrupted from None

    def _bare_line(self, prompt: str) -> str:
        self._stream.write(prompt)
        self._stream.flush()
        line = sys.stdin.readline()
        if not line:
            raise EOFError
        return line.rstrip("\n")


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Meanwhile, Ctrl-C is an exception at once; the event loop would only see it after the line."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _load_readline(history: History) -> bool:
    """Loads readline with what was typed before; False where it is missing or output goes elsewhere."""
    if not sys.stdout.isatty():
        return False
    try:
        import readline
    except ImportError:
        return False
    readline.set_auto_history(False)
    for entry in history.load():
        _remember(entry)
    return True


def _remember(entry: str) -> None:
    import readline

    readline.add_history(entry.replace("\n", " "))


FILE = "history"
MOST = 2_000
"""Entries that are kept; the file is cut to them when it holds half as many again."""
_ENTRY, _MORE = "+", "|"
"""What the first and the further lines of an entry begin with; other lines are skipped."""


class History:
    """Entries of one line or several, oldest first.

    Args:
        folder: Where the file is.
        redactor: Takes keys out of what is written.
    """

    def __init__(self, folder: Path, redactor: Redactor) -> None:
        self._path = folder / FILE
        self._redactor = redactor
        self._problem = ""
        self._told = False

    def load(self) -> list[str]:
        """The entries, oldest first; none when there is no file. A damaged line is no entry."""
        try:
            text = self._path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return []
        entries = _entries(text.split("\n"))
        if len(entries) > MOST + MOST // 2:
            entries = entries[-MOST:]
            with contextlib.suppress(OSError):
                write_whole(self._path, b"".join(map(_encoded, entries)))
        return entries

    def tell(self, listen: Callable[[AlitaError], None]) -> None:
        """Tells once that what is typed cannot be kept."""
        if self._problem and not self._told:
            self._told = True
            listen(StorageError(self._problem, remedy="What you type is not kept for the next session."))

    def add(self, text: str) -> None:
        """Appends an entry. One that begins with a blank is not kept, nor is one without content."""
        if not text.strip() or text.startswith((" ", "\t")):
            return
        try:
            private_folder(self._path.parent)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.fchmod(descriptor, 0o600)
                os.write(descriptor, _encoded(self._redactor.text(text)))
            finally:
                os.close(descriptor)
        except OSError as error:
            self._problem = self._problem or f"{self._path} cannot be written: {error.strerror}."


def _encoded(text: str) -> bytes:
    first, *more = text.replace("\r", "\n").split("\n")
    lines = [_ENTRY + first, *(_MORE + line for line in more)]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def _entries(lines: Iterable[str]) -> list[str]:
    entries: list[str] = []
    for line in lines:
        if line.startswith(_ENTRY):
            entries.append(line[1:])
        elif line.startswith(_MORE) and entries:
            entries[-1] += f"\n{line[1:]}"
    return entries
