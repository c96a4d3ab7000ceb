"""The embedded model's weights, fetched when a question needs them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

from agent.errors import StoppedError, WeightsError
from agent.events import Event, ModelStarting, Note
from agent.models.weights import Weights


async def fetch_weights(folder: Path, listen: Callable[[Event], None], stopping: threading.Event) -> None:
    """Returns when the verified weights are in the folder.

    Args:
        folder: Where weights are kept.
        listen: Told how far the fetch has come.
        stopping: Set by whoever wants the fetch to end early; the next one goes on with what is there.

    Raises:
        StoppedError: The fetch was ended early.
        WeightsError: No source gives the weights.
    """
    loop = asyncio.get_running_loop()

    def progress(done: int, total: int, source: str) -> None:
        if stopping.is_set():
            raise StoppedError("the embedded model was being fetched; the next question goes on with that")
        event = ModelStarting(f"fetching the embedded model from the {source}", done / total if total else None)
        loop.call_soon_threadsafe(listen, event)

    weights = Weights(folder)

    def fetch() -> None:
        if weights.path.exists():
            try:
                weights.ready()
                return
            except WeightsError as damage:
                loop.call_soon_threadsafe(listen, Note(f"{damage.message}; it is fetched again"))
        weights.pull(progress)

    try:
        await asyncio.to_thread(fetch)
    except asyncio.CancelledError:
        stopping.set()  # the thread would keep the process until all is there
        raise
