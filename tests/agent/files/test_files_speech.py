"""Speech by an endpoint, who is chosen by the settings, and that a key goes nowhere else."""

from __future__ import annotations

import hashlib
import json
import threading
import wave
from collections.abc import Iterator
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy
import pytest

from agent import resources
from agent.configuration.settings_sources import read_settings
from agent.events import Event, ModelStarting, Note
from agent.files.contents import FileProblem
from agent.files.media.audio import samples
from agent.files.media.speech import Segment, Speech, SpeechPart, from_settings, transcribe, use
from agent.files.reading import preview, read
from agent.models.embedded.weights import Weights
from agent.models.embedded.weights_files import WeightsFile
from support.fibonacci import decide
from support.file_server import FileServer
from support.sounds import FOX
from support.web_server import WebServer

VERBOSE = {
    "text": "The quick brown fox.",
    "segments": [{"id": 0, "start": 0.25, "end": 1.5, "text": " The quick brown fox."}],
}


class Transcriber:
    """A server that speaks `POST /audio/transcriptions`."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.keys: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.keys.append(self.headers.get("Authorization", ""))
                outer.asked.append(form_of(self.headers["Content-Type"], body) | {"path": self.path})
                status, answer = outer.answers.pop(0)
                content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None: ...  # noqa: A002

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


def form_of(kind: str, body: bytes) -> dict[str, Any]:
    parts = BytesParser().parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body).get_payload()
    return {
        str(part.get_param("name", header="content-disposition")): part.get_payload(decode=True)
        for part in parts  # type: ignore[union-attr]
    }


@pytest.fixture
def endpoint() -> Iterator[Transcriber]:
    server = Transcriber()
    yield server
    server.close()


def asked_of(endpoint: Transcriber, **more: str) -> Speech:
    return Speech(engine="api", base_url=endpoint.url, api_key="sk-test-speech-key", **more)


def transcribed(sound: numpy.typing.NDArray[numpy.float32], speech: Speech) -> SpeechPart:
    use(speech)
    return transcribe(sound)


def test_an_endpoint_writes_it_down_with_times(endpoint: Transcriber) -> None:
    endpoint.answers = [(200, VERBOSE)]
    sound, _ = samples(FOX, 0, 2)
    told = transcribed(sound, asked_of(endpoint))
    assert told.segments == [Segment(0.25, 1.5, "The quick brown fox.")]
    assert told.engine.endswith(" whisper-1")
    (asked,) = endpoint.asked
    assert asked["path"] == "/v1/audio/transcriptions"
    assert (asked["model"], asked["response_format"]) == (b"whisper-1", b"verbose_json")
    assert endpoint.keys == ["Bearer sk-test-speech-key"]
    with wave.open(BytesIO(asked["file"])) as sent:
        assert (sent.getnchannels(), sent.getframerate(), sent.getnframes()) == (1, 16_000, 32_000)
        heard = numpy.frombuffer(sent.readframes(32_000), "<i2") / 32767
    assert numpy.allclose(heard, sound, atol=1e-3)


def test_an_endpoint_without_times(endpoint: Transcriber) -> None:
    """If a model rejects `verbose_json`, plain text is requested, and the missing times are reported."""
    refusal = {
        "error": {"message": "response_format 'verbose_json' is not compatible", "type": "invalid_request_error"}
    }
    endpoint.answers = [(400, refusal), (200, {"text": "All of it."})]
    told = transcribed(samples(FOX, 0, 2)[0], asked_of(endpoint, model="gpt-4o-transcribe"))
    assert told.segments == [Segment(0.0, 2.0, "All of it.")]
    assert "no timestamps" in told.lost[0]
    assert [asked["response_format"] for asked in endpoint.asked] == [b"verbose_json", b"json"]
    assert endpoint.asked[1]["model"] == b"gpt-4o-transcribe"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((401, {"error": {"message": "Incorrect API key provided: sk-test-speech-key"}}), "rejected the key"),
        ((404, {"error": {"message": "no such model"}}), "has no model 'whisper-1'"),
        ((413, {"error": {"message": "too large"}}), "too long"),
        ((200, {"nothing": 1}), "returned no text"),
        ((200, b"<html>"), "returned no text|incomplete response"),
    ],
    ids=["key", "model", "size", "no text", "no JSON"],
)
def test_what_goes_wrong_at_an_endpoint(endpoint: Transcriber, answer: tuple[int, Any], said: str) -> None:
    endpoint.answers = [answer]
    with pytest.raises(FileProblem, match=said) as caught:
        transcribed(samples(FOX, 0, 1)[0], asked_of(endpoint))
    assert "sk-test-speech-key" not in str(caught.value)


async def test_a_file_is_heard_by_the_endpoint_of_the_settings(
    endpoint: Transcriber, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that reads gets the endpoint and its key with the request, and no other key; it is called once."""
    monkeypatch.setenv("ALITA_SPEECH_BASE_URL", endpoint.url)
    monkeypatch.setenv("ALITA_SPEECH_API_KEY", "sk-test-speech-key")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-another-key")
    endpoint.answers = [(200, VERBOSE)]
    speech = from_settings(read_settings())
    seen = await preview(FOX, speech=speech)
    assert seen.text == (await read(FOX, speech=speech)).text == "[0:00-0:01] The quick brown fox."
    assert str(seen.facts["transcript_by"]).endswith(" whisper-1")
    assert endpoint.keys == ["Bearer sk-test-speech-key"]


async def test_a_sound_at_an_address_is_written_down_once(desk: Any, endpoint: Transcriber) -> None:
    endpoint.answers = [(200, VERBOSE)]
    with WebServer() as web:
        web.page("/fox.wav", FOX.read_bytes(), headers={"Content-Type": "audio/wav"})
        options = {"speech": "api", "base_url": endpoint.url, "allow_private": True}
        lines = [decide("answer", answer="A fox.", when="quick brown"), decide("read_file", file=f"{web.url}/fox.wav")]
        answer = await desk.plays(*lines).ask(f"What jumps in {web.url}/fox.wav?", **options)
    assert answer.text == "A fox."
    assert len(endpoint.asked) == 1


def test_the_settings_choose() -> None:
    def chosen(**environment: str) -> Speech:
        return from_settings(read_settings(environment={"ALITA_HOME": "/nowhere", **environment}))

    assert (chosen().engine, chosen().folder) == ("auto", "/nowhere/data/models")
    own = chosen(ALITA_SPEECH_BASE_URL="http://127.0.0.1:1/v1", OPENAI_API_KEY="sk-main")
    assert (own.engine, own.api_key) == ("api", "")
    main = chosen(ALITA_SPEECH="api", OPENAI_API_KEY="sk-main", OPENAI_BASE_URL="http://127.0.0.1:2/v1")
    assert (main.engine, main.base_url, main.api_key) == ("api", "http://127.0.0.1:2/v1", "sk-main")
    assert "sk-main" not in repr(main)


async def test_weights_are_fetched_with_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are fetched before the file is read. A failure is reported, and the run continues."""
    files = (WeightsFile("model.bin", 4, hashlib.sha256(b"data").hexdigest(), "org/tiny"),)
    monkeypatch.setattr(resources, "speech_weights", lambda folder: Weights(folder / "tiny", files, model="speech"))
    told: list[Event] = []
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    await resources.fetch_speech(Speech(folder=str(tmp_path)), told.append, threading.Event())
    assert isinstance(told[-1], Note)
    assert "model.bin could not be downloaded" in told[-1].text
    with FileServer(b"data") as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        await resources.fetch_speech(Speech(folder=str(tmp_path)), told.append, threading.Event())
        await resources.fetch_speech(Speech(folder=str(tmp_path)), told.append, threading.Event())
        assert len(hub.paths) == 1
    assert (tmp_path / "tiny" / "model.bin").read_bytes() == b"data"
    assert told[-1] == ModelStarting("downloading the speech model", 1.0, "of 0 MB")
