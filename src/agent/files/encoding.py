"""Detects the encoding of text from a sample or a whole file, and decodes it. No other module guesses encodings."""

from __future__ import annotations

import codecs
import contextlib
import io
import unicodedata
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

SAMPLE = 256 * 1024
"""Number of bytes from which an encoding is detected."""
FALLBACK = "alita-cp1252"
"""Name of the error handler that reads invalid bytes as Windows-1252, the most common 8-bit encoding."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_PLAIN_CONTROLS = frozenset(b"\t\n\v\f\r\x1b")
_CONTROLS = bytes(byte for byte in range(32) if byte not in _PLAIN_CONTROLS) + b"\x7f"
_CLEANED = "alita_cleaned_"
_REMOVED = dict.fromkeys((0, 0x1A, 0xFEFF))
_MARKS_WITHIN = (b"\0", b"\x1a", codecs.BOM_UTF8)
_MIN_TEXT_SHARE = 0.7  # of a text that contains NUL or end-of-file characters
_NON_ASCII = bytes(range(128, 256))
_MIN_NON_ASCII = 8  # bytes that are enough to detect an encoding
_ODD = frozenset(("Cc", "Cn", "Co", "Cs"))  # Unicode categories that are rare in text
_MAX_DAMAGED_SHARE = 0.1  # of the non-ASCII characters in text that still counts as UTF-8


@dataclass(frozen=True, slots=True)
class Encoding:
    """A text encoding, and how the file deviates from it."""

    name: str
    """Python's name for it."""
    mark: int = 0
    """Length of the byte order mark, in bytes."""
    mixed: bool = False
    """True if invalid bytes are read as Windows-1252."""
    is_cleaned: bool = False
    """True if NUL, end-of-file and later byte order marks are removed from the text."""

    @property
    def notes(self) -> list[str]:
        """Sentences about bytes that were changed or removed."""
        mixed = [f"Some bytes are not valid {self.name}: they were read as Windows-1252."] if self.mixed else []
        removed = "Removed from the text: NUL characters, end-of-file marks (0x1A) or byte order marks within it."
        return [*mixed, removed] if self.is_cleaned else mixed

    @property
    def codec_name(self) -> str:
        """Name of a codec for programs. It skips the byte order mark."""
        if not self.mark:
            return self.name
        return "utf-8-sig" if self.name == "utf-8" else self.name.removesuffix("-le").removesuffix("-be")

    def open(self, path: Path, newline: str | None = None) -> IO[str]:
        """Open a file as text, after its byte order mark."""
        file = path.open("rb")
        file.seek(self.mark)
        name = f"{_CLEANED}{self.name}" if self.is_cleaned else self.name
        return io.TextIOWrapper(file, encoding=name, errors=FALLBACK, newline=newline)

    def decode(self, data: bytes) -> str:
        """Decode the bytes of a whole file."""
        text = data[self.mark :].decode(self.name, FALLBACK)
        return text.translate(_REMOVED) if self.is_cleaned else text


def encoding_of(sample: bytes, whole: bool = True) -> Encoding | None:
    """Return the encoding of text, or None if it is not text.

    Args:
        sample: The beginning of a file.
        whole: False if the sample may end in the middle of a character.
    """
    for mark, name in _MARKS:
        if sample.startswith(mark):
            return Encoding(name, len(mark))
    if b"\0" in sample:
        if wide := _utf_16_or_32(sample):
            return Encoding(wide)
        rest = sample.translate(None, b"\0\x1a")
        is_text = len(rest) >= len(sample) * _MIN_TEXT_SHARE and len(rest) == len(rest.translate(None, _CONTROLS))
        found = encoding_of(rest, whole) if is_text else None
        return replace(found, is_cleaned=True) if found else None
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    if controls > max(1, len(sample) // 200):
        return None
    try:
        codecs.getincrementaldecoder("utf-8")().decode(sample, whole)
    except UnicodeDecodeError:
        pass
    else:
        return Encoding("utf-8", is_cleaned=any(mark in sample for mark in _MARKS_WITHIN))
    if _is_mostly_utf_8(sample):
        return Encoding("utf-8", mixed=True, is_cleaned=any(mark in sample for mark in _MARKS_WITHIN))
    from charset_normalizer import from_bytes

    likely = ["shift_jis", "cp932", "euc_jp", "gb18030", "big5", "euc_kr", "cp1251", "cp1250", "cp1252", "koi8_r"]
    best = from_bytes(sample[:20_000], cp_isolation=likely).best()
    name = best.encoding if best else "cp1252"
    return Encoding("cp932" if name == "shift_jis" else name)


def decoded(content: bytes) -> str:
    """Decode bytes of unknown encoding. Invalid bytes are read as Windows-1252."""
    encoding = encoding_of(content)
    return encoding.decode(content) if encoding else content.decode("utf-8", FALLBACK)


def _utf_16_or_32(sample: bytes) -> str:
    """Return the name of the encoding for UTF-32 or UTF-16 without a byte order mark; empty for other encodings.

    Nearly all characters must be assigned, and most zero bytes must belong to ASCII characters.
    """
    for name, width in (("utf-32-le", 4), ("utf-32-be", 4), ("utf-16-le", 2), ("utf-16-be", 2)):
        with contextlib.suppress(UnicodeDecodeError):
            text = sample[: len(sample) // width * width].decode(name)
            odd = sum(
                unicodedata.category(character) in _ODD for character in text if character not in "\t\r\n\x1a\ufeff"
            )
            plain = sum(character < "\x7f" for character in text)
            hollow = sum(not ord(character) & 0xFF for character in text)
            if odd * 200 <= len(text) and plain * 20 >= len(text) and hollow * 25 <= len(text):
                return name
    return ""


def _is_mostly_utf_8(sample: bytes) -> bool:
    """Return True if most non-ASCII characters, or a quarter of the lines with any, are valid UTF-8."""
    text = sample.decode("utf-8", "replace")
    if text.count("\ufffd") <= sum(character > "\x7f" for character in text) * _MAX_DAMAGED_SHARE:
        return True
    lines = [line for line in text.splitlines() if not line.isascii()]
    return sum("\ufffd" not in line for line in lines) * 4 >= len(lines)


def encoding_of_file(path: Path) -> Encoding | None:
    """Return the encoding of a whole file, or None if it is not text.

    It is detected from the first non-ASCII bytes, and UTF-8 is checked to the end of the file.
    """
    with path.open("rb") as file:
        sample = file.read(SAMPLE)
        rest = file.read(SAMPLE)
        found = encoding_of(sample, whole=not rest)
        if found is None or found.name != "utf-8":
            return found
        is_plain, mixed, is_cleaned = sample.isascii(), found.mixed, found.is_cleaned
        decoder = codecs.getincrementaldecoder("utf-8")()
        with contextlib.suppress(UnicodeDecodeError):
            decoder.decode(sample)
        while rest:
            is_cleaned = is_cleaned or any(mark in rest for mark in _MARKS_WITHIN)
            if is_plain and not rest.isascii():
                first = next(at for at, byte in enumerate(rest) if byte > 127)
                begins = rest[rest.rfind(b"\n", 0, first) + 1 :]
                is_enough = len(begins) - len(begins.translate(None, _NON_ASCII)) >= _MIN_NON_ASCII
                later = encoding_of(begins.translate(None, b"\0"), whole=False) if is_enough else None
                if later and later.name != "utf-8":
                    return replace(later, is_cleaned=is_cleaned)
                is_plain = False
            try:
                decoder.decode(rest)
            except UnicodeDecodeError:
                mixed = True
                decoder.reset()
            rest = file.read(1 << 20)
    return replace(found, mixed=mixed, is_cleaned=is_cleaned)


def _stray(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    bad = error.object[error.start : error.end]
    if error.encoding.startswith(("utf-16", "utf-32", "utf_16", "utf_32")):
        return "\ufffd", error.end
    return bad.decode("cp1252", "replace"), error.end


def _cleaning_codec(name: str) -> codecs.CodecInfo | None:
    """For `_CLEANED` plus the name of a codec, return that codec with the `_REMOVED` characters left out."""
    if not name.startswith(_CLEANED):
        return None
    inner = codecs.lookup(name.removeprefix(_CLEANED))

    class Cleaning(codecs.IncrementalDecoder):
        def __init__(self, errors: str = "strict") -> None:
            super().__init__(errors)
            self._inner = inner.incrementaldecoder(errors)

        def decode(self, data: Any, final: bool = False) -> str:
            return self._inner.decode(data, final).translate(_REMOVED)

        def reset(self) -> None:
            self._inner.reset()

        def getstate(self) -> tuple[bytes, int]:
            return self._inner.getstate()

        def setstate(self, state: tuple[bytes, int]) -> None:
            self._inner.setstate(state)

    return codecs.CodecInfo(inner.encode, inner.decode, incrementaldecoder=Cleaning, name=name)


codecs.register(_cleaning_codec)
codecs.register_error(FALLBACK, _stray)
