"""A worker of the benchmark whose questions misbehave as they say: the process around them is the real one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

from agent.answer import Answer
from agent.events import RunStarted


class Alita:
    """Does what the question's first word says."""

    def __init__(self) -> None:
        self.newest: Answer | None = None
        self.seconds = 0.0

    @classmethod
    def open(cls, settings: Any, *, streams: bool = False, confirm: Any = None) -> Alita:
        return cls()

    async def __aenter__(self) -> Alita:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    def beside(self, **settings: Any) -> Alita:
        return Alita()

    async def resume(self, run_id: str, *, on_event: Any) -> Answer:
        return await self._do(f"say went on with {run_id}" if run_id == "sleep" else run_id, on_event)

    async def ask(self, question: str, *, files: Any, rules: str, on_event: Any) -> Answer:
        return await self._do(question, on_event)

    async def _do(self, question: str, on_event: Any) -> Answer:
        verb, _, rest = question.partition(" ")
        on_event(RunStarted("sleep" if verb == "sleep" else question, question, "m"))
        if verb == "say":
            return Answer(rest, "answered", model="m")
        if verb == "block":
            await asyncio.sleep(0.2)
            time.sleep(600)  # noqa: ASYNC251 - this is what it is for
        if verb == "die":
            await asyncio.sleep(0.2)
            os.kill(os.getpid(), signal.SIGSEGV)
        if verb == "child":
            _child(Path(rest))
            verb = "refuse"
        if verb in {"refuse", "stay"}:
            self.seconds = 1000.0 if verb == "refuse" else 0.0
            while True:
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(600)
        if verb == "late":
            self.seconds = 1000.0
        await asyncio.sleep(float(rest or 600) if verb == "sleep" else 600)
        return Answer("slept", "answered", model="m")


def _child(note: Path) -> None:
    note.write_text(str(subprocess.Popen(["sleep", "600"], start_new_session=True).pid))


def work(sock: socket.socket, setup: Any) -> None:
    import agent.alita
    from agent.gaia import worker

    agent.alita.Alita = Alita  # type: ignore[misc,assignment]
    worker.work(sock, setup)
