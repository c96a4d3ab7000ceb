"""Sound and film through the libraries of ffmpeg: how long, which tracks, and the sound as numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from agent.files.contents import Source
from agent.files.problem import FileProblem, beginning, damaged, name_of, without_package

if TYPE_CHECKING:
    from pathlib import Path

    import numpy
    from av.container import InputContainer

    Samples = numpy.ndarray[tuple[int], numpy.dtype[numpy.float32]]

RATE = 16_000
"""Samples a second, as every model of speech wants them."""


@dataclass(frozen=True, slots=True)
class SoundTrack:
    """The first track of sound."""

    codec: str
    channels: int
    rate: int
    """Samples a second."""


@contextlib.contextmanager
def opened(source: Source) -> Iterator[InputContainer]:
    """Opens a sound or a film.

    Raises:
        FileProblem: It is empty, damaged or encrypted, or the package is missing.
    """
    beginning(source)
    try:
        import av
    except ImportError:
        raise without_package("av", "audio", "sounds and films cannot be opened") from None
    try:
        container = av.open(str(source.path), options={"protocol_whitelist": "file"})
    except (av.FFmpegError, ValueError) as error:
        raise damaged(source, source.kind, _reason(error)) from None
    try:
        yield container
    except av.FFmpegError as error:
        raise damaged(source, source.kind, _reason(error)) from None
    finally:
        container.close()


def sound_track(container: InputContainer) -> SoundTrack | None:
    """The first track of sound; None where there is none."""
    if not container.streams.audio:
        return None
    context = container.streams.audio[0].codec_context
    return SoundTrack(context.name, context.channels, context.sample_rate)


def length_of(source: Source, container: InputContainer) -> float:
    """Seconds; counted packet by packet where the file does not say.

    Raises:
        FileProblem: Nothing in it can be played.
    """
    if container.duration:
        return container.duration / 1_000_000
    if not container.streams:
        raise damaged(source, source.kind, "it has no track")
    stream = container.streams[0]
    end = 0.0
    for packet in container.demux(stream):
        if packet.pts is not None and packet.time_base is not None:
            end = max(end, float((packet.pts + (packet.duration or 0)) * packet.time_base))
    if end <= 0:
        raise FileProblem("truncated", f"{name_of(source)} has no sound or picture in it, only a head.")
    return end


def tags(container: InputContainer) -> dict[str, str]:
    """Title, artist and the like."""
    return {str(key).lower(): str(value)[:500] for key, value in list(container.metadata.items())[:50]}


def samples(path: Path, start: float, seconds: float) -> tuple[Samples, str]:
    """A stretch of the first sound track, mono, 16,000 samples a second, each from -1 to 1.

    Returns:
        The samples, and what broke off the decoding, empty if nothing did.
    """
    import av
    import numpy

    parts: list[Any] = []
    broken = ""
    have, want = 0, int(seconds * RATE)
    with av.open(str(path), options={"protocol_whitelist": "file"}) as container:
        if start > 0:
            container.seek(int(max(start - 1, 0) * 1_000_000))
        try:
            for time, block in _blocks(container):
                late = min(max(round((start - time) * RATE), 0), len(block))
                parts.append(block[late:])
                have += len(block) - late
                if have >= want:
                    break
        except av.FFmpegError as error:
            broken = _reason(error)
    whole = numpy.concatenate(parts) if parts else numpy.zeros(0, dtype=numpy.float32)
    return whole[:want], broken


def _blocks(container: InputContainer) -> Iterator[tuple[float, Samples]]:
    """The sound from here on, with the second that each block begins at."""
    import av

    resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE)
    time: float | None = None
    for frame in chain(container.decode(audio=0), [None]):
        if frame is not None:
            time = frame.time if time is None else time
            frame.pts = None  # a gap in the time stamps must not stop the conversion
        for plain in resampler.resample(frame):
            block = plain.to_ndarray()[0]
            time = time or 0.0
            yield time, block
            time += len(block) / RATE


def clock(seconds: float) -> str:
    """A moment as people write it: `0:07`, `1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", "") or error)
