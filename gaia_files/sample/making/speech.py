"""Speech by espeak-ng, packed by ffmpeg; where one of them is missing, the files that are there stay."""

from __future__ import annotations

import io
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from making.drawing import sheet_of_lines

_VOICE = ["-v", "en-us+f3", "-s", "135", "-g", "4"]
_QUIET = ["-hide_banner", "-loglevel", "error", "-nostdin", "-y"]
_EXACT = ["-map_metadata", "-1", "-fflags", "+bitexact", "-flags:v", "+bitexact", "-flags:a", "+bitexact"]


def spoken(text: str, extension: str) -> bytes | None:
    """The text as speech, one channel; None where a program is missing.

    Args:
        text: What is said.
        extension: `.mp3` or `.wav`.
    """
    if not _programs():
        return None
    options = ["-ar", "22050", "-b:a", "40k"] if extension == ".mp3" else ["-ar", "11025", "-c:a", "pcm_u8"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wave = _say(text, folder)
        return _ffmpeg(["-i", str(wave), "-ac", "1", *options], folder / f"out{extension}")


def film(text: str, pictures: Sequence[Sequence[str]], seconds: int) -> bytes | None:
    """A film (MP4) that shows each of these lines for some seconds while the text is spoken; None as above."""
    if not _programs():
        return None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wave = _say(text, folder)
        for number, lines in enumerate(pictures):
            buffer = io.BytesIO()
            sheet_of_lines(lines, (640, 360), 44).save(buffer, "PNG")
            (folder / f"picture{number}.png").write_bytes(buffer.getvalue())
        shown = ["-framerate", f"1/{seconds}", "-i", str(folder / "picture%d.png"), "-i", str(wave)]
        video = ["-c:v", "libx264", "-preset", "slow", "-r", "5", "-pix_fmt", "yuv420p", "-crf", "30"]
        return _ffmpeg([*shown, *video, "-c:a", "aac", "-b:a", "40k", "-ac", "1"], folder / "out.mp4")


def _programs() -> bool:
    return all(shutil.which(program) for program in ("espeak-ng", "ffmpeg"))


def _say(text: str, folder: Path) -> Path:
    wave = folder / "speech.wav"
    subprocess.run(["espeak-ng", *_VOICE, "-w", str(wave), text], check=True, timeout=60)
    return wave


def _ffmpeg(options: Sequence[str], out: Path) -> bytes:
    subprocess.run(["ffmpeg", *_QUIET, *options, *_EXACT, str(out)], check=True, timeout=120)
    return out.read_bytes()
