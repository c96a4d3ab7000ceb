"""A small reverse proxy for replicas of one HTTP server. Like a real one, it checks their health, and sends a request
to another replica only if the first one did not receive it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from dataclasses import dataclass
from typing import Self

HEALTH = b"GET /health HTTP/1.1\r\nHost: proxy\r\nConnection: close\r\n\r\n"
LOST = "the replica ended before it answered; the call may or may not have been made"
_NONE = "no replica takes calls now"


@dataclass
class Replica:
    """One server behind the proxy."""

    port: int
    is_healthy: bool = False
    open: int = 0
    streams: int = 0
    """Open GET requests, through which clients with the 2025 protocol receive notifications."""
    answered: int = 0


class ReplicaProxy:
    """Proxy that listens on a free local port inside a `with` block. Each connection carries one request."""

    def __init__(self, *ports: int, seconds: float = 0.2) -> None:
        self.replicas = [Replica(port) for port in ports]
        self._seconds = seconds
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, backlog=512)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/mcp"
        await asyncio.gather(*map(self._check, self.replicas))
        self._tasks.add(asyncio.create_task(self._check_on()))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0.05)  # connections close in the next iterations of the event loop

    async def _check_on(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            await asyncio.gather(*map(self._check, self.replicas))

    async def _check(self, replica: Replica) -> None:
        line = b""
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(5):
                reader, writer = await asyncio.open_connection("127.0.0.1", replica.port)
                try:
                    writer.write(HEALTH)
                    line = await reader.readline()
                finally:
                    writer.close()
        replica.is_healthy = b" 200 " in line

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            size = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
            body = await reader.readexactly(int(size[1])) if size else b""
            request = re.sub(rb"(?i)\r\nconnection: [^\r]*", b"", head)[:-2] + b"Connection: close\r\n\r\n" + body
            await self._forward(request, reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _forward(self, request: bytes, client: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for replica in sorted(self.replicas, key=lambda one: (one.open, one.answered)):
            if not replica.is_healthy:
                continue
            try:
                reader, upstream = await asyncio.open_connection("127.0.0.1", replica.port)
            except OSError:  # nothing was sent, so another replica may get it
                replica.is_healthy = False
                continue
            is_stream = request.startswith(b"GET")
            replica.open += 1
            replica.streams += is_stream
            try:
                upstream.write(request)
                await self._answer(reader, client, writer, replica)
            finally:
                replica.open -= 1
                replica.streams -= is_stream
                upstream.close()
            return
        writer.write(_refusal(503, _NONE))

    async def _answer(
        self, reader: asyncio.StreamReader, client: asyncio.StreamReader, writer: asyncio.StreamWriter, replica: Replica
    ) -> None:
        """Copy the response until it ends or the client leaves."""
        leaving, is_begun = asyncio.ensure_future(client.read(1)), False
        try:
            while True:
                part = asyncio.ensure_future(reader.read(65_536))
                await asyncio.wait((part, leaving), return_when=asyncio.FIRST_COMPLETED)
                if not part.done():
                    part.cancel()
                    return
                try:
                    data = part.result()
                except OSError:
                    data = b""
                if not data:
                    break
                is_begun = True
                writer.write(data)
                await writer.drain()
        finally:
            leaving.cancel()
            await asyncio.gather(leaving, return_exceptions=True)
        replica.answered += is_begun
        if not is_begun:
            writer.write(_refusal(502, LOST))


def _refusal(status: int, text: str) -> bytes:
    """Return a JSON-RPC error without a request id, which MCP clients show."""
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32000, "message": text}}
    body = json.dumps(error).encode()
    head = f"HTTP/1.1 {status} proxy\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body
