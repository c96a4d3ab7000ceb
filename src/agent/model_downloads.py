"""Weights of the models that run here, fetched when a question needs them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path

from agent.errors import StoppedError, WeightsError
from agent.events import Event, ModelStarting, Note
from agent.files.media.speech import Speech, wants_weights
from agent.models.embedded.weights import Weights, speech_weights


async def fetch_weights(folder: Path, listen: Callable[[Event], None], stopping: threading.Event) -> None:
    """Returns when the verified weights of the embedded model are in the folder.

    Args:
        folder: Where weights are kept.
        listen: Told how far the fetch has come.
        stopping: Set by whoever wants the fetch to end early; the next one goes on with what is there.

    Raises:
        StoppedError: The fetch was ended early.
        WeightsError: No source gives the weights.
    """
    await _fetch(Weights(folder), "the model", listen, stopping)


async def fetch_speech(speech: Speech, listen: Callable[[Event], None], stopping: threading.Event) -> None:
    """Returns when what writes down speech is there, as far as it needs weights of ours.

    Weights that cannot be had are told and are no error: what a sound says about itself can still be read.

    Raises:
        StoppedError: The fetch was ended early.
    """
    if not wants_weights(speech):
        return
    try:
        await _fetch(speech_weights(Path(speech.folder)), "the speech model", listen, stopping)
    except WeightsError as failure:
        listen(Note(f"{failure.message} {failure.remedy}"))


async def _fetch(weights: Weights, what: str, listen: Callable[[Event], None], stopping: threading.Event) -> None:
    loop = asyncio.get_running_loop()
    began: list[tuple[float, int]] = []

    def progress(done: int, total: int, source: str) -> None:
        if stopping.is_set():
            raise StoppedError(f"the download of {what} was interrupted; the next question continues it")
        began[1:] = [(time.monotonic(), done)]
        size = f"{total / 1e9:.1f} GB" if total >= 1e9 else f"{total / 1e6:.0f} MB"
        detail = f"of {size}{_left(began, total)}"
        loop.call_soon_threadsafe(listen, ModelStarting(f"fetching {what}", done / total, detail))

    def fetch() -> None:
        try:
            weights.ready()
        except WeightsError as damage:
            if any(stored.state != "partial" for stored in weights.stored()):
                loop.call_soon_threadsafe(listen, Note(f"{damage.message}; downloading it again"))
            weights.pull(progress)

    try:
        await asyncio.to_thread(fetch)
    except asyncio.CancelledError:
        stopping.set()  # the thread would keep the process until all is there
        raise


def _left(seen: list[tuple[float, int]], total: int) -> str:
    """How long the rest takes at the pace so far, given the first and the newest time and bytes."""
    (began, before), (now, done) = seen[0], seen[-1]
    if now - began < 1 or done <= before:
        return ""
    seconds = (total - done) * (now - began) / (done - before)
    return f", {seconds / 60:.0f} min left" if seconds >= 90 else f", {seconds:.0f} s left"
