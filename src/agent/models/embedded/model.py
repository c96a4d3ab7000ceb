"""The embedded model: Chat Completions with llama.cpp's server on this machine, without any key."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.models.chat import ChatModel
from agent.models.embedded.local_server import LocalServer, ServerOptions, ServerState
from agent.models.embedded.prefixes import KeptPrefixes
from agent.models.failures import Endpoint, Failure, Kind, Notify, Retry, status_failure, transport_failure
from agent.models.protocol import EMBEDDED, FREE, Message
from agent.models.wire import Body, OnDelta, assemble, events

if TYPE_CHECKING:
    import httpx2


class EmbeddedModel(ChatModel):
    """The model that needs no key. Its server is started with the first call and shared by all processes.

    Args:
        weights: Gives the path of the verified weights file; called with the first request.
        runtime: The folder where processes leave word of their servers.
        idle: Seconds without a request after which the server ends.
        threads: 0 for as many as there are free cores.
        prefixes: The folder in which the beginnings of prompts are kept; None: they are read anew each time.
        timeout: Seconds that one call may take.
        notify: Told when the model is loaded and when a call waits.
    """

    def __init__(
        self,
        weights: Callable[[], Path],
        runtime: Path,
        *,
        idle: float = 900.0,
        threads: int = 0,
        prefixes: Path | None = None,
        timeout: float = 900.0,
        slots: asyncio.Semaphore | None = None,
        retry: Retry | None = None,
        notify: Notify | None = None,
    ) -> None:
        def server() -> LocalServer:
            options = ServerOptions(weights(), idle=idle, threads=threads, prefixes=prefixes)
            return LocalServer(runtime, options, notify=notify)

        super().__init__(
            EMBEDDED,
            LocalWire(server, timeout),
            price=FREE,
            slots=slots or asyncio.Semaphore(ServerOptions.parallel),
            retry=retry,
            notify=notify,
            enforced=True,
        )


class LocalWire:
    """Carries requests to the local server with httpx2: importing the SDK takes longer than a short answer."""

    def __init__(self, server: Callable[[], LocalServer], timeout: float) -> None:
        self._make_server = server
        self._timeout = timeout
        self._server: LocalServer | None = None
        self._state: ServerState | None = None
        self._opened: httpx2.AsyncClient | None = None
        self._kept: KeptPrefixes | None = None

    @property
    def endpoint(self) -> Endpoint:
        """Who is asked."""
        port = self._state.port if self._state else 0
        token = self._state.token if self._state else None
        return Endpoint(EMBEDDED, f"http://127.0.0.1:{port}/v1", "", token)

    async def send(self, body: Body, on_delta: OnDelta | None = None) -> dict[str, Any]:
        """Sends one request, starting the server if need be; see `agent.models.wire.Wire`."""
        import httpx2

        client, server = await self._client()
        try:
            server.files.touch()  # a request that begins and one that is done both keep the server from ending
            try:
                await self._restore(client, body["messages"])
                return await self._post(client, body, on_delta)
            finally:
                server.files.touch()
        except httpx2.HTTPError as exc:
            await self._forget()
            raise transport_failure(self.endpoint, exc) from None
        except json.JSONDecodeError as exc:
            raise Failure(Kind.CUT, self.endpoint, f"no JSON: {exc}") from None

    async def models(self) -> list[str]:
        """The one that is served."""
        return [EMBEDDED]

    async def aclose(self) -> None:
        """Closes connections; the server stays for others until it is idle."""
        await self._forget()

    async def _restore(self, client: httpx2.AsyncClient, messages: Sequence[Message]) -> None:
        """Has the server take back what it once computed for the beginning of a prompt.

        The slot is one that is idle, and was for longest: the others hold conversations that may go on. Two clients
        that choose the same one at once are only slower.
        """
        if self._kept is None or (file := await asyncio.to_thread(self._kept.fitting, messages)) is None:
            return
        slots = await client.get("/slots")
        if idle := [slot for slot in slots.json() if slots.status_code == 200 and not slot["is_processing"]]:
            random.shuffle(idle)
            slot = min(idle, key=lambda slot: slot.get("id_task", -1))
            await client.post(f"/slots/{slot['id']}?action=restore", json={"filename": file.name})

    async def _post(self, client: httpx2.AsyncClient, body: Body, on_delta: OnDelta | None) -> dict[str, Any]:
        if on_delta is None:
            response = await client.post("/v1/chat/completions", json=body)
            await self._raise_for_status(response)
            answer: dict[str, Any] = response.json()
            return answer
        async with client.stream("POST", "/v1/chat/completions", json=body) as response:
            await self._raise_for_status(response)
            return await assemble(events(response.aiter_lines()), on_delta, self.endpoint)

    async def _raise_for_status(self, response: httpx2.Response) -> None:
        if response.status_code < 400:
            return
        await response.aread()
        endpoint = self.endpoint
        if response.status_code == 401:
            # The port belongs to another process by now: look for the server again.
            await self._forget()
            raise Failure(Kind.UNREACHABLE, endpoint, "another server answers there")
        with contextlib.suppress(ValueError):
            raise status_failure(endpoint, response.status_code, response.json(), response.headers)
        raise status_failure(endpoint, response.status_code, response.text, response.headers)

    async def _client(self) -> tuple[httpx2.AsyncClient, LocalServer]:
        import httpx2

        if self._server is None:
            self._server = await asyncio.to_thread(self._make_server)
        if self._opened is not None:
            return self._opened, self._server
        self._state = await self._server.find()
        self._kept = KeptPrefixes(Path(self._state.prefixes)) if self._state.prefixes else None
        if self._opened is None:
            self._opened = httpx2.AsyncClient(
                base_url=f"http://127.0.0.1:{self._state.port}",
                headers={"Authorization": f"Bearer {self._state.token}"},
                timeout=httpx2.Timeout(self._timeout, connect=5.0),
                trust_env=False,
            )
        return self._opened, self._server

    async def _forget(self) -> None:
        client, self._opened = self._opened, None
        if client is not None:
            await client.aclose()
