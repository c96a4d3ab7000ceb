"""Reader of films: length, size, frames with the text in them, subtitles and a transcript."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import av

from agent.files.contents import Contents, FileProblem, ReadLimits, Section, Source, damaged, short_name
from agent.files.encoding import FALLBACK
from agent.files.media.audio import Sound, clock, duration, length_of, open_container, tags_of
from agent.files.media.ocr import text_in
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from PIL.Image import Image

_MAX_FRAMES = 24
_MIN_SECONDS_APART = 2.0
_MAX_SIDE_PIXELS = 1280
_MAX_FRAME_PIXELS = 8192 * 8192
_PICTURE_SUBTITLES = ("dvdsub", "dvbsub", "pgssub", "xsub")
"""Codecs for subtitles that are pictures."""
_MARKUP = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")


class Film(Contents):
    """A film. Its sections are the text in its frames, the subtitles and the transcript."""

    def __init__(self, source: Source, limits: ReadLimits) -> None:
        self._source = source
        with open_container(source.path) as container:
            self._length = length_of(source, container)
            sees = [one.codec_context for one in container.streams.video if one.codec_context.width]
            hears = bool(container.streams.audio)
            if not sees and not hears:
                raise damaged(source.name, source.kind, "it contains neither video nor audio")
            size = f", {sees[0].width} x {sees[0].height} pixels" if sees else ", without pictures"
            sound = f"{'with' if hears else 'without'} sound."
            description = f"Film of {duration(self._length)}{size}, {sound}{tags_of(container)}"
            super().__init__(source.kind, description)
            self._subtitled = len(container.streams.subtitles)
        if sees:
            self.lost.append("The video is not described: single frames are saved, and the text in them is read.")
        self._is_seen = bool(sees) and sees[0].width * sees[0].height <= _MAX_FRAME_PIXELS
        self._sound = Sound(source, self._length, self.lost) if hears else None
        self.facts = self._sound.facts if self._sound else {}
        self.notes = self._sound.notes if self._sound else []
        self._before = int(self._is_seen) + self._subtitled
        self.count = self._before + (self._sound.section_count if self._sound else 0)

    def sections(self, first: int = 1) -> Iterator[Section]:
        """Yield the text in the frames without repetitions, the subtitles, and the transcript in parts."""
        if self._is_seen and first == 1:
            lines, last = [], ""
            for seconds, (_, text) in self._frames.items():
                if text and text != last:
                    lines.append(f"[{clock(seconds)}]\n{text}")
                last = text
            yield Section("text in the pictures", "\n\n".join(lines) or "(no text was found)")
        for track in range(max(0, first - 1 - int(self._is_seen)), self._subtitled):
            yield self._subtitles(track)
        if self._sound:
            yield from self._sound.sections(max(1, first - self._before))

    def save_data(self, folder: Path) -> list[Path]:
        """Save the frames as `name.0012.5s.jpg`, named after their time in seconds, and the transcript."""
        saved = []
        for seconds, (jpeg, _) in self._frames.items() if self._is_seen else ():
            saved.append(folder / f"{short_name(Path(self._source.name).stem)}.{seconds:06.1f}s.jpg")
            saved[-1].write_bytes(jpeg)
        return [*saved, *(self._sound.save_data(folder) if self._sound else [])]

    def _subtitles(self, track: int) -> Section:
        """Return a track of subtitles, one per line: `[0:07-0:09] words`."""
        lines = []
        with open_container(self._source.path) as container:
            stream = container.streams.subtitles[track]
            name = f"subtitles, track {track + 1}{f', {stream.language}' * bool(stream.language)}"
            if stream.codec_context.name in _PICTURE_SUBTITLES:
                self.lost.append(f"The {name} are pictures, and were not read.")
            for packet in container.demux(stream):
                shown = packet.decode() if packet.pts is not None else []
                text = "\n".join(one.dialogue.decode("utf-8", FALLBACK) for one in shown if hasattr(one, "dialogue"))
                start = float((packet.pts or 0) * packet.time_base)
                end = start + float((packet.duration or 0) * packet.time_base)
                if words := one_line(_MARKUP.sub("", text).replace("\\N", " "), 2_000):
                    lines.append(f"[{clock(start)}-{clock(end)}] {words}")
        return Section(name, "\n".join(lines) or "(no text)")

    @cached_property
    def _frames(self) -> dict[float, tuple[bytes, str]]:
        """The JPEG and the text of each frame, by time in seconds."""
        frames = {}
        reads = True
        for seconds, picture in self._pictures():
            text = ""
            if reads:
                try:
                    text = text_in(picture).text
                except FileProblem as problem:
                    self.lost.append(str(problem).replace("\n", " "))
                    reads = False
            out = io.BytesIO()
            picture.save(out, "jpeg", quality=85)
            frames[seconds] = out.getvalue(), text
        return frames

    def _pictures(self) -> Iterator[tuple[float, Image]]:
        """Yield evenly spaced frames, each with its time in seconds."""
        count = max(1, min(_MAX_FRAMES, int(self._length / _MIN_SECONDS_APART) + 1))
        step = self._length / count
        if count > 1:
            self.lost.append(
                f"{count} frames were read, one every {step:.1f} s; text shown for a shorter time may be missing."
            )
        with open_container(self._source.path) as container:
            stream = container.streams.video[0]
            stream.thread_type = "AUTO"
            for number in range(count):
                try:
                    frame = _frame_at(container, stream, number * step)
                except av.FFmpegError as error:
                    self.lost.append(f"The video is corrupt from {clock(number * step)} on: {error.strerror}.")
                    return
                if frame is not None:
                    picture = frame.to_image()
                    picture.thumbnail((_MAX_SIDE_PIXELS, _MAX_SIDE_PIXELS))
                    yield frame.time if frame.time is not None else number * step, picture


def _frame_at(container: Any, stream: Any, seconds: float) -> Any:
    """Return the first frame at or after a time, or the last frame of the film."""
    container.seek(int(seconds * 1_000_000))
    frame = None
    for frame in container.decode(stream):
        if frame.time is None or frame.time >= seconds - 0.001:
            break
    return frame
