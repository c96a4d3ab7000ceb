"""Stand-ins for YouTube, as youtube-transcript-api uses it, and for Gemini's API, on the tests' web server."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from support.web_server import Answer, Asked, WebServer

NUMBER = "tIdE_of-KeL"
Line = tuple[float, str]


def serve_video(
    web: WebServer, tracks: dict[str, list[Line]], *, title: str = "The tide of Kell", **player: Any
) -> None:
    """Add a video.

    Args:
        web: Server of the video.
        tracks: Lines with their seconds, by language; a `*` after the language marks automatic captions.
        title: Title; may be empty.
        player: Changes to the player's response.
    """
    page = '<html><script>ytcfg.set({"INNERTUBE_API_KEY": "inner-key"})</script></html>'
    web.route("/watch", lambda asked: Answer(200, page if f"v={NUMBER}" in asked.path else "<html>?</html>"))
    about = {"title": title, "author_name": "Harbour office"}
    web.route("/oembed", lambda _: Answer(200, json.dumps(about)) if title else Answer(404))
    listed = [_track(web, language) for language in tracks]
    said: dict[str, Any] = {"playabilityStatus": {"status": "OK"}}
    if listed:
        said["captions"] = {"playerCaptionsTracklistRenderer": {"captionTracks": listed}}
    said |= player

    def play(asked: Asked) -> Answer:
        body = json.loads(asked.body)
        fits = body["videoId"] == NUMBER and "key=inner-key" in asked.path and body["context"]["client"]["clientName"]
        return Answer(200, json.dumps(said)) if fits else Answer(400)

    web.route("/youtubei/v1/player", play)
    for language, lines in tracks.items():
        words = "".join(f'<text start="{at}" dur="2.5">{escape(escape(text))}</text>' for at, text in lines)
        xml = f'<?xml version="1.0" encoding="utf-8" ?><transcript>{words}</transcript>'
        web.page(f"/api/timedtext?lang={language}", xml, headers={"Content-Type": "text/xml"})


def _track(web: WebServer, language: str) -> dict[str, Any]:
    code = language.removesuffix("*")
    heard = {"kind": "asr"} if language.endswith("*") else {}
    return {
        "baseUrl": f"{web.url}/api/timedtext?lang={language}",
        "name": {"runs": [{"text": {"en": "English", "de": "German"}.get(code, code)}]},
        "languageCode": code,
        "isTranslatable": False,
        **heard,
    }


class GeminiServer:
    """Gemini's own API: generateContent and the Files API.

    `asked` has the bodies of the questions, `uploaded` the files. As in Gemini, a request with a wrong form is
    refused.
    """

    def __init__(self, web: WebServer, key: str = "key-of-gemini") -> None:
        self.asked: list[Any] = []
        self.uploaded: list[bytes] = []
        self.models: list[str] = []
        """Names of the models that were asked."""
        self.key = key
        self.url = f"{web.url}/v1beta/openai"
        """Address of the OpenAI-compatible endpoint, which this server lacks."""
        self.looks = 0
        """Number of status requests for which an uploaded file is still being processed."""
        self._root = web.url
        self.says({"candidates": [{"content": {"parts": [{"text": "[00:04] A red boat."}]}, "finishReason": "STOP"}],
                   "usageMetadata": {"promptTokenCount": 900, "candidatesTokenCount": 7, "thoughtsTokenCount": 20},
                   "modelVersion": "gemini-of-tests"})  # fmt: skip
        web.route("/v1beta/models/*", self._generate)
        web.route("/upload/v1beta/files", self._begin)
        web.route("/taken/*", self._take)
        web.route("/v1beta/files/*", lambda asked: Answer(200, json.dumps(self._file())))

    def says(self, value: Any, status: int = 200) -> None:
        self.answer = Answer(status, value if isinstance(value, str) else json.dumps(value))

    def _generate(self, asked: Asked) -> Answer:
        if asked.headers.get("x-goog-api-key") != self.key or "key=" in asked.path or "authorization" in asked.headers:
            return _refused("API key not valid. Please pass a valid API key.")
        body = json.loads(asked.body)
        model, _, method = asked.path.removeprefix("/v1beta/models/").partition(":")
        if asked.method != "POST" or method != "generateContent":
            return _refused(f"{asked.path} is no method")
        if unknown := set(body) - {"contents", "systemInstruction", "generationConfig"}:
            return _refused(f"Unknown name {unknown}")
        for part in (part for content in body["contents"] for part in content["parts"]):
            (kind, value), *more = part.items()
            if more or kind not in _FORMS or (kind != "text" and not {*_FORMS[kind]} <= {*value} | {"mimeType"}):
                return _refused(f"Invalid part {kind}")
        self.models.append(model)
        self.asked.append(body)
        return self.answer

    def _begin(self, asked: Asked) -> Answer:
        about = {name.removeprefix("x-goog-upload-"): value for name, value in asked.headers.items()}
        if (about.get("protocol"), about.get("command"), asked.method) != ("resumable", "start", "POST"):
            return _refused("no resumable upload")
        if not about.get("header-content-length", "").isdigit() or "/" not in about.get("header-content-type", ""):
            return _refused("expected length and type")
        self._length = int(about["header-content-length"])
        return Answer(200, "", {"X-Goog-Upload-URL": f"{self._root}/taken/1"})

    def _take(self, asked: Asked) -> Answer:
        told = (asked.headers.get("x-goog-upload-command"), asked.headers.get("x-goog-upload-offset"))
        if told != ("upload, finalize", "0") or len(asked.body) != self._length:
            return _refused(f"{len(asked.body)} bytes of {self._length}")
        self.uploaded.append(asked.body)
        return Answer(200, json.dumps({"file": self._file()}))

    def _file(self) -> dict[str, str]:
        self.looks -= 1
        state = "PROCESSING" if self.looks >= 0 else "ACTIVE"
        return {"name": "files/boat", "uri": f"{self._root}/v1beta/files/boat", "state": state}


_FORMS = {"text": (), "fileData": ("fileUri",), "inlineData": ("data",)}
"""Kinds of parts in a question, with their required fields."""


def _refused(message: str) -> Answer:
    return Answer(400, json.dumps({"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}))
