"""Keyboard input during a run: typed text is shown and kept, Enter sends it, and Esc stops the run."""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import os
import re
import select
import sys
import termios
from collections.abc import Callable, Iterator

ESC_SECONDS = 0.05
"""If no bytes follow an Esc within this time, it is the Esc key rather than the start of an escape sequence."""
PASTE_SECONDS = 0.3
"""Seconds to wait for the rest of a paste after the run has ended."""
_ESC = "\x1b"
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|[^\[O\x1b])|\x1b\[20[01]~")
_PARTIAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|O)?")
_ENTER, _BACKSPACE, _CLEAR, _WORD = "\r\n", "\x7f\x08", "\x15", "\x17"
_PASTE, PASTED = "\x1b[200~", "\x1b[201~"


class Keyboard:
    """Reads keys during a run.

    Args:
        stop: Called when Esc is pressed.
        send: Called with each message when Enter is pressed.
        fold: Returns the short form in which a paste is displayed.
    """

    def __init__(self, stop: Callable[[], None], send: Callable[[str], None], fold: Callable[[str], str] = str) -> None:
        self.typed = ""
        """The message being typed."""
        self._stop, self._send, self._fold = stop, send, fold
        self._waiting = ""
        self._paste: list[str] | None = None
        """The parts received so far of an incomplete paste; None outside a paste."""
        self._is_silent = False
        self._timer: asyncio.TimerHandle | None = None

    @contextlib.contextmanager
    def silent(self) -> Iterator[None]:
        """Turn off the terminal's echo and line editing in the `with` block. Ctrl-C still sends a signal."""
        try:
            before = termios.tcgetattr(sys.stdin.fileno())
        except (termios.error, OSError, ValueError):
            yield
            return
        silent = termios.tcgetattr(sys.stdin.fileno())
        silent[3] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, silent)
        self._is_silent = True
        try:
            yield
        finally:
            self._is_silent = False
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, before)

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Read keys in the `with` block, which must be nested in `silent`. Does nothing without a terminal."""
        if not self._is_silent:
            yield
            return
        keyboard = sys.stdin.fileno()
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        loop = asyncio.get_running_loop()

        def read() -> None:
            try:
                data = os.read(keyboard, 65_536)
            except OSError:
                data = b""
            if not data:
                loop.remove_reader(keyboard)
            self.take(decode(data))

        loop.add_reader(keyboard, read)
        try:
            yield
        finally:
            loop.remove_reader(keyboard)
            while self._paste is not None and select.select([keyboard], [], [], PASTE_SECONDS)[0]:
                read()
            self._paste = None
            if self._timer is not None:
                self._timer.cancel()
            self._waiting = ""

    def take(self, text: str) -> None:
        """Handle typed text."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        text, self._waiting = self._waiting + text, ""
        while text:
            if self._paste is not None:
                text = self._take_paste(text, self._paste)
            elif text[0] == _ESC:
                key = _SEQUENCE.match(text)
                if key is None and _PARTIAL.fullmatch(text):
                    self._waiting = text
                    self._timer = asyncio.get_running_loop().call_later(ESC_SECONDS, self._escaped)
                    return
                sequence = key[0] if key else _ESC
                if key is None:
                    self._stop()
                elif sequence == _PASTE:
                    self._paste = []
                text = text[len(sequence) :]
            else:
                pressed, escape, rest = text.partition(_ESC)
                for key_pressed in pressed:
                    self._press(key_pressed)
                text = escape + rest

    def _take_paste(self, text: str, parts: list[str]) -> str:
        """Add text to the current paste, and return the text after the end of the paste."""
        pasted, end, rest = text.partition(PASTED)
        if not end:
            held = next((n for n in range(len(PASTED) - 1, 0, -1) if text.endswith(PASTED[:n])), 0)
            parts.append(text[: len(text) - held])
            self._waiting = text[len(text) - held :]
            return ""
        self._paste = None
        whole = "".join([*parts, pasted]).replace("\r\n", "\n").replace("\r", "\n")
        self.typed += self._fold("".join(char for char in whole if char.isprintable() or char in "\t\n"))
        return rest

    def _escaped(self) -> None:
        self._waiting, self._timer = "", None
        self._stop()

    def _press(self, key: str) -> None:
        if key in _ENTER:
            if message := self.typed.strip():
                self._send(message)
            self.typed = ""
        elif key in _BACKSPACE:
            self.typed = self.typed[:-1]
        elif key == _CLEAR:
            self.typed = ""
        elif key == _WORD:
            self.typed = re.sub(r"\S+\s*$", "", self.typed)
        elif key.isprintable() or key == "\t":
            self.typed += key
