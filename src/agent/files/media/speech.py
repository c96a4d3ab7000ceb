"""Transcribes speech with faster-whisper, openai-whisper or an OpenAI-compatible endpoint."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from agent.errors import WeightsError
from agent.files.contents import FileProblem, without_package
from agent.files.media.engine_results import AskHost, found_once
from mcp_tools.network import NetworkError, network_client

if TYPE_CHECKING:
    import numpy
    from openai import OpenAI

    from agent.configuration.settings import Settings

    Samples: TypeAlias = numpy.ndarray[tuple[int], numpy.dtype[numpy.float32]]

RATE = 16_000
"""Samples per second, the rate that speech models expect."""
Engine = Literal["auto", "faster-whisper", "openai-whisper", "api", "none"]
PULL = "alita model pull speech"
_SMALL = "The transcript was made by tiny.en, a small English model: names and rare words may be wrong."
_UNSURE = "The transcript is uncertain: the model barely recognised the speech (noise, music or another language?)."
_UNSURE_BELOW = -1.0
_ENDPOINT_SECONDS = 300.0


class Segment(NamedTuple):
    """A piece of speech. Times are seconds from the beginning of the samples."""

    start: float
    end: float
    text: str


class SpeechPart(NamedTuple):
    """The speech in a part of a sound."""

    engine: str
    """Engine and model, such as `faster-whisper tiny.en`."""
    segments: list[Segment]
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Speech:
    """The speech engine and its settings. It is sent to reading processes with `asdict`."""

    engine: Engine = "auto"
    model: str = ""
    folder: str = ""
    """The folder of downloaded models."""
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    prepare: Callable[[], Awaitable[None]] | None = field(default=None, repr=False, compare=False)
    """Called before a sound is read; downloads the weights if necessary."""


_engine: tuple[Speech, AskHost | None] = Speech(engine="none"), None


def use(speech: Speech, ask: AskHost | None = None) -> None:
    """Set the engine for this process, and the function that asks alita to call an endpoint."""
    global _engine
    _engine = speech, ask


def from_settings(settings: Settings) -> Speech:
    """Choose the engine from the settings.

    A speech endpoint gets `speech_api_key`. The general `api_key` is sent only to the general endpoint. A model from
    `[models.NAME]` is called at its own endpoint with its own key.
    """
    from agent.models.roles import endpoint_of

    if settings.speech_model in settings.models:
        endpoint = endpoint_of(settings, settings.speech_model)
        return Speech("api", endpoint.model, base_url=endpoint.url, api_key=endpoint.api_key or "")
    key = settings.speech_api_key or (None if settings.speech_base_url else settings.api_key)
    return Speech(
        engine="api" if settings.speech == "auto" and settings.speech_base_url else settings.speech,
        model=settings.speech_model,
        folder=str(settings.models_dir),
        base_url=settings.speech_base_url or settings.base_url or "",
        api_key=key.get_secret_value() if key else "",
    )


def engine_of(speech: Speech) -> Engine:
    """Return the engine. `auto` means faster-whisper, unless only openai-whisper is installed."""
    if speech.engine != "auto":
        return speech.engine
    is_alone = find_spec("faster_whisper") is None and find_spec("whisper") is not None
    return "openai-whisper" if is_alone else "faster-whisper"


def wants_weights(speech: Speech) -> bool:
    """Return True if the pinned weights are needed. They are then downloaded before a sound is read."""
    is_here = find_spec("faster_whisper") is not None
    return engine_of(speech) == "faster-whisper" and not speech.model and is_here


def weights_of(speech: Speech) -> list[str]:
    """Return the folders of weights that the reading process may read. They need not exist."""
    caches = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    own = str(Path(speech.model).expanduser()) if speech.model else ""
    return [place for place in (speech.folder, own, f"{caches}/whisper") if place]


def transcribe(samples: Samples) -> SpeechPart:
    """Transcribe a part of a sound.

    Args:
        samples: Mono, 16,000 samples per second, each from -1 to 1.
    """
    speech, _ = _engine
    if speech.engine == "none":
        raise FileProblem("unsupported", "Transcription is switched off (setting `speech`).")
    form = f"{speech.engine} {speech.model} {speech.base_url}"
    found = found_once(form, samples.tobytes(), lambda: _transcribe(samples)._asdict())
    return SpeechPart(found["engine"], [Segment(*one) for one in found["segments"]], tuple(found["lost"]))


def _transcribe(samples: Samples) -> SpeechPart:
    speech, ask = _engine
    if speech.engine == "api":
        if ask is None:
            return _by_endpoint(_as_wav(samples), speech)
        reply = ask({"sound": base64.b64encode(_as_wav(samples)).decode()})
        if problem := reply.get("problem"):
            raise FileProblem("unsupported", problem["message"], remedy=problem["remedy"])
        return SpeechPart(reply["engine"], [Segment(*one) for one in reply["segments"]], tuple(reply["lost"]))
    if engine_of(speech) == "openai-whisper":
        return _by_openai_whisper(samples, speech)
    return _by_faster_whisper(samples, speech)


async def serve(question: dict[str, Any], speech: Speech) -> dict[str, Any]:
    """Call the speech endpoint for a reading process. The question and the reply are JSON."""
    import asyncio

    try:
        part = await asyncio.to_thread(_by_endpoint, base64.b64decode(question["sound"]), speech)
        return part._asdict()
    except FileProblem as problem:
        return {"problem": {"message": problem.message, "remedy": problem.remedy}}


def _by_faster_whisper(samples: Samples, speech: Speech) -> SpeechPart:
    """Transcribe with the pinned tiny.en weights, or with those in the folder `speech_model`."""
    folder, name = _weights(speech)
    model = _faster_model(str(folder))
    english = not model.model.is_multilingual
    found, _ = model.transcribe(
        samples, language="en" if english else None, condition_on_previous_text=False, beam_size=5
    )
    segments, doubts = [], []
    for piece in found:
        segments.append(Segment(piece.start, piece.end, piece.text.strip()))
        doubts.append(piece.avg_logprob)
    unsure = bool(doubts) and sum(doubts) / len(doubts) < _UNSURE_BELOW
    lost = (*((_SMALL,) if name == "tiny.en" and segments else ()), *((_UNSURE,) if unsure else ()))
    return SpeechPart(f"faster-whisper {name}", segments, lost)


def _weights(speech: Speech) -> tuple[Path, str]:
    from agent.models.embedded.weights import speech_weights

    if speech.model:
        own = Path(speech.model).expanduser()
        if not (own / "model.bin").is_file():
            raise FileProblem(
                "missing",
                f"The setting speech_model names {own}, which is not a folder with a faster-whisper model.",
                remedy=f"Remove the setting, and run: {PULL}",
            )
        return own, own.name
    try:
        return speech_weights(Path(speech.folder)).ready(), "tiny.en"
    except WeightsError as error:
        raise FileProblem(
            "unsupported", f"Speech cannot be transcribed: {error.message}.", remedy=f"Run: {PULL}"
        ) from None


@lru_cache(maxsize=1)
def _faster_model(folder: str) -> Any:
    try:
        from faster_whisper import WhisperModel  # type: ignore[import-untyped]  # it has no stubs
    except ImportError:
        raise without_package("faster-whisper", "audio", "speech cannot be transcribed") from None
    threads = min(4, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    try:
        return WhisperModel(folder, device="cpu", compute_type="int8", cpu_threads=threads, local_files_only=True)
    except (RuntimeError, ValueError) as error:
        raise FileProblem("unsupported", f"The speech model in {folder} cannot be loaded: {error}.") from None


def _by_openai_whisper(samples: Samples, speech: Speech) -> SpeechPart:
    """Transcribe with the model that the setting `speech_model` names, by default `base`."""
    from agent.models.embedded.whisper_weights import WhisperWeights

    weights = WhisperWeights(Path(speech.folder), speech.model)
    name = weights.path.stem if weights.is_own else weights.name
    # without weights from alita, use those in openai-whisper's own folder
    root = str(weights.folder) if weights.are_here else None
    model = _openai_model(str(weights.path) if weights.is_own else weights.name, root)
    result: dict[str, Any] = model.transcribe(samples, fp16=False, condition_on_previous_text=False, beam_size=5)
    segments = [Segment(piece["start"], piece["end"], piece["text"].strip()) for piece in result["segments"]]
    return SpeechPart(f"openai-whisper {name}", segments)


@lru_cache(maxsize=1)
def _openai_model(name: str, root: str | None) -> Any:
    try:
        import whisper  # a separate extra, without stubs
    except ImportError:
        raise without_package("openai-whisper", "whisper", "speech cannot be transcribed") from None
    try:
        return whisper.load_model(name, "cpu", root)
    except (RuntimeError, OSError) as error:
        raise FileProblem(
            "unsupported",
            f"openai-whisper could not load its model {name!r}: {error}.",
            remedy=f"Download it with: {PULL}. Or set speech_model to another model or to the path of a .pt file.",
        ) from None


def _by_endpoint(sound: bytes, speech: Speech) -> SpeechPart:
    """Transcribe a WAV file at an endpoint, with `POST /audio/transcriptions`."""
    import httpx2
    import openai

    from agent.models.failures import Endpoint, openai_failure
    from agent.models.openai import omitted_headers
    from agent.models.protocol import OPENAI_URL

    url, model = speech.base_url or OPENAI_URL, speech.model or "whisper-1"
    endpoint = Endpoint(model, url, "ALITA_SPEECH_API_KEY", speech.api_key or None)
    try:
        with openai.OpenAI(
            base_url=url,
            api_key=speech.api_key or "none",
            timeout=_ENDPOINT_SECONDS,
            default_headers=omitted_headers(url),
            http_client=network_client(httpx2.Client, timeout=_ENDPOINT_SECONDS),
        ) as client:
            segments, lost = _ask(client, model, sound)
    except NetworkError as error:
        raise FileProblem("unsupported", f"Speech was not transcribed. {error.message}", remedy=error.remedy) from None
    except openai.OpenAIError as error:
        failure = openai_failure(endpoint, error)
        if failure is None:
            raise
        raise FileProblem(
            "unsupported",
            f"Speech was not transcribed: {failure.error().message}.",
            remedy="Check the settings speech_base_url, speech_api_key and speech_model (`alita config show`).",
        ) from None
    except ValueError as error:
        raise FileProblem("unsupported", f"{endpoint.shown_url} returned an incomplete response: {error}.") from None
    return SpeechPart(f"{endpoint.host} {model}", segments, lost)


def _ask(client: OpenAI, model: str, sound: bytes) -> tuple[list[Segment], tuple[str, ...]]:
    import openai

    file = ("sound.wav", sound, "audio/wav")
    try:
        result: Any = client.audio.transcriptions.create(
            file=file, model=model, response_format="verbose_json", timestamp_granularities=["segment"]
        )
    except openai.BadRequestError:  # newer models return only plain text
        result = client.audio.transcriptions.create(file=file, model=model, response_format="json")
    text = getattr(result, "text", None)
    if not isinstance(text, str):
        raise FileProblem("unsupported", "The speech endpoint returned no text.")
    if pieces := getattr(result, "segments", None):
        return [Segment(float(p.start), float(p.end), p.text.strip()) for p in pieces], ()
    segments = [Segment(0.0, (len(sound) - 44) / 2 / RATE, text.strip())] if text.strip() else []
    return segments, ("The endpoint returns no timestamps within sections of ten minutes.",) if segments else ()


def _as_wav(samples: Samples) -> bytes:
    """Return the samples as a 16-bit WAV file. Ten minutes of sound stay below the 25 MB that endpoints accept."""
    import wave

    import numpy

    written = io.BytesIO()
    with wave.open(written, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes((numpy.clip(samples, -1, 1) * 32767).astype("<i2").tobytes())
    return written.getvalue()
