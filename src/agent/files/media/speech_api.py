"""Speech written down by an OpenAI-compatible endpoint (`POST /audio/transcriptions`)."""

from __future__ import annotations

import asyncio
import base64
import io
import wave
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from agent.files.media.sound import RATE
from agent.files.media.speech import Said, Transcript
from agent.files.problem import FileProblem

if TYPE_CHECKING:
    from openai import OpenAI

    from agent.files.media.sound import Samples
    from agent.files.media.speech import AskHost, Speech

_MODEL = "whisper-1"
_SECONDS = 300.0


def transcribe(samples: Samples, speech: Speech) -> Transcript:
    """What is said, by the endpoint's model; with time stamps where it gives them.

    Raises:
        FileProblem: The endpoint cannot be reached or refuses.
    """
    return _written_down(as_wav(samples), speech)


def transcribe_through(ask: AskHost, samples: Samples) -> Transcript:
    """What is said, from a process that must have alita ask the endpoint.

    Raises:
        FileProblem: The endpoint cannot be reached or refuses.
    """
    told = ask({"sound": base64.b64encode(as_wav(samples)).decode()})
    if problem := told.get("problem"):
        raise FileProblem("unsupported", problem["message"], remedy=problem["remedy"])
    return Transcript(told["engine"], [Said(**one) for one in told["said"]], tuple(told["lost"]))


async def serve(asked: dict[str, Any], speech: Speech) -> dict[str, Any]:
    """What `transcribe_through` asks for, as JSON."""
    try:
        found = await asyncio.to_thread(_written_down, base64.b64decode(asked["sound"]), speech)
    except FileProblem as problem:
        return {"problem": {"message": problem.message, "remedy": problem.remedy}}
    return asdict(found)


def _written_down(sound: bytes, speech: Speech) -> Transcript:
    """What a WAV file says.

    Raises:
        FileProblem: The endpoint cannot be reached or refuses.
    """
    import openai

    from agent.models.failures import Endpoint, openai_failure
    from agent.models.reserved_names import OPENAI_URL

    url, model = speech.base_url or OPENAI_URL, speech.model or _MODEL
    endpoint = Endpoint(model, url, "ALITA_SPEECH_API_KEY", speech.api_key or None)
    try:
        with openai.OpenAI(base_url=url, api_key=speech.api_key or "none", timeout=_SECONDS) as client:
            said, lost = _ask(client, model, sound)
    except openai.OpenAIError as error:
        failure = openai_failure(endpoint, error)
        if failure is None:
            raise
        raised = failure.error()
        raise FileProblem(
            "unsupported",
            f"What is said was not written down: {raised.message}.",
            remedy="Check the settings speech_base_url, speech_api_key and speech_model (`alita config show`).",
        ) from None
    except ValueError as error:
        raise FileProblem("unsupported", f"{endpoint.shown_url} gave no whole answer: {error}.") from None
    return Transcript(f"{endpoint.host} {model}", said, lost)


def as_wav(samples: Samples) -> bytes:
    """The samples as a WAV file of 16 bits: ten minutes stay below the 25 MB that endpoints take."""
    import numpy

    whole = (numpy.clip(samples, -1, 1) * 32767).astype("<i2").tobytes()
    written = io.BytesIO()
    with wave.open(written, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(whole)
    return written.getvalue()


def _ask(client: OpenAI, model: str, sound: bytes) -> tuple[list[Said], tuple[str, ...]]:
    import openai

    try:
        told: Any = client.audio.transcriptions.create(
            file=("sound.wav", sound, "audio/wav"),
            model=model,
            response_format="verbose_json",
            timestamp_granularities=["segment"],
        )
    except openai.BadRequestError:  # newer models give plain text alone
        told = client.audio.transcriptions.create(
            file=("sound.wav", sound, "audio/wav"), model=model, response_format="json"
        )
    text = getattr(told, "text", None)
    if not isinstance(text, str):
        raise FileProblem("unsupported", "The endpoint of speech answered without a text.")
    pieces = getattr(told, "segments", None)
    if pieces:
        return [Said(float(p.start), float(p.end), p.text.strip()) for p in pieces], ()
    seconds = (len(sound) - 44) / 2 / RATE
    said = [Said(0.0, seconds, text.strip())] if text.strip() else []
    return said, ("The endpoint gives no time stamps within ten minutes.",) if said else ()
