"""Hosted models: the wire to any OpenAI-compatible endpoint, through the openai SDK; and which models one offers."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from agent.models.failures import Endpoint, Failure, Kind, openai_failure, transport_failure
from agent.models.films import with_films
from agent.models.protocol import FIRST_LISTED
from agent.models.wire import CHAT, Body, Dialect, OnDelta

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from openai import AsyncOpenAI


class SdkWire:
    """Carries requests through `AsyncOpenAI`.

    Bodies are handed to `client.post` as they are: the resource methods walk every message and tool against
    their request types on each call, which costs more than all the rest once a conversation is long.

    A model `auto` becomes the first that the endpoint lists. Its `timeout` is the time that one call may take.
    """

    def __init__(self, endpoint: Endpoint, timeout: float = 180.0, dialect: Dialect = CHAT) -> None:
        self.endpoint = endpoint
        self._timeout = timeout
        self._dialect = dialect
        self._opened: AsyncOpenAI | None = None

    async def send(self, body: Body, on_delta: OnDelta | None = None) -> dict[str, Any]:
        """Sends one request; see `agent.models.wire.Wire`."""
        import httpx2
        import openai

        try:
            if self.endpoint.model == FIRST_LISTED:
                if not (names := await self._listed()):
                    raise Failure(Kind.UNKNOWN_MODEL, self.endpoint, "it lists none")
                self.endpoint = replace(self.endpoint, model=names[0])
            body = with_films({**body, "model": self.endpoint.model}, self.endpoint)
            body = self._dialect.request(body)
            if on_delta is not None:
                return await self._dialect.assemble(self._chunks(body), on_delta, self.endpoint)
            async with asyncio.timeout(self._timeout):
                response = await self._client().post(self._dialect.path, body=body, cast_to=object)
        except TimeoutError:
            raise Failure(Kind.TIMEOUT, self.endpoint, f"after {self._timeout:g} s") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as exc:
            raise transport_failure(self.endpoint, exc) from None
        except (json.JSONDecodeError, UnicodeDecodeError) as exc:
            raise Failure(Kind.CUT, self.endpoint, f"no JSON: {exc}") from None
        except openai.OpenAIError as exc:
            failure = openai_failure(self.endpoint, exc)
            if failure and failure.status == 404 and self._dialect is not CHAT and "model" not in failure.detail:
                detail = f"the endpoint has no {self._dialect.path}; try the dialect chat"
                failure = Failure(Kind.REFUSED, self.endpoint, detail, status=404)
            raise failure or exc from None
        if not isinstance(response, dict):
            raise Failure(Kind.CUT, self.endpoint, f"no JSON object but {response!r}")
        return self._dialect.response(response, self.endpoint)

    async def aclose(self) -> None:
        """Closes connections."""
        if self._opened is not None:
            await self._opened.close()
            self._opened = None

    async def _listed(self) -> list[str]:
        listed: Any = await self._client().get("/models", cast_to=object)
        models = listed.get("data") if isinstance(listed, dict) else None
        return [str(m["id"]) for m in models or () if isinstance(m, dict) and "id" in m]

    async def _chunks(self, body: Body) -> AsyncIterator[dict[str, Any]]:
        from openai import AsyncStream

        stream: Any = await self._client().post(
            self._dialect.path, body=body, cast_to=object, stream=True, stream_cls=AsyncStream[object]
        )
        async with stream:
            async for chunk in stream:
                yield chunk

    def _client(self) -> AsyncOpenAI:
        if self._opened is None:
            import httpx2
            from openai import AsyncOpenAI

            self._opened = AsyncOpenAI(
                api_key=self.endpoint.api_key or "none",
                base_url=self.endpoint.url,
                timeout=httpx2.Timeout(self._timeout, connect=10.0),
                max_retries=0,  # ours tell the user, honour Retry-After and count
            )
        return self._opened


class ModelList(NamedTuple):
    """What an endpoint says, or why it says nothing."""

    names: tuple[str, ...] = ()
    """Empty where it has no such list, too."""
    problem: str = ""
    remedy: str = ""


def ask_models(endpoint: Endpoint, seconds: float = 5.0) -> ModelList:
    """Asks an endpoint for its models (`GET /models`)."""
    import httpx2

    url = endpoint.url
    try:
        headers = {"Authorization": f"Bearer {endpoint.api_key}"} if endpoint.api_key else {}
        response = httpx2.get(f"{url}/models", headers=headers, timeout=seconds)
    except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeEncodeError) as error:
        return ModelList(problem=f"{url} could not be reached: {error}", remedy="Check the network, or --base-url.")
    if response.status_code in {401, 403}:
        return ModelList(problem=f"{url} rejected the key", remedy=f"Set {endpoint.key_variable or 'its key'}.")
    if response.status_code >= 400 and response.status_code != 404:
        return ModelList(problem=f"{url} answered {response.status_code}", remedy="Check --base-url.")
    try:
        return ModelList(tuple(sorted(str(model["id"]) for model in response.json()["data"])))
    except (ValueError, KeyError, TypeError):
        return ModelList()
