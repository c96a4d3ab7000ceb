"""Reads YouTube videos as transcripts with times."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from agent.web.address import YOUTUBE
from agent.web.http import Http
from agent.web.page import Page, Reason, WebProblem
from agent.web.response import StatusProblem
from mcp_tools.text import one_line, printable

if TYPE_CHECKING:
    import requests  # type: ignore[import-untyped]  # it has no stubs
    from youtube_transcript_api import FetchedTranscript

_OURS = ("content-length", "connection", "accept-encoding", "user-agent")  # headers that our own client sets
_PARAGRAPH_SECONDS = 30.0
_LANGUAGES = ("en", "en-US", "en-GB")
_MEANINGS: dict[str, tuple[Reason, str]] = {
    "NoTranscriptFound": ("no_result", "it has no transcript"),
    "TranscriptsDisabled": ("no_result", "it has no transcript"),
    "VideoUnavailable": ("no_result", "there is no such video"),
    "InvalidVideoId": ("no_result", "there is no such video"),
    "VideoUnplayable": ("no_result", "it cannot be played"),
    "AgeRestricted": ("paywall", "it is shown to grown-ups who are logged in only"),
    "RequestBlocked": ("captcha", "the site takes us for a robot"),
    "PoTokenRequired": ("captcha", "the site takes us for a robot"),
}
"""The reason and message for an exception of the package, by the name of its class or a base class."""


async def read_video(number: str, http: Http, youtube: str = YOUTUBE) -> Page:
    """Return the transcript of a video: the authors' own, or else the automatic one; English first.

    Args:
        number: Id of the video.
        http: Sends the requests.
        youtube: Address of YouTube.

    Raises:
        WebProblem: The video does not exist, has no transcript (`no_result`), or YouTube refuses the request.
    """
    address = f"{YOUTUBE}/watch?v={number}"

    async def about() -> tuple[str, str]:
        """Return title and channel; empty if unknown."""
        try:
            details = await http.ask_json(f"{youtube}/oembed?url={quote(address, safe='')}&format=json")
            return one_line(str(details["title"]), 300), one_line(str(details["author_name"]), 100)
        except (WebProblem, KeyError, TypeError):
            return "", ""

    session = _session(http, asyncio.get_running_loop(), youtube.rstrip("/"))
    fetched, (title, channel) = await asyncio.gather(asyncio.to_thread(_fetched, number, session), about())
    origin = "as the site heard it" if fetched.is_generated else "as its makers wrote it down"
    heading = f"# {title}\n\n" if title else ""
    return Page(
        address,
        title,
        f"{heading}## What is said\n\n{_paragraphs(fetched)}",
        kind="video",
        via="transcript",
        fetched=datetime.now(UTC).isoformat(timespec="seconds"),
        notes=(f"Transcript in {fetched.language}, {origin}.", *([f"Channel: {channel}."] if channel else [])),
    )


def _fetched(number: str, session: requests.Session) -> FetchedTranscript:
    import requests
    from youtube_transcript_api import YouTubeTranscriptApi, YouTubeTranscriptApiException

    def place(one: Any) -> tuple[bool, bool]:
        is_english = one.language_code in _LANGUAGES
        return not is_english, one.is_generated

    try:
        every = list(YouTubeTranscriptApi(http_client=session).list(number))
        if every:
            return min(every, key=place).fetch()
    except YouTubeTranscriptApiException as error:
        names = [one.__name__ for one in type(error).__mro__]
        reason, why = next((_MEANINGS[name] for name in names if name in _MEANINGS), ("http", "the site refused"))
        why += f": {one_line(str(error.reason), 100)}" if hasattr(error, "reason") else ""
        raise _unread(number, reason, why) from error
    except (requests.RequestException, ValueError, KeyError, TypeError, AttributeError, SyntaxError) as error:
        raise _unread(number, "mismatch", f"its answer has an unknown form ({type(error).__name__})") from error
    raise _unread(number, "no_result", "it has no transcript")


def _unread(number: str, reason: Reason, why: str) -> WebProblem:
    message = f"The video {number} of YouTube was not read: {why}."
    return WebProblem(reason, message, remedy="Use another source about it.")


def _paragraphs(fetched: FetchedTranscript) -> str:
    paragraphs: list[tuple[float, list[str]]] = []
    for snippet in fetched:
        if not paragraphs or snippet.start - paragraphs[-1][0] >= _PARAGRAPH_SECONDS:
            paragraphs.append((snippet.start, []))
        paragraphs[-1][1].append(" ".join(printable(snippet.text).split()))
    return "\n\n".join(f"[{_time(start)}] {' '.join(words)}" for start, words in paragraphs)


def _time(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes:02}:{rest:02}"


def _session(http: Http, loop: asyncio.AbstractEventLoop, base: str) -> requests.Session:
    """Return a session for the package that sends every request through our guarded client."""
    import requests

    class TranscriptSession(requests.Session):  # type: ignore[misc]  # it has no types
        """Passes requests to our client."""

        def send(self, request: requests.PreparedRequest, **_: Any) -> requests.Response:
            """Send a request from the package's thread."""
            url = (request.url or "").replace(YOUTUBE, base, 1)
            body = request.body.encode() if isinstance(request.body, str) else request.body
            headers = {name: value for name, value in request.headers.items() if name.lower() not in _OURS}
            asking = http.ask(request.method or "GET", url, headers, body)
            try:
                answer = asyncio.run_coroutine_threadsafe(asking, loop).result()
            except StatusProblem as problem:
                answer = problem.response
            response = requests.Response()
            response.status_code, response._content, response.url = answer.status, answer.body, url
            response.headers.update(answer.headers)
            response.encoding = answer.charset or "utf-8"
            response.request = request
            return response

    session = TranscriptSession()
    session.trust_env = False
    return session
