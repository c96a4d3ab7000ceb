"""Word vectors, which find a tool that matches the meaning of a question but shares none of its words.

The vector of a text is the mean of its word vectors, which come with the package WordLlama. This module reads the
package's two data files itself, because importing the package takes half a second and a search a few milliseconds.
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
_MAX_TOKEN_CHARS = 16
_MAX_TEXT_CHARS = 4000
_MAX_TOKENS = 300

Vector = Sequence[float]


class WordVectors:
    """The vectors of words and parts of words in WordLlama's data files.

    Args:
        folder: The folder of the package.

    Raises:
        OSError: A file cannot be read.
        ValueError: A file has an unexpected format.
    """

    def __init__(self, folder: Path) -> None:
        model = json.loads((folder / TOKENS).read_bytes())["model"]
        self._tokens: Mapping[str, int] = model["vocab"]
        with (folder / WEIGHTS).open("rb") as file:
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._start = 8 + int.from_bytes(self._data[:8], "little")  # after the header and its length
        if len(self._data) != self._start + len(self._tokens) * _ROW.size:
            raise ValueError(f"{folder / WEIGHTS} has an unexpected size")
        self._row = functools.lru_cache(maxsize=10_000)(self._read)

    def of(self, text: str) -> Vector:
        """Return the vector of a text, scaled to length 1; all zeros if no word is known."""
        rows = [self._row(token) for token in self._tokens_of(text[:_MAX_TEXT_CHARS])[:_MAX_TOKENS]]
        if not rows:
            return (0.0,) * _WIDTH
        sums = [sum(column) for column in zip(*rows, strict=True)]
        length = math.hypot(*sums) or 1.0
        return [value / length for value in sums]

    def _read(self, token: int) -> tuple[float, ...]:
        return _ROW.unpack_from(self._data, self._start + token * _ROW.size)

    def _tokens_of(self, text: str) -> list[int]:
        """Split each word into the longest known parts, from left to right."""
        found = []
        for word in _WORD.findall(unicodedata.normalize("NFKC", text)):
            rest = _WORD_START + word
            while rest:
                known = (
                    rest[:end] for end in range(min(len(rest), _MAX_TOKEN_CHARS), 0, -1) if rest[:end] in self._tokens
                )
                part = next(known, rest[0])
                if part in self._tokens:
                    found.append(self._tokens[part])
                rest = rest[len(part) :]
        return found


@functools.cache
def word_vectors() -> WordVectors | None:
    """Return the word vectors; None if WordLlama is not installed."""
    spec = importlib.util.find_spec("wordllama")
    if spec is None or spec.origin is None:
        return None
    try:
        return WordVectors(Path(spec.origin).parent)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def packed(vector: Vector) -> bytes:
    """Return a vector as 512 bytes."""
    return _ROW.pack(*vector)


def similarity(vector: Vector, kept: bytes) -> float:
    """Return the cosine similarity to a packed vector: 1 for the same meaning, about 0 for unrelated texts."""
    return float(sum(map(mul, vector, _ROW.unpack(kept))))


def signs(vector: Vector) -> int:
    """Return one bit per component, set if it is positive. Similar vectors share most bits, which compare fast."""
    return int("".join("1" if value > 0 else "0" for value in vector), 2)


def nearest(vector: Vector, kept: Mapping[int, int], most: int) -> list[int]:
    """Return the keys of the stored signs that differ least from a vector's signs."""
    own = signs(vector)
    differing = [(own ^ bits).bit_count() for bits in kept.values()]
    limit = max(heapq.nsmallest(most, differing), default=0)
    return [key for key, count in zip(kept, differing, strict=True) if count <= limit][:most]
