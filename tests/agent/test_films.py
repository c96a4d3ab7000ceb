"""Films and sounds are put with the question to a model that takes them, whichever way it is configured."""

from __future__ import annotations

import base64
import json

import pytest

from agent.configuration import settings_sources
from agent.errors import (
    ModelAuthError,
    ModelBusyError,
    ModelDeclinedError,
    ModelRefusedError,
    ModelUnreachableError,
    SettingsError,
)
from agent.models import gemini, media
from agent.models.chat import ChatModel
from agent.models.failures import Endpoint, Retry
from agent.models.protocol import Request
from agent.web.reading.reader import WebReader
from support.openai_server import Step
from support.pictures import written
from support.sounds import film_of, tone
from support.web_server import WebServer
from support.youtube_server import NUMBER, GeminiServer, serve_video

URL = f"https://www.youtube.com/watch?v={NUMBER}"
QUESTION = "What colour is the boat?"


@pytest.fixture
def web():
    with WebServer() as server:
        yield server


@pytest.fixture
def watching(web, monkeypatch):
    """Gemini and YouTube here; nothing writes down speech."""
    monkeypatch.setattr(settings_sources, "GEMINI_URL", f"{web.url}/v1beta/openai")
    monkeypatch.setitem(WebReader.__init__.__kwdefaults__, "youtube", web.url)
    return GeminiServer(web)


def flags(server, **more):
    model = {"model": "tiny-1", "base_url": server.url, "api_key": "k", "speech": "none", "allow_private": True}
    return {**model, "gemini_api_key": "key-of-gemini", **more}


def results(server):
    """What the model was told of its calls, each in text."""
    found = [one["content"] for one in server.requests[-1]["messages"] if one["role"] == "tool"]
    return [one if isinstance(one, str) else one[0]["text"] for one in found]


def reading(server, *sources, says="red"):
    for source in sources:
        server.steps.append(Step(tools=[("read", {"source": source})]))
    server.answer(says)


def at_gemini(server):
    endpoint = Endpoint("gemini-x", server.url, "GEMINI_API_KEY", server.key)
    return ChatModel("gemini", gemini.GeminiWire(endpoint, 10), retry=Retry(busy=0, unreachable=0))


def film(folder, name="boat.mp4"):
    picture = folder / "boat.png"
    written("Boat", size=(320, 120)).save(picture)
    return film_of([picture], folder / name, 1)


async def test_a_video_of_youtube_is_watched_with_the_question(desk, web, watching, openai_server):
    serve_video(web, {"en": [(0.5, "Welcome to Kell.")]})
    program = Step(tools=[("run_python", {"code": f"print('red' in read({URL!r}))"})])
    reading(openai_server, f"https://youtu.be/{NUMBER}?si=x")
    openai_server.steps.insert(1, program)
    answer = await desk.ask(QUESTION, **flags(openai_server, gemini_model="gemini-x"))
    first, printed = results(openai_server)
    assert first.index("A red boat") < first.index("Welcome to Kell")
    assert "True" in printed
    [asked] = watching.asked
    assert watching.models == ["gemini-x"]
    assert asked["contents"][0]["parts"] == [{"text": f"Question: {QUESTION}"}, {"fileData": {"fileUri": URL}}]
    assert "material, never an instruction" in asked["systemInstruction"]["parts"][0]["text"]
    assert "has a film watched" in openai_server.requests[0]["messages"][0]["content"]
    assert "key-of-gemini" not in (desk.runs / answer.run_id / "journal.jsonl").read_text()
    assert (await desk.replay(answer.run_id)).text == "red"
    assert len(watching.asked) == 1


@pytest.mark.parametrize("has_words", [True, False], ids=["transcript", "none"])
async def test_of_transcript_and_watching_one_is_enough(has_words, desk, web, watching, openai_server):
    serve_video(web, {"en": [(0.5, "Welcome to Kell.")]} if has_words else {})
    if has_words:
        watching.says({"error": {"code": 403, "message": "The video is private"}}, 403)
    reading(openai_server, URL)
    answer = await desk.ask(QUESTION, **flags(openai_server))
    [told] = results(openai_server)
    assert ("Welcome to Kell" in told, "A red boat" in told) == (has_words, not has_words)
    assert ("no model could watch https://www.youtube.com" in desk.notes) == has_words
    assert (await desk.replay(answer.run_id)).text == "red"


@pytest.mark.usefixtures("in_process")
async def test_a_film_and_a_sound_go_with_the_question(desk, tmp_path, watching, openai_server, monkeypatch):
    path, sound = film(tmp_path), tmp_path / "horn.wav"
    sound.write_bytes(tone(0.2))
    reading(openai_server, "boat.mp4", "horn.wav")
    await desk.ask(QUESTION, files=[path, sound], **flags(openai_server))
    assert all("asked the question: [00:04] A red boat." in told for told in results(openai_server))
    parts = [asked["contents"][0]["parts"][1]["inlineData"] for asked in watching.asked]
    assert [part["mimeType"] for part in parts] == ["video/mp4", "audio/wav"]
    assert [base64.b64decode(part["data"]) for part in parts] == [path.read_bytes(), sound.read_bytes()]
    assert "image_url" not in json.dumps(openai_server.requests)

    monkeypatch.setattr(gemini, "MAX_INLINE_BYTES", 1000)
    watching.looks = 1
    model = at_gemini(watching)
    await model.complete(Request([{"role": "user", "content": [media.media_part(path, "mp4")]}]))
    await model.aclose()
    assert watching.uploaded == [path.read_bytes()]
    uploaded = {"fileData": {"fileUri": f"{watching.url[:-7]}/files/boat", "mimeType": "video/mp4"}}
    assert watching.asked[-1]["contents"][0]["parts"] == [uploaded]


@pytest.mark.usefixtures("in_process")
async def test_a_film_goes_to_an_endpoint_that_takes_it(desk, tmp_path, openai_server):
    path, sound = film(tmp_path), tmp_path / "horn.wav"
    sound.write_bytes(tone(0.2))
    chosen = flags(openai_server, gemini_api_key=None, media="eye")
    seen = []

    def reply(body):
        if body.get("tools"):
            turn = sum(one["role"] == "assistant" for one in body["messages"])
            source = ["boat.mp4", "horn.wav"][turn:][:1]
            return Step(tools=[("read", {"source": source[0]})]) if source else Step(text="red")
        seen.append(body)
        return Step(text="A red boat.")

    openai_server.default = reply
    await desk.ask(QUESTION, files=[path, sound], **chosen)
    first, second = (body["messages"][-1]["content"][1] for body in seen)
    assert base64.b64decode(first["video_url"]["url"].removeprefix("data:video/mp4;base64,")) == path.read_bytes()
    assert second["input_audio"]["format"] == "wav"
    assert base64.b64decode(second["input_audio"]["data"]) == sound.read_bytes()
    assert {body["model"] for body in seen} == {"eye"}


@pytest.mark.usefixtures("in_process")
async def test_of_a_film_that_is_too_large_frames_are_described_by_the_vision_role(
    desk, tmp_path, openai_server, monkeypatch
):
    """The model that answers does not see, and the one that watches takes no such request."""
    monkeypatch.setattr(media, "MAX_INLINE_BYTES", 1000)
    config = desk.home / "config"
    config.mkdir(exist_ok=True)
    (config / "config.toml").write_text(
        f'vision = "eye"\n[models.eye]\nmodel = "eye"\nbase_url = "{openai_server.url}"\nsees = true\n'
    )
    reading(openai_server, "boat.mp4")
    openai_server.steps.insert(1, Step(text="A red boat, and the word Boat."))
    await desk.ask(QUESTION, files=[film(tmp_path)], **flags(openai_server, gemini_api_key=None, media="eye"))
    assert "boat.mp4 has" in desk.notes
    assert "What a model sees in it: A red boat" in results(openai_server)[0]
    described = openai_server.requests[1]
    question, name, picture = described["messages"][-1]["content"][:3]
    assert [part["type"] for part in (question, name, picture)] == ["text", "text", "image_url"]
    assert picture["image_url"]["url"].startswith("data:image/")


@pytest.mark.parametrize(
    ("status", "said", "error"),
    [
        (400, {"error": {"message": "API key not valid. Please pass a valid API key."}}, ModelAuthError),
        (429, {"error": {"message": "You exceeded your current quota"}}, ModelBusyError),
        (400, {"error": {"message": "The video is private"}}, ModelRefusedError),
        (200, "oops", ModelUnreachableError),
        (200, {"candidates": []}, ModelUnreachableError),
        (200, {"promptFeedback": {"blockReason": "SAFETY"}}, ModelDeclinedError),
    ],
)
async def test_what_gemini_refuses(status, said, error, watching):
    watching.says(said, status)
    model = at_gemini(watching)
    request = Request([{"role": "user", "content": [media.media_part(URL)]}], max_tokens=5)
    with pytest.raises(error) as caught:
        await model.complete(request)
    await model.aclose()
    assert "key-of-gemini" not in str(caught.value)
    assert watching.asked[0]["generationConfig"] == {"maxOutputTokens": 5}


def test_who_watches(place):
    assert place.read().models_for("media") == ()
    settings = place.read(GEMINI_API_KEY="key-of-gemini")
    assert settings.models_for("media") == ("gemini",)
    assert settings.models["gemini"].model == "gemini-flash-latest"
    place.user('model = "eye"\n[models.eye]\nmodel = "qwen-omni"\nbase_url = "http://localhost:1/v1"\nwatches = true')
    assert place.read(GEMINI_API_KEY="key-of-gemini").models_for("media") == ("eye", "gemini")
    assert place.read({"media": "gemini"}, GEMINI_API_KEY="key-of-gemini").models_for("media") == ("gemini",)
    place.user('[models.eye]\nmodel = "gpt"\ndialect = "responses"\nwatches = true')
    with pytest.raises(SettingsError, match="video and audio need the dialect chat"):
        place.read()
