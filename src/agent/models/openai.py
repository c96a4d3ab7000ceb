"""HTTP access to any OpenAI-compatible endpoint: sending requests and listing models."""

from __future__ import annotations

import asyncio
import json
import os
import re
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from agent.models.failures import (
    Endpoint,
    Failure,
    Kind,
    openai_failure,
    response_failure,
    status_failure,
    transport_failure,
)
from agent.models.media import with_media_content
from agent.models.protocol import FIRST_LISTED, OPENAI_URL
from agent.models.wire import CHAT, ENDED, RESPONSES, RESPONSES_WITHOUT_STRICT, Body, Dialect, OnDelta
from mcp_tools.network import NETWORK_ERRORS, NetworkError, network_client

if TYPE_CHECKING:
    import httpx2
    import openai

_MAX_REPLY_BYTES = 32_000_000
"""Maximum size of a reply after decompression."""
_MAX_ERROR_BYTES = 100_000
OTHER_USE = re.compile(
    r"embed|\bbge\b|minilm|rerank|diffusion|whisper|\btts\b|dall-e|moderation|transcri", re.IGNORECASE
)
"""Names of models that do not answer questions: embeddings, speech, pictures and so on."""
_INVALID_KEY = "the key contains characters that are not allowed in a key"


class HttpWire:
    """Sends requests over HTTP with the client of the openai package.

    Replies are read as bytes, so that their length can be limited and unusual forms are accepted.
    The model `auto` stands for the first model in the endpoint's list.

    Args:
        endpoint: The endpoint to use. If its URL has no path, `/v1` is tried too.
        timeout: Limit of one call in seconds, streamed or not.
        dialect: The API of the endpoint.
    """

    def __init__(self, endpoint: Endpoint, timeout: float = 180.0, dialect: Dialect = CHAT) -> None:
        self.endpoint = endpoint
        self._timeout = timeout
        self._dialect = dialect
        self._opened: openai.AsyncOpenAI | None = None

    async def send(self, body: Body, on_delta: OnDelta | None = None) -> dict[str, Any]:
        """Send one request; see `agent.models.wire.Wire`."""
        import httpx2
        import openai

        try:
            if self.endpoint.model == FIRST_LISTED:
                self.endpoint = replace(self.endpoint, model=(await asyncio.to_thread(usable_models, self.endpoint))[0])
            body = with_media_content({**body, "model": self.endpoint.model}, self.endpoint)
            try:
                async with asyncio.timeout(self._timeout):
                    return await self._post(body, on_delta)
            except Failure as failure:
                if self._dialect is RESPONSES and failure.kind is Kind.REFUSED and "strict" in failure.full_text:
                    self._dialect = RESPONSES_WITHOUT_STRICT
                    return await self.send(body, on_delta)
                if failure.status not in (404, 405) or urlsplit(self.endpoint.url).path.strip("/"):
                    raise
                original, self.endpoint = (
                    self.endpoint,
                    replace(self.endpoint, url=_with_path(self.endpoint.url, "/v1")),
                )
                try:
                    async with asyncio.timeout(self._timeout):
                        return await self._post(body, on_delta)
                except Failure as other:
                    if other.status in (404, 405):
                        self.endpoint = original
                        raise failure from None
                    raise
        except TimeoutError:
            raise Failure(Kind.TIMEOUT, self.endpoint, f"after {self._timeout:g} s") from None
        except NetworkError as error:
            raise Failure(Kind.NETWORK, self.endpoint, error.message, remedy=error.remedy) from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as exc:
            raise transport_failure(self.endpoint, exc) from None
        except openai.APIError as exc:
            raise openai_failure(self.endpoint, exc) or exc from None
        except UnicodeEncodeError:
            raise Failure(Kind.AUTH, self.endpoint, _INVALID_KEY) from None

    async def aclose(self) -> None:
        """Close all connections."""
        if self._opened is not None:
            await self._opened.close()
            self._opened = None

    async def _post(self, body: Body, on_delta: OnDelta | None) -> dict[str, Any]:
        import httpx2
        import openai

        url = _with_path(self.endpoint.url, self._dialect.path)
        # Without Omit, the package would send the key from the environment.
        headers: dict[str, str | openai.Omit] = {"Authorization": openai.Omit(), **request_headers(self.endpoint)}
        # `post` instead of a typed method, which would walk over every message of the conversation.
        response: Any = await self._client().post(
            url,
            cast_to=httpx2.Response,
            body=self._dialect.request(body),
            options={"headers": headers},
            stream=True,
            stream_cls=openai.AsyncStream[Any],
        )
        async with aclosing(response):
            data = _ResponseBody(response, self.endpoint)
            if await data.is_stream():
                show = on_delta if on_delta is not None else lambda _: None
                return await self._dialect.assemble(_events(data, self.endpoint), show, self.endpoint)
            answer = await self._read_json(data)
        if on_delta is not None and "choices" in (answer := self._dialect.response(answer, self.endpoint)):
            return await CHAT.assemble(_single_chunk(answer), on_delta, self.endpoint)
        return self._dialect.response(answer, self.endpoint) if on_delta is None else answer

    async def _read_json(self, data: _ResponseBody) -> dict[str, Any]:
        try:
            answer = json.loads(b"".join([piece async for piece in data]))
        except (ValueError, RecursionError) as error:
            raise Failure(Kind.INVALID, self.endpoint, f"the reply is not JSON: {error}") from None
        if isinstance(answer, list) and answer and isinstance(answer[0], dict):
            answer = answer[0]
        if not isinstance(answer, dict):
            raise Failure(Kind.INVALID, self.endpoint, f"expected a JSON object, got {str(answer)[:200]!r}")
        return answer

    async def _raise_for_status(self, response: httpx2.Response) -> None:
        """Raise for a status of 300 or more. A hook, because the client would read the whole body."""
        if response.status_code < 300:
            return
        if response.status_code < 400:
            target = response.headers.get("location", "another address")
            raise Failure(
                Kind.INVALID, self.endpoint, f"the endpoint redirects to {target}", status=response.status_code
            )
        text = b""
        async for piece in _ResponseBody(response, self.endpoint):
            text += piece
            if len(text) > _MAX_ERROR_BYTES:
                break
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            body = text.decode(errors="replace")
        failure = status_failure(self.endpoint, response.status_code, body, response.headers)
        if failure.status == 404 and self._dialect is not CHAT and "model" not in failure.detail:
            detail = f"the endpoint has no {self._dialect.path}; try the dialect chat"
            failure = Failure(Kind.REFUSED, self.endpoint, detail, status=404)
        raise failure

    def _client(self) -> openai.AsyncOpenAI:
        if self._opened is None:
            import httpx2
            import openai

            limits = httpx2.Timeout(self._timeout, connect=10.0)
            self._opened = openai.AsyncOpenAI(
                api_key=self.endpoint.api_key or "none",
                base_url=self.endpoint.url,
                max_retries=0,
                timeout=limits,
                default_headers=omitted_headers(self.endpoint.url),
                http_client=network_client(
                    httpx2.AsyncClient, timeout=limits, event_hooks={"response": [self._raise_for_status]}
                ),
            )
        return self._opened


async def _single_chunk(answer: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    yield answer
    yield ENDED


class _ResponseBody:
    """The bytes of a response. We decompress them here with a limit, since a few bytes can expand to gigabytes."""

    def __init__(self, response: httpx2.Response, endpoint: Endpoint) -> None:
        self._response = response
        self._endpoint = endpoint
        self._encoding = response.headers.get("content-encoding", "identity").lower()
        self._pieces = self._read()
        self._first = b""

    @property
    def has_length(self) -> bool:
        """True if the end of the body is marked, so that a body that was cut off can be detected."""
        headers = self._response.headers
        return "content-length" in headers or "chunked" in headers.get("transfer-encoding", "")

    async def is_stream(self) -> bool:
        """Read the beginning of the body, and return True if it holds server-sent events."""
        while len(start := self._first.lstrip(b"\xef\xbb\xbf \r\n\t")) < 1:
            if (piece := await anext(self._pieces, None)) is None:
                break
            self._first += piece
        kind = self._response.headers.get("content-type", "").lower()
        return start.startswith((b"data", b"event", b":", b"id:", b"retry")) or (
            "event-stream" in kind and not start.startswith((b"{", b"[", b"<"))
        )

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._first
        async for piece in self._pieces:
            yield piece

    async def _read(self) -> AsyncIterator[bytes]:
        if self._encoding not in ("identity", "", "gzip", "deflate"):
            detail = f"the reply is compressed with {self._encoding}, which was not requested"
            raise Failure(Kind.INVALID, self._endpoint, detail)
        inflate = zlib.decompressobj(47) if self._encoding in ("gzip", "deflate") else None
        size = 0
        async for piece in self._response.aiter_raw():
            try:
                piece = inflate.decompress(piece, _MAX_REPLY_BYTES + 1) if inflate else piece
            except zlib.error as error:
                raise Failure(Kind.INVALID, self._endpoint, f"the reply cannot be decompressed: {error}") from None
            if (size := size + len(piece)) > _MAX_REPLY_BYTES:
                raise Failure(Kind.INVALID, self._endpoint, f"the reply has more than {_MAX_REPLY_BYTES:,} bytes")
            yield piece


async def _lines(data: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Yield lines that end with CR, LF or CRLF."""
    rest = b""
    async for piece in data:
        *lines, last = piece.replace(b"\r", b"\n").split(b"\n")
        if lines:
            lines[0], rest = rest + lines[0], b""
            for line in lines:
                yield line
        rest += last
    yield rest


async def _events(data: _ResponseBody, endpoint: Endpoint) -> AsyncIterator[dict[str, Any]]:
    """Yield the JSON of server-sent events, and `ENDED` last if the stream is complete.

    Some endpoints split one JSON value over several lines or events.
    """
    waiting = b""
    async for line in _lines(data):
        field, _, value = line.partition(b":")
        value = value.strip()
        if field.strip() != b"data" or not value:
            continue
        if value == b"[DONE]":
            yield ENDED
            return
        if not waiting and value[:1] not in b'{["':
            continue  # a ping
        waiting += value
        try:
            event = json.loads(waiting)
        except RecursionError:
            raise Failure(Kind.INVALID, endpoint, "an event that is nested too deeply") from None
        except ValueError:
            if waiting is not value and len(waiting) > _MAX_ERROR_BYTES:
                raise Failure(Kind.INVALID, endpoint, "an event that is not JSON") from None
            continue
        waiting = b""
        yield event
    if waiting:
        start = waiting[:80].decode(errors="replace")
        raise Failure(Kind.INVALID, endpoint, f"an event that is not JSON: {start!r}")
    if data.has_length:
        yield ENDED


def _with_path(url: str, path: str) -> str:
    """Append a path to an endpoint's URL, before the query."""
    parts = urlsplit(url)
    return parts._replace(path=parts.path.rstrip("/") + path).geturl()


def request_headers(endpoint: Endpoint) -> dict[str, str]:
    """Return the headers of every request: the key in the endpoint's form, and no compression."""
    headers = {"Accept-Encoding": "identity", "User-Agent": "alita"}
    if endpoint.api_key is None:
        return headers
    if endpoint.host.partition(":")[0].endswith((".azure.com", ".azure-api.net")):
        return {**headers, "api-key": endpoint.api_key}
    return {**headers, "Authorization": f"Bearer {endpoint.api_key}"}


def omitted_headers(url: str) -> Any:
    """Keep the headers that the openai package takes from the environment away from other providers.

    Only OpenAI and the address in OPENAI_BASE_URL receive them.
    """
    import openai

    if url in (OPENAI_URL, os.environ.get("OPENAI_BASE_URL", "").rstrip("/")):
        return None
    lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
    names = ["OpenAI-Organization", "OpenAI-Project", *(line.partition(":")[0].strip() for line in lines)]
    return {name: openai.Omit() for name in names if name}


class ModelList(NamedTuple):
    """The models of an endpoint, sorted; empty if it has no list."""

    names: tuple[str, ...] = ()
    failure: Failure | None = None
    """The reason why the list is unavailable."""


def list_models(endpoint: Endpoint, seconds: float = 5.0) -> ModelList:
    """Ask an endpoint for its models (`GET /models`). A failure is part of the result, not raised."""
    try:
        return ModelList(tuple(sorted(_models_at(endpoint, seconds))))
    except Failure as failure:
        return ModelList(failure=failure)


def usable_models(endpoint: Endpoint) -> Sequence[str]:
    """Return the endpoint's models that can answer questions, in its order. There is at least one.

    If no name looks usable, all names are returned.

    Raises:
        Failure: The list is unavailable or empty.
    """
    if not (listed := tuple(dict.fromkeys(_models_at(endpoint)))):
        raise Failure(Kind.NONE_LISTED, endpoint)
    return [name for name in listed if not OTHER_USE.search(name)] or listed


def _models_at(endpoint: Endpoint, seconds: float = 5.0) -> tuple[str, ...]:
    import httpx2

    try:
        with network_client(httpx2.Client, timeout=seconds) as client:
            for address in _addresses(endpoint.url):
                response = client.get(_with_path(address, "/models"), headers=request_headers(endpoint))
                if response.status_code not in (404, 405):
                    break
    except NetworkError as error:
        raise Failure(Kind.NETWORK, endpoint, error.message, remedy=error.remedy) from None
    except UnicodeEncodeError:
        raise Failure(Kind.AUTH, endpoint, _INVALID_KEY) from None
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        raise transport_failure(endpoint, error) from None
    except NETWORK_ERRORS as error:
        raise Failure(Kind.UNREACHABLE, endpoint, str(error)) from None
    if response.status_code in (404, 405):
        return ()
    if response.status_code >= 400:
        raise response_failure(endpoint, response)
    try:
        answer = response.json()
    except (ValueError, RecursionError):
        raise Failure(
            Kind.INVALID, endpoint, "the endpoint's list of models is not JSON", status=response.status_code
        ) from None
    try:
        models = answer if isinstance(answer, list) else answer.get("data") or answer.get("models") or []
        return tuple(str(each.get("id") or each["name"]) for each in models)
    except (LookupError, TypeError, AttributeError):
        return ()


def _addresses(url: str) -> Iterator[str]:
    yield url
    if not urlsplit(url).path.strip("/"):
        yield _with_path(url, "/v1")
