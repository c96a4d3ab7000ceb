"""Where what is typed comes from: the seam between the keyboard and the session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from mcp_tools.errors import AlitaError


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
            default: What stands there already, to be changed.

        Raises:
            EOFError: Ctrl-D.
            Interrupted: Ctrl-C while nothing stands there.
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
    """The approval mode, which stands in the prompt."""
    status: Callable[[], str]
    """The line below it."""
    next_mode: Callable[[], None]
    """Shift-Tab."""
    tell: Callable[[AlitaError], None]
    """What went wrong while it was typed."""


def choices_text(choices: Mapping[str, str]) -> str:
    """The letters with their words, as they stand behind the question: `[y]es [n]o`."""
    return " ".join(word.replace(letter, f"[{letter}]", 1) for letter, word in choices.items())
