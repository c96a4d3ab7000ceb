"""Films: how long, how large, moments of them as pictures with their text, and what is said."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.files.contents import Contents, ReadLimits, Section, Source
from agent.files.media.audio import SoundContents, Spoken, clock, length_of, opened, sound_track, tags, tags_shown
from agent.files.previews import Part, pages_part
from agent.files.problem import FileProblem, damaged, name_of
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from PIL.Image import Image

_MOST_MOMENTS = 24
_BETWEEN = 2.0
"""Seconds between two moments at least."""
_WIDEST = 1280
_NOISE = 40
"""Levels of grey of 256."""
_MOST_PIXELS = 8192 * 8192


class VideoReader:
    """Reads films."""

    kinds = frozenset({"mov", "mp4", "webm", "mkv", "avi"})

    def open(self, source: Source, limits: ReadLimits) -> Contents:
        """Opens a film; it is looked at and listened to when a section is asked for.

        Raises:
            FileProblem: It is empty, damaged, or holds neither pictures nor sound.
        """
        with opened(source) as container:
            length = length_of(source, container)
            sound = sound_track(container)
            facts: dict[str, Json] = {"seconds": round(length, 3), "tags": dict(tags(container))}
            streams = [one for one in container.streams.video if one.codec_context.width]
            if not streams and sound is None:
                raise damaged(source, source.kind, "it has neither pictures nor sound")
            if streams:
                facts.update(_look(streams[0]))
            facts["sound"] = (
                {"codec": sound.codec, "channels": sound.channels, "sample_rate": sound.rate} if sound else None
            )
            facts["subtitles"] = len(container.streams.subtitles)
        return FilmContents(source, length, facts, bool(streams), sound is not None)


def _look(stream: Any) -> dict[str, Json]:
    context, rate = stream.codec_context, stream.average_rate
    facts: dict[str, Json] = {"width": context.width, "height": context.height, "picture_codec": context.name}
    if rate:
        facts["frames_per_second"] = round(float(rate), 3)
    if stream.frames:
        facts["frames"] = stream.frames
    return facts


@dataclass(frozen=True, slots=True)
class Moment:
    """One picture of a film."""

    seconds: float
    picture: bytes
    """JPEG."""
    text: str


@dataclass(slots=True)
class FilmContents:
    """A film whose first section is what is seen, and the others what is said."""

    source: Source
    length: float
    facts: dict[str, Json]
    seen: bool
    heard: bool
    kind: str = ""
    summary: str = ""
    lost: list[str] = field(default_factory=list)
    count: int | None = None
    _moments: list[Moment] | None = None
    _sound: SoundContents | None = None

    def __post_init__(self) -> None:
        self.kind = self.source.kind
        size = f", {self.facts['width']} x {self.facts['height']} pixels" if self.seen else ", without pictures"
        sound = "with sound" if self.heard else "without sound"
        self.summary = f"Film of {clock(self.length)} ({self.length:.1f} s){size}, {sound}."
        self.summary += "".join(f"\n{name}: {value}" for name, value in tags_shown(self.facts["tags"]))
        if self.heard:
            spoken = Spoken(self.source.path, self.length)
            stem = Path(name_of(self.source)).stem
            self._sound = SoundContents(self.kind, "", self.facts, spoken, spoken.stretches, stem, self.lost)
        if self.facts["subtitles"]:
            self.lost.append(f"{self.facts['subtitles']} tracks of subtitles were not read.")
        if self.seen:
            self.lost.append(
                "What the film shows is not described: single pictures of it are saved, and their text read."
            )
        self.count = int(self.seen) + (self._sound.count or 0 if self._sound else 0)

    def sections(self, first: int = 1) -> Iterator[Section]:
        """What is written in its pictures, then what is said, ten minutes each."""
        if self.seen and first == 1:
            yield Section("text in the pictures", self._text() or "(no text was found)")
        if self._sound:
            yield from self._sound.sections(max(1, first - int(self.seen)))

    def preview(self) -> list[Part]:
        """How the texts of its pictures begin, and what is said."""
        return [pages_part(self)]

    def save_data(self, folder: Path) -> list[Path]:
        """The pictures as `name.0012.5s.jpg`, seconds in the name, and the transcript."""
        stem = Path(name_of(self.source)).stem
        saved = []
        for moment in self._looked_at() if self.seen else []:
            path = folder / f"{stem}.{moment.seconds:06.1f}s.jpg"
            path.write_bytes(moment.picture)
            saved.append(path)
        return [*saved, *(self._sound.save_data(folder) if self._sound else [])]

    def close(self) -> None:
        """Nothing is open."""

    def _text(self) -> str:
        """A line for each moment whose text differs from that before it."""
        lines, last = [], ""
        for moment in self._looked_at():
            if moment.text and moment.text != last:
                lines.append(f"[{clock(moment.seconds)}]\n{moment.text}")
            last = moment.text
        return "\n\n".join(lines)

    def _looked_at(self) -> list[Moment]:
        if self._moments is None:
            self._moments = list(self._look())
            self.facts["moments"] = [round(one.seconds, 1) for one in self._moments]
        return self._moments

    def _look(self) -> Iterator[Moment]:
        reads, text, before = True, "", None
        for seconds, picture in moments(self.source, self.length, self.lost):
            if reads and (before is None or _differ(before, picture)):
                try:
                    text = _text_in(picture)
                except FileProblem as problem:
                    self.lost.append(str(problem).replace("\n", " "))
                    reads = False
            before = picture
            out = io.BytesIO()
            picture.save(out, "jpeg", quality=85)
            yield Moment(seconds, out.getvalue(), text)


def moments(source: Source, length: float, lost: list[str]) -> Iterator[tuple[float, Image]]:
    """Pictures at even distances, the first from the beginning.

    Args:
        source: A film with pictures.
        length: Its seconds.
        lost: Told what is left out.
    """
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


def _text_in(picture: Image) -> str:
    from agent.files.media.ocr import text_in

    return text_in(picture).text
