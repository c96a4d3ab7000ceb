"""Speech written down on this machine: faster-whisper, or openai-whisper where it is chosen. Models are loaded once."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.errors import WeightsError
from agent.files.media.speech import PULL, Said, Transcript
from agent.files.problem import FileProblem, without_package

if TYPE_CHECKING:
    from agent.files.media.sound import Samples
    from agent.files.media.speech import Speech

_SMALL = "The transcript is by tiny.en, a small model of English: names and rare words may be misheard."
_UNSURE = "The transcript is uncertain: the model hardly recognised the speech (noise, music or another language?)."
_UNSURE_BELOW = -1.0


def faster_whisper(samples: Samples, speech: Speech) -> Transcript:
    """What is said, by the pinned tiny.en weights, or by those in the folder that the setting `speech_model` names.

    Raises:
        FileProblem: The package or the weights are missing.
    """
    folder, name = _weights(speech)
    model = _faster_model(str(folder))
    english = not model.model.is_multilingual
    found, _ = model.transcribe(
        samples, language="en" if english else None, condition_on_previous_text=False, beam_size=5
    )
    said, doubts = [], []
    for piece in found:
        said.append(Said(piece.start, piece.end, piece.text.strip()))
        doubts.append(piece.avg_logprob)
    unsure = bool(doubts) and sum(doubts) / len(doubts) < _UNSURE_BELOW
    lost = (*((_SMALL,) if name == "tiny.en" and said else ()), *((_UNSURE,) if unsure else ()))
    return Transcript(f"faster-whisper {name}", said, lost)


def openai_whisper(samples: Samples, speech: Speech) -> Transcript:
    """What is said, by openai-whisper and the model that the setting `speech_model` names (`base` unless told).

    Raises:
        FileProblem: The package is missing, or it cannot get its model.
    """
    name = speech.model or "base"
    model = _openai_model(name)
    told: dict[str, Any] = model.transcribe(samples, fp16=False, condition_on_previous_text=False)
    said = [Said(piece["start"], piece["end"], piece["text"].strip()) for piece in told["segments"]]
    return Transcript(f"openai-whisper {name}", said)


def _weights(speech: Speech) -> tuple[Path, str]:
    from agent.models.embedded.weights_set import WeightsSet

    own = Path(speech.model).expanduser() if speech.model else None
    if own is not None:
        if not (own / "model.bin").is_file():
            raise FileProblem(
                "missing",
                f"The setting speech_model names {own}, which is no folder of a faster-whisper model.",
                remedy=f"Leave it out and run: {PULL}",
            )
        return own, own.name
    try:
        return WeightsSet(Path(speech.folder)).ready(), "tiny.en"
    except WeightsError as error:
        raise FileProblem(
            "unsupported", f"What is said cannot be written down: {error.message}.", remedy=f"Run: {PULL}"
        ) from None


@lru_cache(maxsize=1)
def _faster_model(folder: str) -> Any:
    try:
        from faster_whisper import WhisperModel  # type: ignore[import-untyped]  # it has no stubs
    except ImportError:
        raise without_package("faster-whisper", "audio", "what is said cannot be written down") from None
    threads = min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    try:
        return WhisperModel(folder, device="cpu", compute_type="int8", cpu_threads=threads, local_files_only=True)
    except (RuntimeError, ValueError) as error:
        raise FileProblem("unsupported", f"The model of speech in {folder} cannot be loaded: {error}.") from None


@lru_cache(maxsize=1)
def _openai_model(name: str) -> Any:
    try:
        import whisper  # type: ignore[import-not-found, unused-ignore]  # an extra of its own, without stubs
    except ImportError:
        raise without_package("openai-whisper", "whisper", "what is said cannot be written down") from None
    try:
        return whisper.load_model(name, device="cpu")
    except (RuntimeError, OSError) as error:
        raise FileProblem(
            "unsupported",
            f"openai-whisper could not load its model {name!r}: {error}.",
            remedy=f"Download it: python -c \"import whisper; whisper.load_model('{name}')\". Or name another model, or"
            " the path of a .pt file, with the setting speech_model.",
        ) from None
