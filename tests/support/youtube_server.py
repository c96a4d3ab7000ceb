"""YouTube as the package youtube-transcript-api asks it, and Gemini's generateContent, on the tests' web server."""

from __future__ import annotations

import json
import time
from html import escape
from typing import Any

from support.web_server import Answer, Asked, WebServer

NUMBER = "tIdE_of-KeL"
Line = tuple[float, str]


def serve_video(
    web: WebServer, tracks: dict[str, list[Line]], *, title: str = "The tide of Kell", **player: Any
) -> None:
    """Adds a video.

    Args:
        web: Where.
        tracks: Lines with their seconds by language; the site heard those whose language ends in `*`.
        title: Its title; an empty one for a video without.
        player: What else, or instead, the player says.
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
    """What Gemini answers; `asked` has the bodies, and each request's form is checked."""

    def __init__(self, web: WebServer, key: str = "key-of-gemini") -> None:
        self.asked: list[Any] = []
        self.key = key
        self.seconds = 0.0
        """What it takes to watch."""
        self.answer = Answer(
            200, json.dumps({"candidates": [{"content": {"parts": [{"text": "[00:04] A red boat."}]}}]})
        )
        web.route("/v1beta/models/*", self._answer)

    def says(self, value: Any, status: int = 200) -> None:
        """Sets the answer."""
        self.answer = Answer(status, value if isinstance(value, str) else json.dumps(value))

    def _answer(self, asked: Asked) -> Answer:
        if asked.headers.get("x-goog-api-key") != self.key or "key=" in asked.path:
            error = {
                "code": 400,
                "message": "API key not valid. Please pass a valid API key.",
                "status": "INVALID_ARGUMENT",
            }
            return Answer(400, json.dumps({"error": error}))
        body = json.loads(asked.body)
        file, text = body["contents"][0]["parts"]
        assert asked.method == "POST"
        assert asked.path.endswith(":generateContent")
        assert set(file) == {"fileData"}
        assert text["text"]
        self.asked.append(body)
        time.sleep(self.seconds)
        return self.answer
