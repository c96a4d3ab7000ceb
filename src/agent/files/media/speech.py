"""Who writes down speech, and what is written: one of three engines, chosen by the settings."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from agent.files.problem import FileProblem

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.files.media.sound import Samples

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
    from agent.files.media import speech_api, speech_local

    engine = speech.engine
    if engine == "none":
        raise FileProblem("unsupported", "Writing down speech is switched off (setting `speech`).")
    if engine == "api":
        return speech_api.transcribe
    if engine == "openai-whisper" or (engine == "auto" and not _installed() and find_spec("whisper")):
        return speech_local.openai_whisper
    return speech_local.faster_whisper


def _installed() -> bool:
    return find_spec("faster_whisper") is not None
