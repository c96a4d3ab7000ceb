"""Videos of YouTube as text: what is said, with its times, and what is seen, as Gemini describes it."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlsplit

from agent.web.http import Http
from agent.web.page import Page, Reason, WebProblem
from agent.web.response import StatusProblem
from mcp_tools.text import one_line, printable

if TYPE_CHECKING:
    import requests  # type: ignore[import-untyped]  # it has no stubs
    from youtube_transcript_api import FetchedTranscript, Transcript, TranscriptList

YOUTUBE = "https://www.youtube.com"
_HOSTS = ("youtube.com", "youtube-nocookie.com")
_ID = re.compile(r"[\w-]{11}")
_PATHS = re.compile(r"/(?:shorts|embed|live|v)/([\w-]{11})(?:/|$)")
_OURS = ("content-length", "connection", "accept-encoding", "user-agent")
"""Headers that our own client sets."""
_PARAGRAPH_SECONDS = 30.0
_LANGUAGES = ("en", "en-US", "en-GB")
GEMINI = "https://generativelanguage.googleapis.com"
MODEL = "gemini-flash-latest"
_WATCHING = 300.0
"""What watching may take."""
_WATCH = (
    "Describe what is seen in this video in the order in which it happens, with times as [mm:ss]: people, things and "
    "how many of each, actions, and every text, number, table and diagram on screen, word for word. Say nothing that "
    "is not in the video."
)


@dataclass(frozen=True, slots=True)
class Video:
    """What a video says."""

    title: str
    channel: str
    transcript: str
    """Paragraphs, each with its time: `[01:05] …`."""
    note: str
    """Its language, and who wrote it down."""


def video_id(url: str) -> str:
    """The id of the video at an address; empty where it is no video of YouTube."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    host = (parts.hostname or "").rstrip(".").removeprefix("www.").removeprefix("m.").removeprefix("music.")
    if host == "youtu.be":
        found = parts.path.lstrip("/").partition("/")[0]
        return found if _ID.fullmatch(found) else ""
    if host not in _HOSTS:
        return ""
    if in_path := _PATHS.match(parts.path):
        return in_path[1]
    found = parse_qs(parts.query).get("v", [""])[0]
    return found if parts.path.rstrip("/") == "/watch" and _ID.fullmatch(found) else ""


async def read_video(number: str, youtube: YouTube, gemini: Gemini | None) -> Page:
    """What is said in a video, and what is seen in it where Gemini can be asked.

    Args:
        number: Its id.
        youtube: The site.
        gemini: The service, where there is a key.

    Raises:
        WebProblem: Neither could be had.
    """

    async def seen_in() -> str:
        return await gemini.watch(address) if gemini is not None else ""

    address = f"{YOUTUBE}/watch?v={number}"
    said, seen = await asyncio.gather(youtube.video(number), seen_in(), return_exceptions=True)
    title, parts, notes, via = "", [], [], "gemini"
    if isinstance(said, Video):
        title, via = said.title, "transcript"
        parts += [f"# {title}"] if title else []
        parts.append(f"## What is said\n\n{said.transcript}")
        notes += [said.note, *([f"Channel: {said.channel}."] if said.channel else [])]
    elif isinstance(said, WebProblem) and isinstance(seen, str) and seen:
        notes.append(said.message)
    else:
        raise said
    if isinstance(seen, str):
        parts += [f"## What is seen\n\n{seen}"] if seen else []
        notes += ["What is seen was described by Gemini."] if seen else []
    elif isinstance(seen, WebProblem):
        notes.append(f"What is seen is missing: {seen.message}")
    else:
        raise seen
    fetched = datetime.now(UTC).isoformat(timespec="seconds")
    return Page(address, title, "\n\n".join(parts), kind="video", via=via, fetched=fetched, notes=tuple(notes))


class YouTube:
    """The site.

    Args:
        http: Sends the requests.
        base: Its address.
    """

    def __init__(self, http: Http, base: str = YOUTUBE) -> None:
        self._http = http
        self._base = base.rstrip("/")

    async def video(self, number: str) -> Video:
        """What a video says: as its makers wrote it down, else as the site heard it, English first.

        Args:
            number: Its id.

        Raises:
            WebProblem: There is no such video, it has no transcript (`no_result`), or the site refuses.
        """
        loop = asyncio.get_running_loop()
        fetched, (title, channel) = await asyncio.gather(
            asyncio.to_thread(_fetched, number, _session(self._http, loop, self._base)), self._about(number)
        )
        heard = "as the site heard it" if fetched.is_generated else "as its makers wrote it down"
        return Video(title, channel, _paragraphs(fetched), f"Transcript in {fetched.language}, {heard}.")

    async def _about(self, number: str) -> tuple[str, str]:
        """Title and channel; empty where they cannot be had."""
        watched = quote(f"{YOUTUBE}/watch?v={number}", safe="")
        try:
            told = await self._http.ask_json(f"{self._base}/oembed?url={watched}&format=json")
            return one_line(str(told["title"]), 300), one_line(str(told["author_name"]), 100)
        except (WebProblem, KeyError, TypeError):
            return "", ""


def _fetched(number: str, session: requests.Session) -> FetchedTranscript:
    import requests
    from youtube_transcript_api import YouTubeTranscriptApi, YouTubeTranscriptApiException

    try:
        return _best(YouTubeTranscriptApi(http_client=session).list(number)).fetch()
    except YouTubeTranscriptApiException as error:
        raise _meant(number, error) from error
    except (requests.RequestException, ValueError, KeyError, TypeError, AttributeError, SyntaxError) as error:
        raise WebProblem(
            "mismatch",
            f"YouTube answered for the video {number} in a form that is not known: {type(error).__name__}.",
            remedy="Take another source.",
        ) from error


def _best(transcripts: TranscriptList) -> Transcript:
    from youtube_transcript_api import NoTranscriptFound

    for find in (transcripts.find_manually_created_transcript, transcripts.find_generated_transcript):
        try:
            return find(_LANGUAGES)
        except NoTranscriptFound:
            continue
    every = sorted(transcripts, key=lambda one: one.is_generated)
    if not every:
        raise NoTranscriptFound(transcripts.video_id, _LANGUAGES, transcripts)
    return every[0]


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


def _meant(number: str, error: Exception) -> WebProblem:
    """What an error of the package means."""
    import youtube_transcript_api as package

    reason: Reason = "http"
    said = "the site refused"
    if isinstance(error, package.NoTranscriptFound | package.TranscriptsDisabled):
        reason, said = "no_result", "it has no transcript"
    elif isinstance(error, package.VideoUnavailable | package.InvalidVideoId):
        reason, said = "no_result", "there is no such video"
    elif isinstance(error, package.AgeRestricted):
        reason, said = "paywall", "it is shown to grown-ups who are logged in only"
    elif isinstance(error, package.VideoUnplayable):
        reason, said = "no_result", f"it cannot be played: {one_line(str(error.reason), 100)}"
    elif isinstance(error, package.RequestBlocked | package.PoTokenRequired):
        reason, said = "captcha", "the site takes us for a robot"
    return WebProblem(
        reason, f"The video {number} of YouTube was not read: {said}.", remedy="Take another source about it."
    )


def _session(http: Http, loop: asyncio.AbstractEventLoop, base: str) -> requests.Session:
    """A session of the package's own HTTP library, whose every request is sent by ours: guarded and limited."""
    import requests
    from requests.adapters import BaseAdapter  # type: ignore[import-untyped]  # it has no stubs

    class Adapter(BaseAdapter):  # type: ignore[misc]  # it has no types
        """Hands requests over."""

        def send(self, request: requests.PreparedRequest, **_: Any) -> requests.Response:
            """Sends one request from the package's thread."""
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

        def close(self) -> None:
            """Nothing is open."""

    session = requests.Session()
    session.trust_env = False
    session.mount("https://", Adapter())
    session.mount("http://", Adapter())
    return session


class Gemini:
    """The service.

    Args:
        http: Sends the requests.
        key: Its key.
        base: Its address.
        model: Which model watches.
    """

    def __init__(self, http: Http, key: str, *, base: str = GEMINI, model: str = MODEL) -> None:
        self._http = http
        self._key = key
        self._url = f"{base.rstrip('/')}/v1beta/models/{model}:generateContent"

    async def watch(self, video: str) -> str:
        """What is seen in a video.

        Args:
            video: Its address at YouTube; it must be public.

        Raises:
            WebProblem: The key is wrong (`bad_key`), used up (`quota`), or the video could not be watched.
        """
        parts = [{"fileData": {"fileUri": video, "mimeType": "video/mp4"}}, {"text": _WATCH}]
        body = {"contents": [{"role": "user", "parts": parts}]}
        try:
            told = await self._http.ask_json(self._url, body, {"x-goog-api-key": self._key}, seconds=_WATCHING)
        except StatusProblem as problem:
            raise _refusal(problem) from problem
        try:
            if blocked := told.get("promptFeedback", {}).get("blockReason"):
                raise WebProblem("no_result", f"Gemini declined to watch it: {one_line(str(blocked))}.")
            candidate = told["candidates"][0]
            text = "".join(part.get("text", "") for part in candidate["content"]["parts"] if not part.get("thought"))
        except (AttributeError, KeyError, IndexError, TypeError):
            raise WebProblem("mismatch", "Gemini answered in a form that is not known.") from None
        if not text.strip():
            raise WebProblem("no_result", f"Gemini said nothing: {one_line(str(candidate.get('finishReason', '')))}.")
        return printable(text.strip())


def _refusal(problem: StatusProblem) -> WebProblem:
    """What a refusal means; its words are Gemini's own, which never hold the key."""
    said = one_line(problem.said, 200).rstrip(".")
    reason: Reason = "http"
    if problem.status in (401, 403) or "api key" in said.lower():
        reason = "bad_key"
    elif problem.status == 429:
        reason = "quota" if "quota" in said.lower() else "rate_limit"
    return WebProblem(
        reason,
        f"Gemini refused with status {problem.status}: {said or 'it gave no reason'}.",
        remedy="Correct GEMINI_API_KEY." if reason == "bad_key" else "Read the transcript, or another source.",
        retry_after=problem.retry_after,
    )
