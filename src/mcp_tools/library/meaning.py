"""Vectors of texts by what their words mean, to find a tool that shares no word with a question.

The vector of a text is the mean of the static word vectors that the package WordLlama brings. Its two files are read
here, since loading the package takes half a second, and a search a few milliseconds.
"""

from __future__ import annotations

import functools
import heapq
import importlib.util
import json
import math
import mmap
import re
import struct
import unicodedata
from collections.abc import Mapping, Sequence
from operator import mul
from pathlib import Path

_WIDTH = 256
_ROW = struct.Struct(f"<{_WIDTH}e")
TOKENS = Path("tokenizers", "l2_supercat_tokenizer_config.json")
WEIGHTS = Path("weights", f"l2_supercat_{_WIDTH}.safetensors")
_WORD = re.compile(r"\w+|[^\w\s]")
_WORD_START = "\u2581"
_MOST_LETTERS = 16
_LONGEST_TEXT = 4000
_MOST_TOKENS = 300

Vector = Sequence[float]


class WordVectors:
    """The vectors of words and parts of words, read from the files of WordLlama.

    Args:
        folder: The folder of the package.

    Raises:
        OSError: A file cannot be read.
        ValueError: A file is not as expected.
    """

    def __init__(self, folder: Path) -> None:
        model = json.loads((folder / TOKENS).read_bytes())["model"]
        self._tokens: Mapping[str, int] = model["vocab"]
        with (folder / WEIGHTS).open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._start = 8 + int.from_bytes(self._data[:8], "little")  # the length of a header in JSON, and the header
        if len(self._data) != self._start + len(self._tokens) * _ROW.size:
            raise ValueError(f"{folder / WEIGHTS} has not the expected size")
        self._row = functools.lru_cache(maxsize=10_000)(self._read)

    def of(self, text: str) -> Vector:
        """The vector of a text, of length 1; zeros if it has no known word."""
        rows = [self._row(token) for token in self._tokens_of(text[:_LONGEST_TEXT])[:_MOST_TOKENS]]
        if not rows:
            return (0.0,) * _WIDTH
        sums = [sum(column) for column in zip(*rows, strict=True)]
        length = math.hypot(*sums) or 1.0
        return [value / length for value in sums]

    def _read(self, token: int) -> tuple[float, ...]:
        return _ROW.unpack_from(self._data, self._start + token * _ROW.size)

    def _tokens_of(self, text: str) -> list[int]:
        """The longest known parts of each word, from its start."""
        found = []
        for word in _WORD.findall(unicodedata.normalize("NFKC", text)):
            rest = _WORD_START + word
            while rest:
                known = (
                    rest[:end] for end in range(min(len(rest), _MOST_LETTERS), 0, -1) if rest[:end] in self._tokens
                )
                part = next(known, rest[0])
                if part in self._tokens:
                    found.append(self._tokens[part])
                rest = rest[len(part) :]
        return found


@functools.cache
def word_vectors() -> WordVectors | None:
    """The word vectors of the installed WordLlama; None without it."""
    spec = importlib.util.find_spec("wordllama")
    if spec is None or spec.origin is None:
        return None
    try:
        return WordVectors(Path(spec.origin).parent)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def packed(vector: Vector) -> bytes:
    """A vector in 512 bytes."""
    return _ROW.pack(*vector)


def likeness(vector: Vector, kept: bytes) -> float:
    """The cosine of the angle between a vector and a packed one: 1 for the same meaning, about 0 for none in common."""
    return float(sum(map(mul, vector, _ROW.unpack(kept))))


def signs(vector: Vector) -> int:
    """A bit for each component, 1 if it is positive: alike vectors share most bits, and bits compare fast."""
    return int("".join("1" if value > 0 else "0" for value in vector), 2)


def nearest(vector: Vector, kept: Mapping[int, int], most: int) -> list[int]:
    """The keys of the signs that differ least from a vector's."""
    own = signs(vector)
    differing = [(own ^ bits).bit_count() for bits in kept.values()]
    limit = max(heapq.nsmallest(most, differing), default=0)
    return [key for key, count in zip(kept, differing, strict=True) if count <= limit][:most]
