"""Bytes as text: which encoding they are in, and what to do with bytes that do not belong to it."""

from __future__ import annotations

import codecs
import io
from dataclasses import dataclass
from pathlib import Path
from typing import IO

SAMPLE = 256 * 1024
"""Bytes that an encoding is judged by."""
FALLBACK = "alita-cp1252"
"""Name of the error handler that reads stray bytes as Windows-1252, the commonest of the other encodings."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_PLAIN_CONTROLS = frozenset(b"\t\n\v\f\r\x1b")
_CONTROLS = bytes(byte for byte in range(32) if byte not in _PLAIN_CONTROLS) + b"\x7f"
_MOST_STRAY = 0.1
"""Share of characters beyond ASCII that may be damaged in what still counts as UTF-8."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How bytes become text."""

    name: str
    """As Python calls it."""
    mark: int = 0
    """Bytes of the byte order mark at the beginning."""
    mixed: bool = False
    """Some bytes belong to another encoding, and are read as Windows-1252."""

    @property
    def facts(self) -> dict[str, str | bool]:
        """The same for programs."""
        return {"encoding": self.name, "byte_order_mark": self.mark > 0}

    @property
    def told(self) -> str:
        """With which a program opens the file, so that a byte order mark is no part of its text."""
        if not self.mark:
            return self.name
        return "utf-8-sig" if self.name == "utf-8" else self.name.removesuffix("-le").removesuffix("-be")

    @property
    def lost(self) -> list[str]:
        """What a reader should tell."""
        return [f"Some bytes are not {self.name}: they were read as Windows-1252."] if self.mixed else []

    @property
    def is_wide(self) -> bool:
        """A character that is ASCII takes more than one byte."""
        return self.name.startswith(("utf-16", "utf-32"))

    def open(self, path: Path, newline: str | None = None, start: int = 0) -> IO[str]:
        """The file as text, from a byte on, past its byte order mark."""
        file = path.open("rb")
        file.seek(max(start, self.mark))
        return io.TextIOWrapper(file, encoding=self.name, errors=FALLBACK, newline=newline)

    def decode(self, data: bytes) -> str:
        """The bytes of a whole file as text."""
        return data[self.mark :].decode(self.name, FALLBACK)


def encoding_of(sample: bytes, whole: bool = True) -> Encoding | None:
    """The encoding of text; None for what is no text.

    Args:
        sample: The beginning of a file.
        whole: Whether this is all of it; else its last character may be cut.
    """
    for mark, name in _MARKS:
        if sample.startswith(mark):
            return Encoding(name, len(mark))
    if name := _wide(sample):
        return Encoding(name)
    if _is_binary(sample):
        return None
    return _narrow(sample, whole)


def sample_of(path: Path) -> tuple[bytes, bool]:
    """What an encoding is judged by, and whether it is the whole file.

    Of a large file the beginning and a part from its middle, so that a head in plain ASCII does not decide alone.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(SAMPLE)
        if size <= SAMPLE:
            return head, True
        if head.isascii() and b"\0" not in head:
            file.seek(size // 2)
            middle = file.read(SAMPLE).partition(b"\n")[2].rpartition(b"\n")[0]
            head = head.rpartition(b"\n")[0] + b"\n" + middle if middle else head
    return head, False


def _wide(sample: bytes) -> str:
    """UTF-16 without a mark: its line feeds, blanks and digits have zero bytes, all on one side."""
    part = sample[: len(sample) // 2 * 2]
    zeros = {"utf-16-be": part[::2].count(0), "utf-16-le": part[1::2].count(0)}
    name = max(zeros, key=lambda one: zeros[one])
    if len(part) < 8 or zeros[name] < len(part) / 40 or min(zeros.values()) > len(part) / 1000:
        return ""
    text = part.decode(name, "replace")
    readable = sum(character.isprintable() or character in "\t\r\n" for character in text)
    return name if readable - 2 * text.count("\ufffd") > len(text) * 0.97 else ""


def _is_binary(sample: bytes) -> bool:
    """More control characters than text has."""
    if b"\0" in sample:
        return True
    return len(sample) - len(sample.translate(None, _CONTROLS)) > max(1, len(sample) // 200)


def _narrow(sample: bytes, whole: bool) -> Encoding:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample, whole)
    except UnicodeDecodeError:
        pass
    else:
        return Encoding("utf-8")
    text = sample.decode("utf-8", "replace")
    beyond = sum(character > "\x7f" for character in text)
    if text.count("\ufffd") <= beyond * _MOST_STRAY:
        return Encoding("utf-8", mixed=True)
    return Encoding(_guessed(sample))


def _guessed(sample: bytes) -> str:
    """The likeliest of the older encodings."""
    from charset_normalizer import from_bytes

    likely = ["shift_jis", "cp932", "euc_jp", "gb18030", "big5", "euc_kr", "cp1251", "cp1250", "cp1252", "koi8_r"]
    best = from_bytes(sample[:20_000], cp_isolation=likely).best()
    name = best.encoding if best else "cp1252"
    return "cp932" if name == "shift_jis" else name


def _stray(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    if error.encoding.startswith(("utf-16", "utf-32", "utf_16", "utf_32")):
        return "\ufffd", error.end
    return bad.decode("cp1252", "replace"), error.end


codecs.register_error(FALLBACK, _stray)
