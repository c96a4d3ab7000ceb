"""Lines as the terminal gives them: where the cursor cannot move, and where each character is read aloud."""

from __future__ import annotations

import contextlib
import signal
import sys
import termios
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TextIO

from agent.cli.interactive.reader import Interrupted, Prompt
from mcp_tools.text import printable

if TYPE_CHECKING:
    from agent.cli.interactive.history import History

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
