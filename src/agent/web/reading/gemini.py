"""Gemini watches videos: what is seen in them, which no transcript says."""

from __future__ import annotations

from typing import Any

from agent.web.fetching.http import Http
from agent.web.fetching.problems import StatusProblem
from agent.web.protocol import Reason, WebProblem
from mcp_tools.text import one_line

GEMINI = "https://generativelanguage.googleapis.com"
MODEL = "gemini-flash-latest"
_SECONDS = 300.0
"""What watching may take."""
_PROMPT = (
    "Describe what is seen in this video in the order in which it happens, with times as [mm:ss]: people, things and "
    "how many of each, actions, and every text, number, table and diagram on screen, word for word. Say nothing that "
    "is not in the video."
)


class Gemini:
    """The service.

    Args:
        http: Who asks it.
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
        parts = [{"fileData": {"fileUri": video, "mimeType": "video/mp4"}}, {"text": _PROMPT}]
        body = {"contents": [{"role": "user", "parts": parts}]}
        try:
            told = await self._http.post_json(self._url, body, {"x-goog-api-key": self._key}, seconds=_SECONDS)
        except StatusProblem as problem:
            raise _meant(problem) from problem
        return _text(told)


def _text(told: Any) -> str:
    """The words of a reply.

    Raises:
        WebProblem: There are none.
    """
    try:
        if blocked := told.get("promptFeedback", {}).get("blockReason"):
            raise WebProblem("no_result", f"Gemini declined to watch it: {one_line(str(blocked))}.")
        candidate = told["candidates"][0]
        text = "".join(part.get("text", "") for part in candidate["content"]["parts"] if not part.get("thought"))
    except (AttributeError, KeyError, IndexError, TypeError):
        raise WebProblem("mismatch", "Gemini answered in a form that is not known.") from None
    if not text.strip():
        raise WebProblem("no_result", f"Gemini said nothing: {one_line(str(candidate.get('finishReason', '')))}.")
    return text.strip()


def _meant(problem: StatusProblem) -> WebProblem:
    """What a refusal means; its words are Gemini's own, which never hold the key."""
    said = _said(problem)
    reason: Reason = "http"
    if problem.status in (401, 403) or "api key" in said.lower():
        reason = "bad_key"
    elif problem.status == 429:
        reason = "quota" if "quota" in said.lower() else "rate_limit"
    remedy = "Correct GEMINI_API_KEY." if reason == "bad_key" else "Read the transcript, or another source."
    return WebProblem(
        reason,
        f"Gemini refused with status {problem.status}: {said or 'it gave no reason'}.",
        remedy=remedy,
        retry_after=problem.retry_after,
    )


def _said(problem: StatusProblem) -> str:
    import json

    try:
        return one_line(str(json.loads(problem.response.body)["error"]["message"]), 200).rstrip(".")
    except (ValueError, KeyError, TypeError):
        return ""
