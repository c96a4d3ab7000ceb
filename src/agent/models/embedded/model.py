"""The embedded model: Chat Completions from llama.cpp's server on this machine, without a key."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.models.chat import ChatModel
from agent.models.embedded.local_server import LocalServer, ServerOptions
from agent.models.embedded.prefixes import StoredPrefixes
from agent.models.failures import Endpoint, Failure, Kind, Notify, Retry, response_failure, transport_failure
from agent.models.protocol import EMBEDDED, FREE, Message
from agent.models.wire import Body, OnDelta, assemble

if TYPE_CHECKING:
    import httpx2

_REQUEST_SECONDS = 900.0
_NOT_STARTED = Endpoint(EMBEDDED, "http://127.0.0.1:0/v1", "")


class EmbeddedModel(ChatModel):
    """The model that needs no key. Its server is started at the first call and shared by all processes.

    Args:
        weights: Returns the path of the verified weights file; called once, at the first call.
        runtime: Folder for the server's state file.
        idle: The server exits after this many seconds without a request.
        prefixes: Folder for stored prompt prefixes; None to store none.
        retry: Retry limits.
        notify: Called with a line of text while a call waits.
    """

    def __init__(
        self,
        weights: Callable[[], Path],
        runtime: Path,
        *,
        idle: float = 900.0,
        prefixes: Path | None = None,
        retry: Retry | None = None,
        notify: Notify | None = None,
    ) -> None:
        def server() -> LocalServer:
            options = ServerOptions(weights(), idle=idle, prefixes=prefixes)
            return LocalServer(runtime, options, notify=notify)

        wire, slots = LocalWire(server), asyncio.Semaphore(ServerOptions.parallel)
        super().__init__(EMBEDDED, wire, price=FREE, slots=slots, retry=retry or Retry(), notify=notify, enforced=True)


class LocalWire:
    """Sends requests to the local server with httpx2, because importing the SDK takes longer than a short answer."""

    def __init__(self, server: Callable[[], LocalServer]) -> None:
        self.endpoint = _NOT_STARTED
        self._make_server = server
        self._server: LocalServer | None = None
        self._opened: httpx2.AsyncClient | None = None
        self._prefixes: StoredPrefixes | None = None

    async def send(self, body: Body, on_delta: OnDelta | None = None) -> dict[str, Any]:
        """Send one request, after starting the server if it is not running; see `agent.models.wire.Wire`."""
        import httpx2

        client, server = await self._client()
        try:
            server.files.touch()  # here and in `finally`, so that a long request does not count as idle time
            try:
                await self._restore(client, body["messages"])
                async with client.stream("POST", "/v1/chat/completions", json=body) as response:
                    if response.status_code == 401:  # another process has the port now: the next call finds the server
                        await self.aclose()
                        raise Failure(Kind.UNREACHABLE, self.endpoint, "another server is using that address")
                    if response.status_code >= 400:
                        await response.aread()
                        raise response_failure(self.endpoint, response)
                    if on_delta is not None:
                        return await assemble(_events(response), on_delta, self.endpoint)
                    answer: dict[str, Any] = json.loads(await response.aread())
                    return answer
            finally:
                server.files.touch()
        except httpx2.HTTPError as exc:
            await self.aclose()
            raise transport_failure(self.endpoint, exc) from None
        except json.JSONDecodeError as exc:
            raise Failure(Kind.INVALID, self.endpoint, f"not JSON: {exc}") from None

    async def aclose(self) -> None:
        """Close the connection. The server keeps running until it is idle."""
        client, self._opened = self._opened, None
        if client is not None:
            await client.aclose()

    async def _restore(self, client: httpx2.AsyncClient, messages: Sequence[Message]) -> None:
        """Load the stored prompt prefix of these messages into one of the server's slots.

        It uses the slot that has been idle for the longest time, since other slots may hold conversations that
        continue. If two clients choose the same slot at the same time, their calls are only slower.
        """
        if self._prefixes is None or (file := await asyncio.to_thread(self._prefixes.matching, messages)) is None:
            return
        slots = await client.get("/slots")
        if idle := [slot for slot in slots.json() if slots.status_code == 200 and not slot["is_processing"]]:
            random.shuffle(idle)
            slot = min(idle, key=lambda slot: slot.get("id_task", -1))
            await client.post(f"/slots/{slot['id']}?action=restore", json={"filename": file.name})

    async def _client(self) -> tuple[httpx2.AsyncClient, LocalServer]:
        import httpx2

        if self._server is None:
            self._server = await asyncio.to_thread(self._make_server)
        if self._opened is not None:
            return self._opened, self._server
        state = await self._server.find()
        if self._opened is None:  # still None after the await
            self._prefixes = StoredPrefixes(Path(state.prefixes)) if state.prefixes else None
            self.endpoint = Endpoint(EMBEDDED, f"http://127.0.0.1:{state.port}/v1", "", state.token)
            self._opened = httpx2.AsyncClient(
                base_url=f"http://127.0.0.1:{state.port}",
                headers={"Authorization": f"Bearer {state.token}"},
                timeout=httpx2.Timeout(_REQUEST_SECONDS, connect=5.0),
                trust_env=False,
            )
        return self._opened, self._server


async def _events(response: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    """Yield the JSON events of a stream, up to `[DONE]`."""
    async for line in response.aiter_lines():
        data = line[5:].strip() if line.startswith("data:") else ""
        if data == "[DONE]":
            return
        if data:
            yield json.loads(data)
