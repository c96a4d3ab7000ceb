"""Hosted models: any OpenAI-compatible endpoint, through the openai SDK; and which models an endpoint offers."""

from __future__ import annotations

import asyncio
import contextlib
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from agent.models.chat import ChatModel
from agent.models.failures import Endpoint, Failure, Kind, Notify, Retry, openai_failure, transport_failure
from agent.models.ladder import TraitsCache
from agent.models.protocol import FIRST_LISTED, OPENAI_URL, Price
from agent.models.wire import CHAT, Body, Dialect, OnDelta

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from openai import AsyncOpenAI

    from agent.models.failures import Endpoint


class OpenAIModel(ChatModel):
    """A model at an OpenAI-compatible endpoint.

    Args:
        name: What the user calls the model.
        model: Its name at the endpoint; the same when empty.
        api_key: None for an endpoint that needs none.
        base_url: Where the dialect's path is found.
        dialect: What the endpoint speaks.
        key_variable: The environment variable that messages name when the key is refused.
        timeout: Seconds that one call may take before it fails.
        retry: How often a failed call is repeated.
        slots: Limits the calls in flight; models at one endpoint share it.
        price: US dollars per million tokens; None when unknown.
        temperature: Sent with every call, instead of what the call wants.
        traits: What is known of the endpoint, shared and kept.
        notify: Told when a call waits.
    """

    def __init__(
        self,
        name: str,
        *,
        model: str = "",
        api_key: str | None = None,
        base_url: str = OPENAI_URL,
        dialect: Dialect = CHAT,
        key_variable: str = "OPENAI_API_KEY",
        timeout: float = 180.0,
        retry: Retry | None = None,
        slots: asyncio.Semaphore | None = None,
        price: Price | None = None,
        temperature: float | None = None,
        traits: TraitsCache | None = None,
        notify: Notify | None = None,
    ) -> None:
        endpoint = Endpoint(model or name, base_url.rstrip("/"), key_variable, api_key)
        wire = SdkWire(endpoint, timeout, dialect)
        super().__init__(
            name, wire, price=price, temperature=temperature, slots=slots, retry=retry, traits=traits, notify=notify
        )


class SdkWire:
    """Carries requests through `AsyncOpenAI`.

    Bodies are handed to `client.post` as they are: the resource methods walk every message and tool against
    their request types on each call, which costs more than all the rest once a conversation is long.
    """

    def __init__(self, endpoint: Endpoint, timeout: float, dialect: Dialect) -> None:
        self._endpoint = endpoint
        self._timeout = timeout
        self._dialect = dialect
        self._opened: AsyncOpenAI | None = None

    @property
    def endpoint(self) -> Endpoint:
        """Who is asked."""
        return self._endpoint

    async def send(self, body: Body, on_delta: OnDelta | None = None) -> dict[str, Any]:
        """Sends one request; see `agent.models.wire.Wire`."""
        try:
            if self._endpoint.model == FIRST_LISTED:
                await self._resolve()
            body = self._dialect.request({**body, "model": self._endpoint.model})
            if on_delta is not None:
                return await self._dialect.assemble(self._chunks(body), on_delta, self._endpoint)
            async with asyncio.timeout(self._timeout):
                response = await self._client().post(self._dialect.path, body=body, cast_to=object)
        except TimeoutError:
            raise Failure(Kind.TIMEOUT, self._endpoint, f"after {self._timeout:g} s") from None
        except Failure:
            raise
        except _foreign_errors() as exc:
            raise self._failure(exc) from None
        if not isinstance(response, dict):
            raise Failure(Kind.CUT, self._endpoint, f"no JSON object but {response!r}")
        return self._dialect.response(response, self._endpoint)

    async def models(self) -> list[str]:
        """The names that `/models` gives; empty when it gives none within five seconds."""
        with contextlib.suppress(TimeoutError, *_foreign_errors()):
            async with asyncio.timeout(5):
                return await self._listed()
        return []

    async def aclose(self) -> None:
        """Closes connections."""
        if self._opened is not None:
            await self._opened.close()
            self._opened = None

    async def _listed(self) -> list[str]:
        listed: Any = await self._client().get("/models", cast_to=object)
        models = listed.get("data") if isinstance(listed, dict) else None
        return [str(m["id"]) for m in models or () if isinstance(m, dict) and "id" in m]

    async def _resolve(self) -> None:
        """Settles which model `auto` is, for good."""
        names = await self._listed()
        if not names:
            raise Failure(Kind.UNKNOWN_MODEL, self._endpoint, "it lists none")
        self._endpoint = replace(self._endpoint, model=names[0])

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
                api_key=self._endpoint.api_key or "none",
                base_url=self._endpoint.url,
                timeout=httpx2.Timeout(self._timeout, connect=10.0),
                max_retries=0,  # ours tell the user, honour Retry-After and count
            )
        return self._opened

    def _failure(self, exc: Exception) -> Exception:
        """The failure that an exception means, or the exception itself if it is a bug."""
        import httpx2

        if isinstance(exc, httpx2.HTTPError | httpx2.InvalidURL):
            return transport_failure(self._endpoint, exc)
        if isinstance(exc, ValueError):
            return Failure(Kind.CUT, self._endpoint, f"no JSON: {exc}")
        failure = openai_failure(self._endpoint, exc)
        if failure and failure.status == 404 and self._dialect is not CHAT and "model" not in failure.detail:
            return Failure(
                Kind.REFUSED, self._endpoint, f"no {self._dialect.path} here; its dialect may be chat", status=404
            )
        return failure or exc


def _foreign_errors() -> tuple[type[Exception], ...]:
    import httpx2
    import openai

    return (openai.OpenAIError, httpx2.HTTPError, httpx2.InvalidURL, json.JSONDecodeError, UnicodeDecodeError)


_SECONDS = 5.0


class Offered(NamedTuple):
    """What an endpoint says, or why it says nothing."""

    names: tuple[str, ...] = ()
    """Empty where it has no such list, too."""
    problem: str = ""
    remedy: str = ""


def ask_models(endpoint: Endpoint) -> Offered:
    """Asks an endpoint for its models."""
    remedy = f"Set {endpoint.key_variable or 'its key'}."
    return ask_models_at(endpoint.url, endpoint.api_key, key_remedy=remedy)


def ask_models_at(url: str, key: str | None = None, *, key_remedy: str = "", seconds: float = _SECONDS) -> Offered:
    """Asks a base URL for its models (`GET /models`).

    Args:
        url: The base URL.
        key: Sent where there is one.
        key_remedy: What to do where it is refused.
        seconds: How long it may take.
    """
    import httpx2

    try:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        response = httpx2.get(f"{url}/models", headers=headers, timeout=seconds)
    except (httpx2.HTTPError, httpx2.InvalidURL, UnicodeEncodeError) as error:
        return Offered(problem=f"{url} is not reached: {error}", remedy="Check the network, or --base-url.")
    if response.status_code in {401, 403}:
        return Offered(problem=f"{url} refuses the key", remedy=key_remedy)
    if response.status_code >= 400 and response.status_code != 404:
        return Offered(problem=f"{url} answers {response.status_code}", remedy="Check --base-url.")
    try:
        return Offered(tuple(sorted(str(model["id"]) for model in response.json()["data"])))
    except (ValueError, KeyError, TypeError):
        return Offered()
