"""Connections of the HTTP server that do not finish their request: each has a deadline, and there are only so many.

Otherwise a few hundred half requests, which need no token, would keep everybody out.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_SECONDS = 10.0
BODY_SECONDS = 30.0
MOST_UNFINISHED = 512
MOST_UNFINISHED_OF_PEER = 256
"""Limit of one address. Beyond it, the oldest is closed."""

_unfinished: dict[PatientProtocol, str] = {}
"""Connections with an incomplete request, oldest first, with their peer's address."""


class PatientProtocol(H11Protocol):
    """HTTP/1.1 with a deadline for the head and for the body of each request."""

    _phase: Any = None
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Begins to wait for a head."""
        super().connection_made(transport)
        self._enter()

    def data_received(self, data: bytes) -> None:
        """Takes what came, and looks what is still missing."""
        super().data_received(data)
        self._enter()

    def connection_lost(self, exc: Exception | None) -> None:
        """Waits for nothing more."""
        self._leave()
        super().connection_lost(exc)

    def _enter(self) -> None:
        phase: Any = self.conn.their_state
        if phase is self._phase:
            return
        self._leave()
        seconds = {h11.IDLE: HEAD_SECONDS, h11.SEND_BODY: BODY_SECONDS}.get(phase)
        if seconds is None or self.transport.is_closing():
            return
        self._phase = phase
        self._deadline = asyncio.get_running_loop().call_later(seconds, self.transport.abort)
        peer = self.client[0] if self.client else ""
        _unfinished[self] = peer
        own = [one for one, address in _unfinished.items() if address == peer]
        if len(own) > MOST_UNFINISHED_OF_PEER or len(_unfinished) > MOST_UNFINISHED:
            (own if len(own) > MOST_UNFINISHED_OF_PEER else list(_unfinished))[0].transport.abort()

    def _leave(self) -> None:
        self._phase = None
        _unfinished.pop(self, None)
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
