"""Hosted models: the wire to any OpenAI-compatible endpoint, and which models one offers."""

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
from agent.models.films import with_films
from agent.models.protocol import FIRST_LISTED, OPENAI_URL
from agent.models.wire import CHAT, ENDED, RESPONSES, RESPONSES_WITHOUT_STRICT, Body, Dialect, OnDelta
from mcp_tools.network import NETWORK_ERRORS, NetworkError, network_client

if TYPE_CHECKING:
    import httpx2
    import openai

_MOST_BYTES = 32_000_000
"""Bytes of a reply, after decompression."""
_MOST_OF_ERROR = 100_000
OTHER_USE = re.compile(
    r"embed|\bbge\b|minilm|rerank|diffusion|whisper|\btts\b|dall-e|moderation|transcri", re.IGNORECASE
)
"""Names of models that answer nothing."""
_NO_KEY = "the key has characters that no key has"


class HttpWire:
    """Carries requests over HTTP, by the client of the openai package.

    A reply is read as bytes, to limit its length and to accept unusual forms.
    A model `auto` becomes the first that the endpoint lists.
    Its `timeout` is the time that one call may take, streamed or not.
    """

    def __init__(self, endpoint: Endpoint, timeout: float = 180.0, dialect: Dialect = CHAT) -> None:
        self.endpoint = endpoint
        self._timeout = timeout
        self._dialect = dialect
        self._opened: openai.AsyncOpenAI | None = None

    async def send(self, body: Body, on_delta: OnDelta | None = None) -> dict[str, Any]:
        """Sends one request; see `agent.models.wire.Wire`."""
        import httpx2
        import openai

        try:
            if self.endpoint.model == FIRST_LISTED:
                self.endpoint = replace(self.endpoint, model=(await asyncio.to_thread(usable_models, self.endpoint))[0])
            body = with_films({**body, "model": self.endpoint.model}, self.endpoint)
            try:
                async with asyncio.timeout(self._timeout):
                    return await self._post(body, on_delta)
            except Failure as failure:
                if self._dialect is RESPONSES and failure.kind is Kind.REFUSED and "strict" in failure.said:
                    self._dialect = RESPONSES_WITHOUT_STRICT
                    return await self.send(body, on_delta)
                if failure.status not in (404, 405) or urlsplit(self.endpoint.url).path.strip("/"):
                    raise
                known, self.endpoint = self.endpoint, replace(self.endpoint, url=_with_path(self.endpoint.url, "/v1"))
                try:
                    async with asyncio.timeout(self._timeout):
                        return await self._post(body, on_delta)
                except Failure as other:
                    if other.status in (404, 405):
                        self.endpoint = known
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
            raise Failure(Kind.AUTH, self.endpoint, _NO_KEY) from None

    async def aclose(self) -> None:
        """Closes connections."""
        if self._opened is not None:
            await self._opened.close()
            self._opened = None

    async def _post(self, body: Body, on_delta: OnDelta | None) -> dict[str, Any]:
        import httpx2
        import openai

        url = _with_path(self.endpoint.url, self._dialect.path)
        # Omitted: the package would send its own key.
        headers: dict[str, str | openai.Omit] = {"Authorization": openai.Omit(), **headers_of(self.endpoint)}
        # A typed request would walk over every message of the conversation.
        response: Any = await self._client().post(
            url,
            cast_to=httpx2.Response,
            body=self._dialect.request(body),
            options={"headers": headers},
            stream=True,
            stream_cls=openai.AsyncStream[Any],
        )
        async with aclosing(response):
            data = _Body(response, self.endpoint)
            if await data.is_stream():
                shown = on_delta if on_delta is not None else lambda _: None
                return await self._dialect.assemble(_events(data, self.endpoint), shown, self.endpoint)
            answer = await self._whole(data)
        if on_delta is not None and "choices" in (answer := self._dialect.response(answer, self.endpoint)):
            return await CHAT.assemble(_one(answer), on_delta, self.endpoint)
        return self._dialect.response(answer, self.endpoint) if on_delta is None else answer

    async def _whole(self, data: _Body) -> dict[str, Any]:
        try:
            answer = json.loads(b"".join([piece async for piece in data]))
        except (ValueError, RecursionError) as error:
            raise Failure(Kind.CUT, self.endpoint, f"no JSON: {error}") from None
        if isinstance(answer, list) and answer and isinstance(answer[0], dict):
            answer = answer[0]
        if not isinstance(answer, dict):
            raise Failure(Kind.CUT, self.endpoint, f"no JSON object but {str(answer)[:200]!r}")
        return answer

    async def _refuse(self, response: httpx2.Response) -> None:
        """Raises what a status of 300 or more means, before the client reads all that comes with it."""
        if response.status_code < 300:
            return
        if response.status_code < 400:
            place = response.headers.get("location", "elsewhere")
            raise Failure(Kind.CUT, self.endpoint, f"it redirects to {place}", status=response.status_code)
        text = b""
        async for piece in _Body(response, self.endpoint):
            text += piece
            if len(text) > _MOST_OF_ERROR:
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
                default_headers=withheld_headers(self.endpoint.url),
                http_client=network_client(
                    httpx2.AsyncClient, timeout=limits, event_hooks={"response": [self._refuse]}
                ),
            )
        return self._opened


async def _one(answer: dict[str, Any]) -> AsyncIterator[dict[str, Any]]:
    """A whole answer as a stream of one chunk."""
    yield answer
    yield ENDED


class _Body:
    """The bytes of a response, decompressed by ourselves: a few compressed bytes can become gigabytes."""

    def __init__(self, response: httpx2.Response, endpoint: Endpoint) -> None:
        self._response = response
        self._endpoint = endpoint
        self._encoding = response.headers.get("content-encoding", "identity").lower()
        self._pieces = self._read()
        self._first = b""

    @property
    def has_length(self) -> bool:
        """The server marks the end of the body, so that one that was cut off shows."""
        headers = self._response.headers
        return "content-length" in headers or "chunked" in headers.get("transfer-encoding", "")

    async def is_stream(self) -> bool:
        """The body holds events and is no JSON; reads its beginning."""
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
            raise Failure(Kind.CUT, self._endpoint, f"it is compressed with {self._encoding}, which was not asked for")
        inflate = zlib.decompressobj(47) if self._encoding in ("gzip", "deflate") else None
        size = 0
        async for piece in self._response.aiter_raw():
            try:
                piece = inflate.decompress(piece, _MOST_BYTES + 1) if inflate else piece
            except zlib.error as error:
                raise Failure(Kind.CUT, self._endpoint, f"it cannot be decompressed: {error}") from None
            if (size := size + len(piece)) > _MOST_BYTES:
                raise Failure(Kind.CUT, self._endpoint, f"the reply has more than {_MOST_BYTES:,} bytes")
            yield piece


async def _lines(data: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Lines, whichever of CR, LF and CRLF ends them."""
    rest = b""
    async for piece in data:
        *lines, last = piece.replace(b"\r", b"\n").split(b"\n")
        if lines:
            lines[0], rest = rest + lines[0], b""
            for line in lines:
                yield line
        rest += last
    yield rest


async def _events(data: _Body, endpoint: Endpoint) -> AsyncIterator[dict[str, Any]]:
    """The JSON of server-sent events, then `ENDED` if the stream came to its proper end."""
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
            raise Failure(Kind.CUT, endpoint, "an event that is nested too deeply") from None
        except ValueError:
            if waiting is not value and len(waiting) > _MOST_OF_ERROR:
                raise Failure(Kind.CUT, endpoint, "an event that is no JSON") from None
            continue
        waiting = b""
        yield event
    if waiting:
        raise Failure(Kind.CUT, endpoint, f"an event that is no JSON: {waiting[:80].decode(errors='replace')!r}")
    if data.has_length:
        yield ENDED


def _with_path(url: str, path: str) -> str:
    """An endpoint's address with a path behind its own, before its query."""
    parts = urlsplit(url)
    return parts._replace(path=parts.path.rstrip("/") + path).geturl()


def headers_of(endpoint: Endpoint) -> dict[str, str]:
    """The headers of every request: the key, as the endpoint wants it, and no wish for compression."""
    headers = {"Accept-Encoding": "identity", "User-Agent": "alita"}
    if endpoint.api_key is None:
        return headers
    if endpoint.host.partition(":")[0].endswith((".azure.com", ".azure-api.net")):
        return {**headers, "api-key": endpoint.api_key}
    return {**headers, "Authorization": f"Bearer {endpoint.api_key}"}


def withheld_headers(url: str) -> Any:
    """The headers that the openai package takes from the environment, left out at an address that is not OpenAI's.

    The address in OPENAI_BASE_URL, which is the package's own variable, gets them, too.
    """
    import openai

    if url in (OPENAI_URL, os.environ.get("OPENAI_BASE_URL", "").rstrip("/")):
        return None
    lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
    names = ["OpenAI-Organization", "OpenAI-Project", *(line.partition(":")[0].strip() for line in lines)]
    return {name: openai.Omit() for name in names if name}


class ModelList(NamedTuple):
    """The models that an endpoint lists, in its order. Also empty if it has no such list."""

    listed: tuple[str, ...] = ()
    failure: Failure | None = None
    """Why the list is unavailable."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names, sorted."""
        return tuple(sorted(self.listed))


def ask_models(endpoint: Endpoint, seconds: float = 5.0) -> ModelList:
    """Asks an endpoint for its models (`GET /models`)."""
    try:
        return ModelList(_models_at(endpoint, seconds))
    except Failure as failure:
        return ModelList(failure=failure)


def usable_models(endpoint: Endpoint) -> Sequence[str]:
    """The models of an endpoint that can answer, in its order: at least one.

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
                response = client.get(_with_path(address, "/models"), headers=headers_of(endpoint))
                if response.status_code not in (404, 405):
                    break
    except NetworkError as error:
        raise Failure(Kind.NETWORK, endpoint, error.message, remedy=error.remedy) from None
    except UnicodeEncodeError:
        raise Failure(Kind.AUTH, endpoint, _NO_KEY) from None
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
        raise Failure(Kind.CUT, endpoint, "its list of models is no JSON", status=response.status_code) from None
    try:
        models = answer if isinstance(answer, list) else answer.get("data") or answer.get("models") or []
        return tuple(str(each.get("id") or each["name"]) for each in models)
    except (LookupError, TypeError, AttributeError):
        return ()


def _addresses(url: str) -> Iterator[str]:
    yield url
    if not urlsplit(url).path.strip("/"):
        yield _with_path(url, "/v1")
