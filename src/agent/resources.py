"""Resources shared by all questions of a process: models, the library, the sandbox, external servers."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from agent.calls.external_tools import ExternalTools
from agent.errors import DownloadError, StoppedError, WeightsError
from agent.events import Event, ModelStarting, Note, Warned
from agent.files.media.speech import Speech, wants_weights
from agent.models.embedded.weights import Weights, speech_weights
from agent.models.protocol import EMBEDDED, ROLES
from agent.store.tool_records import open_library
from mcp_tools.data_files import JsonFile
from mcp_tools.errors import IsolationError, LibraryError, UnknownToolError
from mcp_tools.library.approvals import ApprovedHashes
from mcp_tools.library.library import Library
from mcp_tools.tool import Status

if TYPE_CHECKING:
    from agent.calls.python_session import LivePython
    from agent.calls.recorder import Recorder
    from agent.configuration.settings import Settings
    from agent.consent.consent import Confirm, Consent
    from agent.consent.external_tools import ConfiguredServers, Grants
    from agent.material.workspace import Workspace
    from agent.models.roles import Models
    from mcp_tools.clients.servers import Servers
    from mcp_tools.environments.store import Environments
    from mcp_tools.sandbox.protocol import Isolation, Sandbox


MOST_PYTHONS = 4
"""Maximum number of conversations with an open Python process."""


def environments_of(settings: Settings, tell: Callable[[str], None]) -> Environments:
    """Return the environments with packages for the user's programs and tools."""
    from mcp_tools.environments.store import FOLDER, Environments

    return Environments(settings.data_dir / FOLDER, tell)


async def open_for(settings: Settings, tell: Callable[[str], None] = lambda _: None) -> Sandbox:
    """Open the strongest sandbox of this machine, or the one that the settings name.

    Raises:
        IsolationError: The machine offers no acceptable isolation, and the user has not accepted the risk.
    """
    from mcp_tools.sandbox.backends import open_sandbox

    wanted = settings.isolation
    named = wanted if wanted in {"bubblewrap", "sandlock"} else None
    return await open_sandbox(backend=named, allow_weak=wanted == "none", environments=environments_of(settings, tell))


def isolation_lowered(settings: Settings, isolation: Isolation) -> str:
    """Return a warning if tools are less isolated than before, else empty; the best level so far is remembered.

    A user who names a back end gets no warning.
    """
    from mcp_tools.sandbox.protocol import Level

    if settings.isolation != "auto":
        return ""
    levels = list(Level)  # from strongest to weakest
    file = JsonFile(settings.data_dir / "isolation.json", dict[str, Level], empty={})
    before = file.remembered().get("level", levels[-1])
    if levels.index(isolation.level) <= levels.index(before):
        if isolation.level is not before:
            with contextlib.suppress(OSError), file.changing() as kept:
                kept["level"] = isolation.level
        return ""
    return (
        f"tools are less isolated than before: {isolation.level} ({isolation.backend}) instead of {before}; "
        f'`alita doctor` shows how to restore it; to accept this, set isolation = "{isolation.backend}"'
    )


class Resources:
    """Opens each resource when a question first needs it, and keeps it open.

    Args:
        external: The configured servers.
        tell: Receives events about opening the resources.
        confirm: Asks the user; None if nobody can be asked.
    """

    def __init__(
        self, external: ConfiguredServers, tell: Callable[[Event], None], confirm: Confirm | None = None
    ) -> None:
        self.confirm = confirm
        self.stopping = threading.Event()
        """Set to stop long work early."""
        self._external = external
        self._tell = tell
        self._opening = asyncio.Lock()
        self._models: dict[tuple[object, ...], Models] = {}
        self._sandbox: Sandbox | None = None
        self._starting: asyncio.Task[Sandbox] | None = None
        self._lowered = ""
        """Warning that the sandbox isolates less than an earlier one; else empty."""
        self._servers: Servers | None = None
        self._library: Library | None = None
        self._pythons: dict[str, LivePython] = {}

    async def models(self, settings: Settings) -> Models:
        """Return the models that the settings name. The embedded model is downloaded if needed.

        Raises:
            StoppedError: The download was stopped.
            UserError: A model is unavailable.
        """
        from agent.models.roles import Models

        names = [settings.models_for(role) for role in ROLES]
        key = (settings.base_url, *names)  # a resumed run has its own models
        async with self._opening:
            if key not in self._models:
                models = Models(settings, notify=lambda text: self._tell(Note(text)))
                if EMBEDDED in {settings.model, *(name for role in names for name in role)}:
                    require_download(settings)
                    await fetch_weights(settings.models_dir, self._tell, self.stopping)
                self._models[key] = models
        return self._models[key]

    async def sandbox(self, settings: Settings) -> Sandbox:
        """Return the sandbox that the settings ask for.

        Raises:
            IsolationError: The machine offers no acceptable isolation.
        """
        from mcp_tools.sandbox.protocol import Level

        async with self._opening:
            if self._sandbox is None:
                self._starting = self._starting or asyncio.create_task(
                    open_for(settings, lambda text: self._tell(Note(text)))
                )
                try:  # a stopped run leaves the sandbox to the next run
                    self._sandbox = await asyncio.shield(self._starting)
                finally:
                    if self._starting.done():
                        self._starting = None
                self._lowered = isolation_lowered(settings, self._sandbox.isolation)
                if self._sandbox.isolation.level is Level.WEAK:
                    self._tell(Warned("no isolation: model-written code runs with your permissions (--no-isolation)"))
        if self._lowered:
            self._tell(Warned(self._lowered))
        return self._sandbox

    def environments(self, settings: Settings) -> Environments:
        """Return the environments with packages for programs and tools."""
        return environments_of(settings, lambda text: self._tell(Note(text)))

    async def python_of(self, conversation: str) -> LivePython:
        """Return the Python process of a conversation, by its first run's id. If there are too many, end the oldest."""
        from agent.calls.python_session import LivePython

        live = self._pythons.pop(conversation, None) or LivePython()
        self._pythons[conversation] = live
        while len(self._pythons) > MOST_PYTHONS:
            await self._pythons.pop(next(iter(self._pythons))).aclose()
        return live

    async def end_python(self, conversation: str) -> None:
        """End the Python process of a conversation, if there is one."""
        if (live := self._pythons.pop(conversation, None)) is not None:
            await live.aclose()

    def library(self, settings: Settings) -> Library:
        """Return the library that the settings name."""
        if self._library is None or self._library.folder != settings.tools_dir:
            self._library = open_library(settings)
        return self._library

    def states(self, settings: Settings, names: Iterable[str]) -> dict[str, str]:
        """Return a fingerprint of each tool, which changes with the tool or its approval."""
        states = dict.fromkeys(names, "")
        for name in states:
            with contextlib.suppress(UnknownToolError, LibraryError):
                tool = self.library(settings).get(name)
                now = ApprovedHashes.of(tool)
                served = str(tool.status is Status.VERIFIED)
                states[name] = " ".join((now.source, now.definition, now.capabilities, now.record, served))
        return states

    @property
    def each_call(self) -> str:
        """Reason why each call of an external tool needs consent; empty if none does."""
        choice = self._external.choice
        return "this folder's settings chose the model that asks for it" if choice and choice.decides_model else ""

    @property
    def grants(self) -> Grants:
        """Calls that the user allowed permanently."""
        return self._external.grants

    def external(self, calls: Recorder, consent: Consent, workspace: Workspace, *, live: bool) -> ExternalTools:
        """Start the external servers and return their tools. A replay starts no servers."""
        if live:
            if self._external.choice is not None:
                self._tell(
                    Warned(f"this folder's settings choose which model answers: {self._external.choice.in_one_line}")
                )
            for note in self._external.news():
                self._tell(Note(note))
            self._servers = self._servers or self._external.servers()
        servers = self._servers if live else None
        if servers is not None:
            servers.retry_failed()
            servers.start()
        return ExternalTools(servers, calls, consent, workspace.keep_bytes)

    async def aclose(self) -> None:
        """Stop the external servers and the sandbox, and close the models' connections."""
        for live in self._pythons.values():
            await live.aclose()
        if self._servers is not None:
            await self._servers.aclose()
        if self._starting is not None:
            with contextlib.suppress(IsolationError):
                self._sandbox = await self._starting
        if self._sandbox is not None:
            await self._sandbox.aclose()
        for models in self._models.values():
            await models.aclose()


def require_download(settings: Settings) -> None:
    """Raise an error if the embedded model is missing and may not be downloaded.

    Raises:
        DownloadError: The weights are missing, and may not be downloaded.
    """
    if not settings.may_download and not Weights(settings.models_dir).path.exists():
        raise DownloadError(
            "The embedded model is not downloaded (1.1 GB), and there is no terminal to ask.",
            remedy="Add --yes, run `alita model pull`, or set a key or an endpoint: alita keys set, --base-url URL",
        )


async def fetch_weights(folder: Path, listen: Callable[[Event], None], stopping: threading.Event) -> None:
    """Download and verify the weights of the embedded model, unless they are in the folder.

    Args:
        folder: Folder of weights.
        listen: Receives progress events.
        stopping: Set to stop the download. The next download continues where it stopped.

    Raises:
        StoppedError: The fetch was ended early.
        WeightsError: No source provides the weights.
    """
    await _fetch(Weights(folder), "the model", listen, stopping)


async def fetch_speech(speech: Speech, listen: Callable[[Event], None], stopping: threading.Event) -> None:
    """Download the weights of the speech model, if they are needed.

    A failed download is only reported, because the metadata of a sound can still be read.

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
        loop.call_soon_threadsafe(listen, ModelStarting(f"downloading {what}", done / total, detail))

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
        stopping.set()  # otherwise, the download's thread would keep the process alive
        raise


def _left(seen: list[tuple[float, int]], total: int) -> str:
    """Return the estimated remaining time. `seen` has the time and the bytes of the first and the latest report."""
    (began, before), (now, done) = seen[0], seen[-1]
    if now - began < 1 or done <= before:
        return ""
    seconds = (total - done) * (now - began) / (done - before)
    return f", {seconds / 60:.0f} min left" if seconds >= 90 else f", {seconds:.0f} s left"
