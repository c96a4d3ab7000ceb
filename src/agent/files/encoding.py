"""Detects the encoding of text, from a sample or a whole file, and decodes it; the only place that decides this."""

from __future__ import annotations

import codecs
import contextlib
import io
import unicodedata
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

SAMPLE = 256 * 1024
"""Bytes from which an encoding is detected."""
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
_CLEANED = "alita_cleaned_"
_REMOVED = dict.fromkeys((0, 0x1A, 0xFEFF))
_MARKS_WITHIN = (b"\0", b"\x1a", codecs.BOM_UTF8)
_FEWEST_BESIDE_NUL = 0.7  # share of a text that is no NUL or end-of-file mark
_BEYOND_ASCII = bytes(range(128, 256))
_FEWEST_BEYOND_ASCII = 8  # bytes that are enough to recognise an encoding other than Windows-1252
_ODD = frozenset(("Cc", "Cn", "Co", "Cs"))  # categories of characters that text hardly has
_MOST_STRAY = 0.1  # share of characters beyond ASCII that may be damaged in what still counts as UTF-8


@dataclass(frozen=True, slots=True)
class Encoding:
    """The encoding of a text."""

    name: str
    """As Python calls it."""
    mark: int = 0
    """Bytes of the byte order mark at the beginning."""
    mixed: bool = False
    """Some bytes belong to another encoding, and are read as Windows-1252."""
    is_cleaned: bool = False
    """NUL, end-of-file and further byte order marks are removed from the text."""

    @property
    def notes(self) -> list[str]:
        """Note for the reader."""
        mixed = [f"Some bytes are not {self.name}: they were read as Windows-1252."] if self.mixed else []
        removed = "Removed from the text: NUL characters, end-of-file marks (0x1A) or byte order marks within it."
        return [*mixed, removed] if self.is_cleaned else mixed

    @property
    def told(self) -> str:
        """The name for programs; with it, a byte order mark does not become part of the text."""
        if not self.mark:
            return self.name
        return "utf-8-sig" if self.name == "utf-8" else self.name.removesuffix("-le").removesuffix("-be")

    def open(self, path: Path, newline: str | None = None) -> IO[str]:
        """The file as text, past its byte order mark."""
        file = path.open("rb")
        file.seek(self.mark)
        name = f"{_CLEANED}{self.name}" if self.is_cleaned else self.name
        return io.TextIOWrapper(file, encoding=name, errors=FALLBACK, newline=newline)

    def decode(self, data: bytes) -> str:
        """The bytes of a whole file as text."""
        text = data[self.mark :].decode(self.name, FALLBACK)
        return text.translate(_REMOVED) if self.is_cleaned else text


def encoding_of(sample: bytes, whole: bool = True) -> Encoding | None:
    """Detects the encoding of text; None if it is not text.

    Args:
        sample: The beginning of a file.
        whole: True if the text is complete; else its last character may be cut.
    """
    for mark, name in _MARKS:
        if sample.startswith(mark):
            return Encoding(name, len(mark))
    if b"\0" in sample:
        if wide := _wide(sample):
            return Encoding(wide)
        rest = sample.translate(None, b"\0\x1a")
        is_text = len(rest) >= len(sample) * _FEWEST_BESIDE_NUL and len(rest) == len(rest.translate(None, _CONTROLS))
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
    """Decodes bytes in an encoding that nothing names; stray bytes are read as Windows-1252."""
    encoding = encoding_of(content)
    return encoding.decode(content) if encoding else content.decode("utf-8", FALLBACK)


def _wide(sample: bytes) -> str:
    """UTF-32 or UTF-16 without a mark: nearly all its characters are assigned, and its zero bytes belong to ASCII."""
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
    """Return True if the characters beyond ASCII, or most lines that have any, fit UTF-8."""
    text = sample.decode("utf-8", "replace")
    if text.count("\ufffd") <= sum(character > "\x7f" for character in text) * _MOST_STRAY:
        return True
    lines = [line for line in text.splitlines() if not line.isascii()]
    return sum("\ufffd" not in line for line in lines) * 4 >= len(lines)


def encoding_of_file(path: Path) -> Encoding | None:
    """Detects the encoding of a whole file: from its first bytes beyond ASCII, and checked to its end."""
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
                is_enough = len(begins) - len(begins.translate(None, _BEYOND_ASCII)) >= _FEWEST_BEYOND_ASCII
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
    """The codec of a name that begins with `_CLEANED`: as the one named after that, with some characters removed."""
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
