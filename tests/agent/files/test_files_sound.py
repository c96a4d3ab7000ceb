"""Sounds and films: their length and tracks, what is said, and what is written in their pictures."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from agent.files.contents import FileProblem
from agent.files.media import speech
from agent.files.media.audio import samples
from agent.files.media.speech import Segment, Speech, SpeechPart
from support.contents import Open, named, text_of
from support.pictures import written
from support.sounds import FOX, converted, film_of, tone


@pytest.fixture
def tiny(speech_models: Path) -> None:
    speech.use(Speech(folder=str(speech_models)))


def test_length_channels_and_rate_of_a_wav(open_file: Open) -> None:
    contents = open_file("wav", tone(1.5))
    assert contents.summary == "Sound of 1.5 s, stereo, 8,000 Hz, pcm_s16le."
    assert text_of(contents) == "(the speech was not transcribed)"
    assert contents.lost == ["Transcription is switched off (setting `speech`)."]


@pytest.mark.parametrize("kind", ["mp3", "m4a", "flac", "ogg", "aac"])
def test_every_kind_of_sound(open_file: Open, tmp_path: Path, kind: str) -> None:
    path = FOX if kind == "mp3" else converted(FOX, tmp_path / f"fox.{kind}", "-metadata", "title=Fox")
    contents = open_file(kind, path)
    assert contents.summary.startswith("Sound of 6.")
    assert "mono" in contents.summary
    if kind in ("m4a", "flac"):
        assert contents.summary.endswith("\ntitle: Fox")


@pytest.mark.model
def test_what_is_said_is_written_down_with_its_times(open_file: Open, tiny: None, tmp_path: Path) -> None:
    contents = open_file("mp3", FOX, name="fox.mp3")
    text = text_of(contents)
    assert re.match(r"\[0:00-0:0\d\] ", text)
    for words in ("quick brown fox", "lazy dog", "42 dollars"):
        assert words in text.replace("forty two", "42")
    assert named(contents) == ["transcript, 0:00 to 0:06"]
    assert any("tiny.en" in sentence for sentence in contents.notes)
    (path,) = contents.save_data(tmp_path)
    told = json.loads(path.read_text())
    assert path.name == "fox.transcript.json"
    assert told["engine"] == "faster-whisper tiny.en"
    assert told["pieces"][0]["start"] == 0
    assert told["pieces"][-1]["end"] < 7


@pytest.mark.parametrize("kind", ["mp4", "webm", "mov", "mkv", "avi"])
def test_the_pictures_of_every_kind_of_film(open_file: Open, tmp_path: Path, kind: str) -> None:
    pictures = []
    for number in (1, 2):
        pictures.append(tmp_path / f"{number}.png")
        written(f"Step {number}", size=(320, 120)).save(pictures[-1])
    contents = open_file(kind, film_of(pictures, tmp_path / f"film.{kind}", 3))
    assert text_of(contents) == "[0:00]\nStep 1\n\n[0:03]\nStep 2"
    assert contents.count == 1
    assert "without sound" in contents.summary
    jpegs = [one.read_bytes()[:3] for one in contents.save_data(tmp_path)]
    assert jpegs
    assert set(jpegs) == {b"\xff\xd8\xff"}


def test_sections_are_ten_minutes_and_each_is_heard_alone(
    open_file: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading the third section does not transcribe the first two."""
    heard: list[int] = []

    def transcribe(sound: object) -> SpeechPart:
        heard.append(len(sound))  # type: ignore[arg-type]
        return SpeechPart("test", [Segment(1, 2, "hello")])

    monkeypatch.setattr("agent.files.media.audio.transcribe", transcribe)
    monkeypatch.setattr("agent.files.media.audio.SECTION_SECONDS", 10.0)
    contents = open_file("wav", tone(25, channels=1))
    assert contents.count == 3
    assert [(one.name, one.text) for one in contents.sections(3)] == [("transcript, 0:20 to 0:25", "[0:21-0:22] hello")]
    assert heard == [5 * 16_000]
    assert [one.text for one in contents.sections()] == [f"[0:{n}1-0:{n}2] hello" for n in (0, 1, 2)]
    assert heard == [5 * 16_000, 10 * 16_000, 10 * 16_000]


@pytest.mark.parametrize("kind", ["m4a"])
def test_a_stretch_from_the_middle(tmp_path: Path, kind: str) -> None:
    whole, _ = samples(converted(FOX, tmp_path / f"fox.{kind}"), 0, 100)
    part, broken = samples(tmp_path / f"fox.{kind}", 3, 2)
    assert broken == ""
    assert len(part) == 2 * 16_000
    best = max(range(-3200, 3201, 40), key=lambda late: float(part[4000:28_000] @ whole[52_000 + late : 76_000 + late]))
    assert abs(best) <= 1600


@pytest.mark.parametrize("kind", ["mp3", "flac", "ogg"])
def test_a_sound_that_is_shorter_than_it_says_is_told(open_file: Open, tmp_path: Path, kind: str) -> None:
    whole = converted(FOX, tmp_path / f"fox.{kind}").read_bytes()
    contents = open_file(kind, whole[: len(whole) // 2])
    text_of(contents)
    is_short = "Sound of 3." in contents.summary or "Sound of 2." in contents.summary
    assert is_short or any("it may be truncated" in one or "The audio stops" in one for one in contents.lost)


@pytest.mark.parametrize("kind", ["wav", "mp3", "m4a", "flac", "ogg", "mp4", "webm"])
def test_what_is_no_sound(open_file: Open, kind: str) -> None:
    with pytest.raises(FileProblem) as caught:
        open_file(kind, b"\x81\x13 noise \xfe" * 400)
    assert caught.value.reason in ("damaged", "truncated" if kind == "flac" else "damaged")


@pytest.mark.parametrize("kind", ["m4a", "mp4", "mkv"])
def test_a_film_or_sound_whose_index_is_cut_off(open_file: Open, tmp_path: Path, kind: str) -> None:
    whole = converted(FOX, tmp_path / f"fox.{kind}").read_bytes()
    with pytest.raises(FileProblem) as caught:
        open_file(kind, whole[:200])
    assert caught.value.reason in ("damaged", "truncated")


def test_a_missing_package_is_named_with_the_command(open_file: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "agent.files.media.audio", raising=False)
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(FileProblem, match=r"the extra \[audio\]"):
        open_file("wav", tone())


def test_missing_weights_are_told_with_the_command(open_file: Open, tmp_path: Path) -> None:
    speech.use(Speech(folder=str(tmp_path)))
    contents = open_file("wav", tone())
    assert text_of(contents) == "(the speech was not transcribed)"
    assert "alita model pull speech" in contents.lost[0]


def test_openai_whisper_speaks_when_it_is_chosen(
    open_file: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package is large, so a fake module records the call and returns a result."""
    (tmp_path / "whisper.py").write_text(
        "class Model:\n"
        "    def transcribe(self, sound, **options):\n"
        "        return {'segments': [{'start': 0.5, 'end': 0.9, 'text': f' heard {len(sound)}'}]}\n"
        "def load_model(name, device, root):\n"
        "    if name == 'odd':\n"
        "        raise RuntimeError('Model odd not found')\n"
        "    return Model()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "whisper", raising=False)
    speech._openai_model.cache_clear()
    speech.use(Speech(engine="openai-whisper", model="small"))
    contents = open_file("wav", tone())
    assert text_of(contents) == "[0:00-0:00] heard 16000"
    speech.use(Speech(engine="openai-whisper", model="odd"))
    assert "could not load its model 'odd'" in _told(open_file)


def _told(open_file: Open) -> str:
    contents = open_file("wav", tone())
    text_of(contents)
    return " ".join(contents.lost)
