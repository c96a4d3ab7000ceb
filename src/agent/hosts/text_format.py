"""The seam of the formats: text in, text out, so that what is not ours stays as it was, byte for byte."""

from __future__ import annotations

from typing import Any, Protocol


class DamagedTextError(ValueError):
    """A text that is not of its format.

    Args:
        message: What is wrong.
        line: Where, from 1.
        column: Where in the line, from 1.
    """

    def __init__(self, message: str, line: int, column: int) -> None:
        super().__init__(f"line {line}, column {column}: {message}")


class UnusualTextError(ValueError):
    """A text of a shape that is not edited here; its owner edits it better."""


class TextFormat(Protocol):
    """Reads and edits the text of a settings file."""

    def parse(self, text: str) -> dict[str, Any]:
        """The settings. An empty text has none.

        Raises:
            DamagedTextError: It is not of this format.
        """
        ...

    def put(self, text: str, key: str, name: str, entry: dict[str, Any]) -> str:
        """The text with an entry under a top-level key, in the place of one of that name.

        Raises:
            UnusualTextError: The text must be edited by hand.
        """
        ...

    def remove(self, text: str, key: str, name: str) -> str:
        """The text without an entry that is there."""
        ...


def newline_of(text: str) -> str:
    """How the text ends its lines."""
    return "\r\n" if "\r\n" in text else "\n"


def place_of(text: str, position: int) -> tuple[int, int]:
    """Line and column of a position, from 1."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


def ended(text: str, newline: str) -> str:
    """The text with an end of its last line."""
    return text if not text or text.endswith("\n") else text + newline
