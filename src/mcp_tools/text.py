"""Text from models, tools and the web, made safe to print."""

from __future__ import annotations

import re
import unicodedata

_ESCAPE_SEQUENCE = re.compile(
    r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # operating-system commands: titles, links, clipboard
    r"|\x1b[PX^_][^\x1b]*(?:\x1b\\)?"  # device control, application program command, privacy message
    r"|[\x1b\x9b][\[\]()#;?]*[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor
)


def printable(text: str) -> str:
    """The text without escape sequences and without control, bidirectional, tag and zero-width characters.

    Line feeds and tabs stay; a carriage return, which could overwrite a line, becomes a line feed.
    """
    text = _ESCAPE_SEQUENCE.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in {"Cc", "Cf", "Cs"})


def one_line(text: str, width: int = 100) -> str:
    """The text on one line of at most `width` characters, with an ellipsis where it was cut."""
    line = " ".join(printable(text).split())
    return line if len(line) <= width else line[: width - 1] + "…"
