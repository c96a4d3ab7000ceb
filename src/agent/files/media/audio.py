"""Reader of sounds, decoded with ffmpeg: length, tags, and a transcript in sections of ten minutes."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import av

from agent.files.contents import Contents, FileProblem, ReadLimits, Section, Source, damaged, short_name
from agent.files.media.speech import RATE, Segment, transcribe
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from av.container import InputContainer

    from agent.files.media.speech import Samples


SECTION_SECONDS = 600.0
_MAX_LENGTH_ERROR_SECONDS = 1.0  # the length in a header is not exact
_MAX_SAVED_SECTIONS = 6  # in the transcript for programs
_MAX_TAGS = 40
_TECHNICAL = ("encoder", "major_brand", "minor_version", "compatible_brands", "handler_name", "vendor_id", "duration")
"""Tags about the encoding of the file, which are not shown."""


def open_sound(source: Source, limits: ReadLimits) -> Contents:
    """Open a sound. A section is transcribed when it is requested."""
    with open_container(source.path) as container:
        if not container.streams.audio:
            raise damaged(source.name, source.kind, "it contains no audio")
        track = container.streams.audio[0].codec_context
        length, tags = length_of(source, container), tags_of(container)
        channels = {1: "mono", 2: "stereo"}.get(track.channels, f"{track.channels} channels")
        codec = track.name.removesuffix("float")
        summary = f"Sound of {duration(length)}, {channels}, {track.sample_rate:,} Hz, {codec}.{tags}"
    return Sound(source, length, [], summary)


class Sound(Contents):
    """A sound. Each section is transcribed once, when it is requested."""

    def __init__(self, source: Source, length: float, lost: list[str], summary: str = "") -> None:
        self.section_count = max(1, math.ceil(length / SECTION_SECONDS - 0.001))
        super().__init__(source.kind, summary, lost, count=self.section_count)
        self._source, self._length = source, length
        self._segments: dict[int, list[Segment]] = {}

    def sections(self, first: int = 1) -> Iterator[Section]:
        """Yield the transcript, one line per segment: `[0:07-0:12] words`."""
        for number in range(first, self.section_count + 1):
            lines = [f"[{clock(one.start)}-{clock(one.end)}] {one.text}" for one in self._segments_in(number)]
            start = (number - 1) * SECTION_SECONDS
            name = f"transcript, {clock(start)} to {clock(min(start + SECTION_SECONDS, self._length))}"
            reason = "no speech was recognised" if "transcript_by" in self.facts else "the speech was not transcribed"
            yield Section(name, "\n".join(lines) or f"({reason})")

    def save_data(self, folder: Path) -> list[Path]:
        """Save the transcript as JSON: the engine, and segments with start and end (seconds) and text."""
        section_count = min(self.section_count, _MAX_SAVED_SECTIONS)
        segments = [one for number in range(1, section_count + 1) for one in self._segments_in(number)]
        if not segments:
            return []
        if section_count < self.section_count:
            self.lost.append(f"The transcript in the file ends after {clock(section_count * SECTION_SECONDS)}.")
        path = folder / f"{short_name(Path(self._source.name).stem)}.transcript.json"
        pieces = [{"start": round(one.start, 2), "end": round(one.end, 2), "text": one.text} for one in segments]
        content = {
            "engine": self.facts["transcript_by"],
            "text": " ".join(one.text for one in segments),
            "pieces": pieces,
        }
        path.write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")
        return [path]

    def _segments_in(self, number: int) -> list[Segment]:
        """Return the speech in a section, with times in the whole file; empty if the engine failed."""
        if number not in self._segments:
            self._segments[number] = self._transcribe((number - 1) * SECTION_SECONDS)
        return self._segments[number]

    def _transcribe(self, start: float) -> list[Segment]:
        sound, broken = samples(self._source.path, start, SECTION_SECONDS)
        end = start + len(sound) / RATE
        if broken:
            self.lost.append(f"The audio stops at {clock(end)}: {broken}.")
        elif end < min(start + SECTION_SECONDS, self._length) - _MAX_LENGTH_ERROR_SECONDS:
            self.lost.append(
                f"The audio ends at {clock(end)}, but the file declares {clock(self._length)}: it may be truncated."
            )
        if not len(sound):
            return []
        try:
            transcript = transcribe(sound)
        except FileProblem as problem:
            self.lost.append(str(problem).replace("\n", " "))
            return []
        self.facts["transcript_by"] = transcript.engine
        self.notes += transcript.lost
        return [
            Segment(start + one.start, min(start + one.end, end), one.text) for one in transcript.segments if one.text
        ]


@contextlib.contextmanager
def open_container(path: Path) -> Iterator[InputContainer]:
    """Open a sound or a film with ffmpeg."""
    with av.open(str(path), options={"protocol_whitelist": "file"}) as container:
        yield container


def length_of(source: Source, container: InputContainer) -> float:
    """Return the length in seconds. If the header does not have it, all packets are read."""
    if container.duration:
        return container.duration / 1_000_000
    end = 0.0
    for packet in container.demux(container.streams[0]) if container.streams else ():
        if packet.pts is not None and packet.time_base is not None:
            end = max(end, float((packet.pts + (packet.duration or 0)) * packet.time_base))
    if end <= 0:
        raise FileProblem("truncated", f"{source.name} contains only a header, without audio or video.")
    return end


def tags_of(container: InputContainer) -> str:
    """Return the tags of the file and its tracks, and the titles of its chapters, one per line."""
    tags = [pair for one in (container, *container.streams) for pair in one.metadata.items()]
    lines = [
        f"{key.lower()}: {one_line(value, 500)}"
        for key, value in tags
        if key.lower() not in _TECHNICAL and value != "und"
    ]
    for chapter in container.chapters():
        start = float(chapter["start"] * (chapter["time_base"] or 1))
        lines.append(f"chapter at {clock(start)}: {one_line(chapter['metadata'].get('title', ''), 200)}")
    return "".join(f"\n{line}" for line in [*dict.fromkeys(lines)][:_MAX_TAGS])


def samples(path: Path, start: float, seconds: float) -> tuple[Samples, str]:
    """Decode a part of the first sound track: mono, 16,000 samples per second, each from -1 to 1.

    Returns:
        The samples, and the error that ended the decoding, or an empty string.
    """
    import numpy

    parts: list[Any] = []
    broken = ""
    have, want = 0, int(seconds * RATE)
    with open_container(path) as container:
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
            broken = str(error.strerror or error)
    whole = numpy.concatenate(parts) if parts else numpy.zeros(0, dtype=numpy.float32)
    return whole[:want], broken


def _blocks(container: InputContainer) -> Iterator[tuple[float, Samples]]:
    """Yield the sound from the current position in blocks, each with its start in seconds."""
    resampler = av.AudioResampler(format="flt", layout="mono", rate=RATE)
    time: float | None = None
    for frame in chain(container.decode(audio=0), [None]):
        if frame is not None:
            time = frame.time if time is None else time
            frame.pts = None  # a gap in the time stamps would stop the resampler
        for plain in resampler.resample(frame):
            block = plain.to_ndarray()[0]
            time = time or 0.0
            yield time, block
            time += len(block) / RATE


def duration(seconds: float) -> str:
    """Return a length below one minute as `9.0 s`, and a longer one as `1:02:03 (3,723 s)`."""
    whole = round(seconds)
    return f"{seconds:.1f} s" if whole < 60 else f"{clock(whole)} ({whole:,} s)"


def clock(seconds: float) -> str:
    """Return a time as `0:07` or `1:02:03`."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
