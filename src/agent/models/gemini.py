"""Gemini's own API, for video and audio: generateContent, and the Files API for large files.

All other requests use its OpenAI-compatible endpoint, which does not accept video.
"""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.models.failures import Endpoint, Failure, Kind, response_failure, transport_failure
from agent.models.media import MAX_INLINE_BYTES, base64_of, named_media
from agent.models.wire import Body, OnDelta, response_of
from mcp_tools.network import NetworkError, network_client

if TYPE_CHECKING:
    import httpx2

_COMPATIBLE = re.compile(r"(.*)/(v1\w*)/openai/?")
_UPLOAD_SECONDS = 600.0
_REUSE_SECONDS = 24 * 3600.0
"""Seconds for which an uploaded file is reused. Gemini deletes it after 48 hours."""
_CHUNK_BYTES = 1 << 20
_BLOCKED = ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII")


def is_gemini(url: str) -> bool:
    """Return True if the URL has the form of Gemini's OpenAI-compatible endpoint. Proxies are recognised too."""
    return _COMPATIBLE.fullmatch(url) is not None


class GeminiWire:
    """Sends requests without functions to Gemini's own API; see `agent.models.wire.Wire`.

    Args:
        endpoint: Gemini's OpenAI-compatible endpoint.
        timeout: Limit of one request in seconds. Uploads have their own limit.
    """

    def __init__(self, endpoint: Endpoint, timeout: float) -> None:
        match = _COMPATIBLE.fullmatch(endpoint.url)
        assert match is not None, "the address is Gemini's"
        self._root, self._version = match[1], match[2]
        self.endpoint = replace(endpoint, url=f"{self._root}/{self._version}")
        self._timeout = timeout
        self._opened: httpx2.AsyncClient | None = None
        self._uploaded: dict[tuple[Path, int], tuple[str, float]] = {}

    async def send(self, body: Body, on_delta: OnDelta | None = None) -> dict[str, Any]:
        """Send one request. The answer is not streamed."""
        contents: list[dict[str, Any]] = []
        system: list[dict[str, Any]] = []
        for message in body["messages"]:
            content = message.get("content") or ""
            parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
            converted = [await self._part(part) for part in parts]
            if message["role"] == "system":
                system += converted
            else:
                contents.append({"role": "model" if message["role"] == "assistant" else "user", "parts": converted})
        options = {"maxOutputTokens": body.get("max_tokens"), "temperature": body.get("temperature")}
        request: Body = {"contents": contents}
        request |= {"generationConfig": {name: value for name, value in options.items() if value is not None}}
        request |= {"systemInstruction": {"parts": system}} if system else {}
        url = f"{self.endpoint.url}/models/{self.endpoint.model}:generateContent"
        response = await self._ask("POST", url, self._timeout, json=request)
        return self._read(response.content and _json(response))

    async def aclose(self) -> None:
        """Close all connections."""
        if self._opened is not None:
            await self._opened.aclose()
            self._opened = None

    async def _part(self, part: dict[str, Any]) -> dict[str, Any]:
        if part["type"] == "text":
            return {"text": part["text"]}
        if (named := named_media(part)) is None:  # a picture
            media_type, _, data = part["image_url"]["url"].removeprefix("data:").partition(";base64,")
            return {"inlineData": {"mimeType": media_type, "data": data}}
        if named.path is None:
            return {"fileData": {"fileUri": named.url}}
        if named.path.exists() and named.path.stat().st_size > MAX_INLINE_BYTES:
            uri = await self._upload(named.path, named.media_type)
            return {"fileData": {"fileUri": uri, "mimeType": named.media_type}}
        return {"inlineData": {"mimeType": named.media_type, "data": base64_of(named.path, self.endpoint)}}

    async def _upload(self, path: Path, media_type: str) -> str:
        """Upload a file unless that was done before, wait until Gemini has processed it, and return its URI."""
        state = await asyncio.to_thread(path.stat)
        uri, at = self._uploaded.get((path, state.st_mtime_ns), ("", 0.0))
        if uri and time.monotonic() - at < _REUSE_SECONDS:
            return uri
        protocol = {"X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start"}
        about = {
            "X-Goog-Upload-Header-Content-Length": str(state.st_size),
            "X-Goog-Upload-Header-Content-Type": media_type,
        }
        begun = await self._ask(
            "POST",
            f"{self._root}/upload/{self._version}/files",
            self._timeout,
            headers=protocol | about,
            json={"file": {"display_name": path.name}},
        )
        if not (target := begun.headers.get("x-goog-upload-url")):
            raise Failure(Kind.INVALID, self.endpoint, "it did not return an upload URL for the file")
        headers = {"X-Goog-Upload-Offset": "0", "X-Goog-Upload-Command": "upload, finalize"}
        headers |= {"Content-Length": str(state.st_size)}
        done = await self._ask("POST", target, _UPLOAD_SECONDS, headers=headers, content=_pieces(path))
        file = (_json(done) or {}).get("file", {})
        deadline = time.monotonic() + _UPLOAD_SECONDS
        while file.get("state") == "PROCESSING":
            if time.monotonic() > deadline:
                raise Failure(Kind.TIMEOUT, self.endpoint, f"it is still processing {path.name}")
            await asyncio.sleep(1)
            file = _json(await self._ask("GET", f"{self.endpoint.url}/{file.get('name')}", self._timeout)) or {}
        if not (uri := str(file.get("uri") or "")) or file.get("state") == "FAILED":
            raise Failure(Kind.REFUSED, self.endpoint, f"it could not process {path.name}")
        self._uploaded[path, state.st_mtime_ns] = uri, time.monotonic()
        return uri

    async def _ask(self, method: str, url: str, seconds: float, **request: Any) -> httpx2.Response:
        import httpx2

        if self._opened is None:
            try:
                self._opened = network_client(httpx2.AsyncClient)
            except NetworkError as error:
                raise Failure(Kind.NETWORK, self.endpoint, error.message, remedy=error.remedy) from None
        headers = {"x-goog-api-key": self.endpoint.api_key or "", **request.pop("headers", {})}
        timeout = httpx2.Timeout(seconds, connect=10.0)
        try:
            async with asyncio.timeout(seconds):
                response = await self._opened.request(method, url, headers=headers, timeout=timeout, **request)
        except TimeoutError:
            raise Failure(Kind.TIMEOUT, self.endpoint, f"after {seconds:g} s") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise transport_failure(self.endpoint, error) from None
        if response.status_code >= 400:
            raise response_failure(self.endpoint, response)
        return response

    def _read(self, answer: Any) -> dict[str, Any]:
        """Convert the answer to a Chat Completions response."""
        message: dict[str, Any] = {"role": "assistant", "content": ""}
        try:
            blocked = answer.get("promptFeedback", {}).get("blockReason")
            candidate = {} if blocked else answer["candidates"][0]
            ended = str(blocked or candidate.get("finishReason", "STOP"))
            parts = candidate.get("content", {}).get("parts", [])
            message["content"] = "".join(part.get("text", "") for part in parts if not part.get("thought"))
            counted = answer.get("usageMetadata", {})
            written = counted.get("candidatesTokenCount", 0) + counted.get("thoughtsTokenCount", 0)
        except (AttributeError, LookupError, TypeError):
            raise Failure(Kind.INVALID, self.endpoint, f"not a Gemini answer: {answer}") from None
        if blocked or (ended in _BLOCKED and not message["content"]):
            message["refusal"] = ended
        tokens = (counted.get("promptTokenCount", 0), written, counted.get("cachedContentTokenCount", 0))
        finish = "length" if ended == "MAX_TOKENS" else "stop"
        return response_of(answer.get("modelVersion"), message, finish, tokens if counted else None)


def _json(response: httpx2.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None


async def _pieces(path: Path) -> Any:
    with path.open("rb") as file:
        while piece := await asyncio.to_thread(file.read, _CHUNK_BYTES):
            yield piece
