"""Films: how long, how large, moments of them as pictures with their text, and what is said."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from agent.files.contents import Contents, FileProblem, ReadLimits, Section, Source, damaged, name_of
from agent.files.media.audio import Sound, clock, length_of, opened, sound_track, tags
from agent.files.media.ocr import text_in

if TYPE_CHECKING:
    from PIL.Image import Image

_MOST_MOMENTS = 24
_BETWEEN = 2.0
"""Seconds between two moments at least."""
_WIDEST = 1280
_NOISE = 40
"""Levels of grey of 256."""
_MOST_PIXELS = 8192 * 8192


class _Moment(NamedTuple):
    seconds: float
    jpeg: bytes
    text: str


class Film(Contents):
    """A film whose first section is what is seen, and the others what is said; looked at when that is asked for.

    Raises:
        FileProblem: It is empty, damaged, or holds neither pictures nor sound.
    """

    def __init__(self, source: Source, limits: ReadLimits) -> None:
        self.kind, self.lost = source.kind, []
        self._source = source
        with opened(source) as container:
            self._length = length_of(source, container)
            sound = sound_track(container)
            tagged, shown = tags(container)
            streams = [one for one in container.streams.video if one.codec_context.width]
            if not streams and sound is None:
                raise damaged(source, source.kind, "it has neither pictures nor sound")
            subtitles = len(container.streams.subtitles)
            self.facts = {"seconds": round(self._length, 3), "tags": tagged, "sound": sound, "subtitles": subtitles}
            size = ", without pictures"
            if streams:
                context, rate, frames = streams[0].codec_context, streams[0].average_rate, streams[0].frames
                self.facts |= {"width": context.width, "height": context.height, "picture_codec": context.name}
                self.facts |= {"frames_per_second": round(float(rate), 3)} if rate else {}
                self.facts |= {"frames": frames} if frames else {}
                size = f", {context.width} x {context.height} pixels"
        heard = "without sound" if sound is None else "with sound"
        self.summary = f"Film of {clock(self._length)} ({self._length:.1f} s){size}, {heard}.{shown}"
        if subtitles:
            self.lost.append(f"{subtitles} tracks of subtitles were not read.")
        if streams:
            self.lost.append(
                "What the film shows is not described: single pictures of it are saved, and their text read."
            )
        self._is_seen = bool(streams)
        self._sound = None if sound is None else Sound(source, self._length, self.facts, self.lost)
        self._moments: list[_Moment] | None = None
        self.count = int(self._is_seen) + (self._sound.stretches if self._sound else 0)

    def sections(self, first: int = 1) -> Iterator[Section]:
        """What is written in its pictures, a line where it changes, then what is said, ten minutes each."""
        if self._is_seen and first == 1:
            lines, last = [], ""
            for moment in self._looked_at():
                if moment.text and moment.text != last:
                    lines.append(f"[{clock(moment.seconds)}]\n{moment.text}")
                last = moment.text
            yield Section("text in the pictures", "\n\n".join(lines) or "(no text was found)")
        if self._sound:
            yield from self._sound.sections(max(1, first - int(self._is_seen)))

    def save_data(self, folder: Path) -> list[Path]:
        """The pictures as `name.0012.5s.jpg`, seconds in the name, and the transcript."""
        stem = Path(name_of(self._source)).stem
        saved = []
        for moment in self._looked_at() if self._is_seen else []:
            path = folder / f"{stem}.{moment.seconds:06.1f}s.jpg"
            path.write_bytes(moment.jpeg)
            saved.append(path)
        return [*saved, *(self._sound.save_data(folder) if self._sound else [])]

    def _looked_at(self) -> list[_Moment]:
        if self._moments is None:
            self._moments = list(self._look())
            self.facts["moments"] = [round(one.seconds, 1) for one in self._moments]
        return self._moments

    def _look(self) -> Iterator[_Moment]:
        reads, text, before = True, "", None
        for seconds, picture in _pictures(self._source, self._length, self.lost):
            if reads and (before is None or _differ(before, picture)):
                try:
                    text = text_in(picture).text
                except FileProblem as problem:
                    self.lost.append(str(problem).replace("\n", " "))
                    reads = False
            before = picture
            out = io.BytesIO()
            picture.save(out, "jpeg", quality=85)
            yield _Moment(seconds, out.getvalue(), text)


def _pictures(source: Source, length: float, lost: list[str]) -> Iterator[tuple[float, Image]]:
    """Pictures at even distances, the first from the beginning, each with its second."""
    import av

    count = max(1, min(_MOST_MOMENTS, int(length / _BETWEEN) + 1))
    step = length / count
    if count > 1:
        lost.append(f"Looked at are {count} pictures, one every {step:.1f} s; what shows for shorter may be missing.")
    with opened(source) as container:
        stream = container.streams.video[0]
        if stream.codec_context.width * stream.codec_context.height > _MOST_PIXELS:
            lost.append("Its pictures are too large to be looked at.")
            return
        stream.thread_type = "AUTO"
        for number in range(count):
            try:
                frame = _frame_at(container, stream, number * step)
            except av.FFmpegError as error:
                lost.append(f"The film is damaged from {clock(number * step)} on: {getattr(error, 'strerror', error)}.")
                return
            if frame is not None:
                picture = frame.to_image()
                picture.thumbnail((_WIDEST, _WIDEST))
                yield frame.time if frame.time is not None else number * step, picture


def _frame_at(container: Any, stream: Any, seconds: float) -> Any:
    """The first picture at or after a moment; the last one there is where the film ends before."""
    container.seek(int(seconds * 1_000_000))
    frame = None
    for frame in container.decode(stream):
        if frame.time is None or frame.time >= seconds - 0.001:
            break
    return frame


def _differ(one: Image, other: Image) -> bool:
    """Whether there may be another text: some dot is brighter or darker by more than compression makes it."""
    from PIL import ImageChops

    greatest: Any = ImageChops.difference(one.convert("L"), other.convert("L")).getextrema()
    return bool(greatest[1] > _NOISE)
