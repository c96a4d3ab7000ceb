"""Who writes down speech, and what is written: one of three engines, chosen by the settings."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from agent.errors import WeightsError
from agent.files.problem import FileProblem, without_package

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.files.media.sound import Samples


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


AskHost: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
"""Has alita ask the endpoint: a process that reads files has neither the key nor a network."""
Engine = Literal["auto", "faster-whisper", "openai-whisper", "api", "none"]
PULL = "alita model pull speech"


@dataclass(frozen=True, slots=True)
class Said:
    """What was said between two moments."""

    start: float
    """Seconds from the beginning of the stretch."""
    end: float
    text: str


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was said in a stretch of sound."""

    engine: str
    """Who wrote it down, with its model: `faster-whisper tiny.en`."""
    said: list[Said]
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Speech:
    """Who writes down speech. JSON-plain, so that it can be given to another process."""

    engine: Engine = "auto"
    model: str = ""
    folder: str = ""
    """Of the models."""
    base_url: str = ""
    api_key: str = field(default="", repr=False)

    def as_json(self) -> dict[str, Any]:
        """The same for another process; `Speech(**it)` is it again."""
        return asdict(self)


_given: list[Speech] = []
_asked: list[AskHost] = []


def use(speech: Speech, ask: AskHost | None = None) -> None:
    """Decides for this process who writes down speech, and who asks an endpoint for it."""
    _given[:], _asked[:] = [speech], [ask] if ask else []


def from_settings(settings: Settings) -> Speech:
    """What the settings say. The endpoint of speech gets its own key; that of all models only at its own address.

    A model of `[models.NAME]` that hears is asked at its endpoint with its key, whatever else is set.
    """
    from agent.models.roles import model_settings

    if settings.speech_model in settings.models:
        endpoint = model_settings(settings).endpoint(settings.speech_model)
        return Speech("api", endpoint.model, base_url=endpoint.url, api_key=endpoint.api_key or "")
    key = settings.speech_api_key or (None if settings.speech_base_url else settings.api_key)
    return Speech(
        engine="api" if settings.speech == "auto" and settings.speech_base_url else settings.speech,
        model=settings.speech_model,
        folder=str(settings.models_dir),
        base_url=settings.speech_base_url or settings.base_url or "",
        api_key=key.get_secret_value() if key else "",
    )


def wants_weights(speech: Speech) -> bool:
    """Whether the pinned weights are what will write it down, so that they should be fetched first."""
    return speech.engine in ("auto", "faster-whisper") and not speech.model and _installed()


def weights_of(speech: Speech) -> list[str]:
    """Where the weights of models on this machine are, or may be."""
    caches = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    own = str(Path(speech.model).expanduser()) if speech.model else ""
    return [place for place in (speech.folder, own, f"{caches}/whisper") if place]


def transcribe(samples: Samples) -> Transcript:
    """What is said in a stretch of sound.

    Args:
        samples: Mono, 16,000 a second, each from -1 to 1.

    Raises:
        FileProblem: Nobody can write it down: a package or the weights are missing, or the endpoint refused.
    """
    speech = _given[0] if _given else _from_user()
    if speech.engine == "api" and _asked:
        from agent.files.media.speech_api import transcribe_through

        return transcribe_through(_asked[0], samples)
    return _engine_of(speech)(samples, speech)


def _from_user() -> Speech:
    from agent.configuration.settings_sources import read_settings

    return from_settings(read_settings())


def _engine_of(speech: Speech) -> Callable[[Samples, Speech], Transcript]:
    from agent.files.media import speech_api

    engine = speech.engine
    if engine == "none":
        raise FileProblem("unsupported", "Writing down speech is switched off (setting `speech`).")
    if engine == "api":
        return speech_api.transcribe
    if engine == "openai-whisper" or (engine == "auto" and not _installed() and find_spec("whisper")):
        return openai_whisper
    return faster_whisper


def _installed() -> bool:
    return find_spec("faster_whisper") is not None
