"""Videos of YouTube become what is said in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.web.http import Http
from agent.web.page import WebProblem
from agent.web.reading.reader import WebReader
from agent.web.reading.videos import read_video
from support.web_server import Answer, WebServer
from support.youtube_server import NUMBER, serve_video

URL = f"https://www.youtube.com/watch?v={NUMBER}"
LINES = [
    (0.5, "Welcome to Kell."),
    (12.0, "The tide & the wind"),
    (31.0, "turn at <i>six</i>."),
    (3700.0, "Good night."),
]


def _reader(web: WebServer, client: Http, folder: Path) -> WebReader:
    return WebReader(client, folder, youtube=web.url)


async def test_a_video_is_its_transcript_with_times(web: WebServer, client: Http, tmp_path: Path) -> None:
    serve_video(web, {"en*": [(0.0, "as heard")], "de": [(0.0, "auf deutsch")], "en": LINES})
    page = await _reader(web, client, tmp_path).read(f"https://youtu.be/{NUMBER}")
    assert (page.url, page.title, page.kind, page.via) == (URL, "The tide of Kell", "video", "transcript")
    assert page.markdown == (
        "# The tide of Kell\n\n## What is said\n\n[00:00] Welcome to Kell. The tide & the wind\n\n"
        "[00:31] turn at six.\n\n[1:01:40] Good night."
    )
    assert page.notes == ("Transcript in English, written by the uploader.", "Channel: Harbour office.")


BLOCKED = {"status": "LOGIN_REQUIRED", "reason": "Sign in to confirm you’re not a bot"}
AGED = {"status": "LOGIN_REQUIRED", "reason": "This video may be inappropriate for some users."}
MISSING = {"status": "ERROR", "reason": "This video is unavailable"}
CLOSED = {"status": "UNPLAYABLE", "reason": "Members only"}


@pytest.mark.parametrize(
    ("player", "reason", "words"),
    [
        ({}, "no_result", "no transcript"),
        ({"playabilityStatus": MISSING}, "no_result", "does not exist"),
        ({"playabilityStatus": CLOSED}, "no_result", "cannot be played: Members only"),
        ({"playabilityStatus": AGED}, "paywall", "adults"),
        ({"playabilityStatus": BLOCKED}, "captcha", "automated"),
        ({"playabilityStatus": []}, "mismatch", "unknown form"),
    ],
)
async def test_videos_that_say_nothing(
    web: WebServer, client: Http, tmp_path: Path, player: dict[str, Any], reason: str, words: str
) -> None:
    serve_video(web, {}, **player)
    with pytest.raises(WebProblem, match=words) as caught:
        await _reader(web, client, tmp_path).read(URL)
    assert caught.value.reason == reason
    assert NUMBER in caught.value.message
    assert caught.value.remedy


@pytest.mark.parametrize(("path", "answer", "reason"), [
    ("/watch", Answer(429, b"", {"Retry-After": "900"}), "captcha"),
    ("/watch", Answer(200, '<html class="g-recaptcha">'), "captcha"),
    ("/watch", Answer(200, '<form action="https://consent.youtube.com/s">'), "http"),
    ("/watch", Answer(500), "http"),
    ("/youtubei/v1/player", Answer(200, "no json"), "mismatch"),
    ("/api/timedtext?lang=en", Answer(200, "<transcript"), "mismatch"),
    ("/api/timedtext?lang=en", Answer(200, "half", cut=True), "connection"),
])  # fmt: skip
async def test_a_site_that_answers_otherwise(
    web: WebServer, client: Http, path: str, answer: Answer, reason: str
) -> None:
    serve_video(web, {"en": LINES})
    web.route(path, lambda _: answer)
    with pytest.raises(WebProblem) as caught:
        await read_video(NUMBER, client, web.url)
    assert caught.value.reason == reason


async def test_no_transcript_is_fetched_from_a_private_address(web: WebServer) -> None:
    """Where the words are is said by the site: it is an address like every other."""
    client = Http()
    with pytest.raises(WebProblem) as caught:
        await read_video(NUMBER, client, web.url)
    assert caught.value.reason == "private_address"
    await client.aclose()
