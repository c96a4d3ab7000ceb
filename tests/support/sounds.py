"""Sounds and films, made by ffmpeg from a spoken sentence in the tests' data."""

from __future__ import annotations

import io
import math
import struct
import subprocess
import wave
from pathlib import Path

import imageio_ffmpeg

FOX = Path(__file__).parents[1] / "agent" / "files" / "data" / "fox.mp3"
"""“The quick brown fox jumps over the lazy dog. The total comes to forty two dollars.”, by a synthetic voice."""


def converted(source: Path, target: Path, *options: str, picture: Path | None = None) -> Path:
    """Convert a sound; with a picture, to a film that shows the picture."""
    shown = ["-loop", "1", "-i", str(picture)] if picture else []
    filmed = ["-t", "6.5", "-pix_fmt", "yuv420p", "-r", "5"] if picture else []
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", "-y", *shown, "-i", str(source)]
    subprocess.run([*command, *filmed, *options, str(target)], check=True, stdin=subprocess.DEVNULL)
    return target


def film_of(pictures: list[Path], target: Path, seconds: float) -> Path:
    """Make a silent film that shows each picture for `seconds`."""
    listing = target.with_suffix(".txt")
    shown = "".join(f"file '{picture}'\nduration {seconds}\n" for picture in [*pictures, pictures[-1]])
    listing.write_text(shown)
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-loglevel", "error", "-y", "-f", "concat", "-safe", "0"]
    command += ["-i", str(listing), "-r", "5", "-pix_fmt", "yuv420p", str(target)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return target


def tone(seconds: float = 1.0, *, rate: int = 8000, channels: int = 2) -> bytes:
    """Return a WAV file with a steady tone."""
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        values = (round(8000 * math.sin(2 * math.pi * 440 * n / rate)) for n in range(int(seconds * rate)))
        file.writeframes(b"".join(struct.pack("<h", value) * channels for value in values))
    return out.getvalue()
