"""Sounds: how long, how many channels, and what is said, ten minutes a section."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from agent.files.contents import Contents, ReadLimits, Section, Source
from agent.files.media.sound import RATE, clock, length_of, opened, samples, sound_track, tags
from agent.files.media.speech import Said, Transcript, transcribe
from agent.files.previews import Part, pages_part
from agent.files.problem import FileProblem, damaged, name_of
from mcp_tools.tool import Json

STRETCH = 600.0
"""Seconds of sound in one section."""
_SLACK = 1.0
"""Seconds by which a file may be wrong about its length."""
_MOST_SAVED = 6
"""Stretches that a transcript for programs covers."""


class AudioReader:
    """Reads sounds."""

    kinds = frozenset({"mp3", "wav", "m4a", "flac", "ogg", "aac"})

    def open(self, source: Source, limits: ReadLimits) -> Contents:
        """Opens a sound; what is said is written down when a section is asked for.

        Raises:
            FileProblem: It is empty, damaged, or has no sound.
        """
        with opened(source) as container:
            track = sound_track(container)
            if track is None:
                raise damaged(source, source.kind, "it has no sound")
            length = length_of(source, container)
            facts: dict[str, Json] = {
                "seconds": round(length, 3),
                "channels": track.channels,
                "sample_rate": track.rate,
                "codec": track.codec.removesuffix("float"),
                "tags": dict(tags(container)),
            }
        channels = {1: "mono", 2: "stereo"}.get(track.channels, f"{track.channels} channels")
        summary = f"Sound of {clock(length)} ({length:.1f} s), {channels}, {track.rate:,} Hz, {facts['codec']}."
        summary += "".join(f"\n{key}: {value}" for key, value in tags_shown(facts["tags"]))
        spoken = Spoken(source.path, length)
        return SoundContents(source.kind, summary, facts, spoken, spoken.stretches, stem=Path(name_of(source)).stem)


def tags_shown(found: Json) -> list[tuple[str, str]]:
    """The tags that tell a person something."""
    shown = ("title", "artist", "album", "date", "genre", "comment")
    return [(key, str(found[key])[:200]) for key in shown if key in found] if isinstance(found, dict) else []


class Spoken:
    """What is said in a file, written down stretch by stretch, each once.

    Args:
        path: A file with a track of sound.
        length: Its seconds.
    """

    def __init__(self, path: Path, length: float) -> None:
        self.stretches = max(1, math.ceil(length / STRETCH - 0.001))
        self.engine = ""
        self.lost: list[str] = []
        self._path, self._length = path, length
        self._said: dict[int, list[Said]] = {}

    def said(self, number: int) -> list[Said]:
        """What is said in a stretch, counted from 1, in seconds of the whole file; nothing after a failure.

        Why something is missing stands in `lost`.
        """
        if number not in self._said:
            self._said[number] = self._write_down((number - 1) * STRETCH)
        return self._said[number]

    def text(self, number: int) -> str:
        """The same, a line for each piece: `[0:07-0:12] words`."""
        return "\n".join(f"[{clock(one.start)}-{clock(one.end)}] {one.text}" for one in self.said(number))

    def _write_down(self, start: float) -> list[Said]:
        sound, broken = samples(self._path, start, STRETCH)
        if broken:
            self._tell(f"The sound breaks off after {clock(start + len(sound) / RATE)}: {broken}.")
        end = start + len(sound) / RATE
        if not broken and end < min(start + STRETCH, self._length) - _SLACK:
            self._tell(f"The sound ends after {clock(end)}, though the file says {clock(self._length)}: it may be cut.")
        if not len(sound):
            return []
        try:
            told: Transcript = transcribe(sound)
        except FileProblem as problem:
            self._tell(str(problem).replace("\n", " "))
            return []
        self.engine = told.engine
        for sentence in told.lost:
            self._tell(sentence)
        return [Said(start + one.start, min(start + one.end, end), one.text) for one in told.said if one.text]

    def _tell(self, sentence: str) -> None:
        if sentence not in self.lost:
            self.lost.append(sentence)


@dataclass(slots=True)
class SoundContents:
    """A sound whose speech is written down as it is read."""

    kind: str
    summary: str
    facts: dict[str, Json]
    spoken: Spoken
    count: int | None
    """A section for each ten minutes."""
    stem: str = "sound"
    lost: list[str] = field(default_factory=list)

    def sections(self, first: int = 1) -> Iterator[Section]:
        """The transcript, ten minutes each."""
        for number in range(first, self.spoken.stretches + 1):
            yield self.section(number)

    def section(self, number: int) -> Section:
        """One stretch."""
        text = self.spoken.text(number)
        self._note()
        start = (number - 1) * STRETCH
        name = f"transcript, {clock(start)} to {clock(min(start + STRETCH, self._length))}"
        return Section(name, text or self._silence())

    def preview(self) -> list[Part]:
        """How the transcript begins."""
        return [pages_part(self)]

    def save_data(self, folder: Path) -> list[Path]:
        """The transcript as JSON: engine, and pieces with start, end (seconds) and text."""
        stretches = min(self.spoken.stretches, _MOST_SAVED)
        said = [one for number in range(1, stretches + 1) for one in self.spoken.said(number)]
        self._note()
        if not said:
            return []
        if stretches < self.spoken.stretches:
            self.lost.append(f"The transcript in the file ends after {clock(stretches * STRETCH)}.")
        path = folder / f"{self.stem}.transcript.json"
        pieces = [{"start": round(one.start, 2), "end": round(one.end, 2), "text": one.text} for one in said]
        told = {"engine": self.spoken.engine, "text": " ".join(one.text for one in said), "pieces": pieces}
        path.write_text(json.dumps(told, ensure_ascii=False, indent=1), encoding="utf-8")
        return [path]

    def close(self) -> None:
        """Nothing is open."""

    @property
    def _length(self) -> float:
        seconds = self.facts["seconds"]
        return float(seconds) if isinstance(seconds, int | float) else 0.0

    def _note(self) -> None:
        if self.spoken.engine:
            self.facts["transcript_by"] = self.spoken.engine
        self.lost += [sentence for sentence in self.spoken.lost if sentence not in self.lost]

    def _silence(self) -> str:
        return "(no speech was recognised)" if self.spoken.engine else "(what is said was not written down)"
