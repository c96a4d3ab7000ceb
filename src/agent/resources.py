"""Resources that all questions of a process share: models, the library, the sandbox, external servers."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from agent.consent.external_tools import ExternalTools
from agent.events import Event, Note, Warned
from agent.model_downloads import fetch_weights
from agent.models.protocol import EMBEDDED, ROLES
from agent.models.roles import Models
from mcp_tools.errors import LibraryError, UnknownToolError
from mcp_tools.json_file import JsonFile
from mcp_tools.library.approvals import ApprovedHashes
from mcp_tools.library.library import Library
from mcp_tools.tool import Status

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.consent.consent import Confirm, Consent
    from agent.consent.external_tools import ConfiguredServers
    from agent.store.journal import Journal
    from mcp_tools.clients.servers import Servers
    from mcp_tools.sandbox.protocol import Isolation, Sandbox


async def open_for(settings: Settings) -> Sandbox:
    """The strongest sandbox of this machine, or the one that the settings name.

    Raises:
        IsolationError: The machine offers no acceptable isolation, and the user has not named the risk.
    """
    from mcp_tools.sandbox.backends import open_sandbox

    wanted = settings.isolation
    named = wanted if wanted in {"bubblewrap", "sandlock"} else None
    return await open_sandbox(backend=named, allow_weak=wanted == "none")


def isolation_lowered(settings: Settings, isolation: Isolation) -> str:
    """What to tell a user whose tools are isolated less than before; empty otherwise. Remembers the best level.

    Who names a back end has decided, and is told nothing.
    """
    from mcp_tools.sandbox.protocol import Level

    if settings.isolation != "auto":
        return ""
    levels = list(Level)  # from the strongest
    file = JsonFile(settings.data_dir / "isolation.json", dict[str, Level], empty={})
    before = file.remembered().get("level", levels[-1])
    if levels.index(isolation.level) <= levels.index(before):
        if isolation.level is not before:
            with contextlib.suppress(OSError), file.changing() as kept:
                kept["level"] = isolation.level
        return ""
    return (
        f"tools are less isolated than before: {isolation.level} ({isolation.backend}), it was {before}; "
        f'`alita doctor` says how to restore it; isolation = "{isolation.backend}" in your settings accepts it'
    )


class Resources:
    """Opens each thing when a question first needs it, and keeps it.

    Args:
        external: The servers that are configured.
        tell: Told what a user should know of the opening.
        confirm: Asks the user; None where nobody can be asked.
    """

    def __init__(
        self, external: ConfiguredServers, tell: Callable[[Event], None], confirm: Confirm | None = None
    ) -> None:
        self.confirm = confirm
        self.stopping = threading.Event()
        """Set by whoever wants what takes long to end early."""
        self._external = external
        self._tell = tell
        self._opening = asyncio.Lock()
        self._models: dict[tuple[object, ...], Models] = {}
        self._sandbox: Sandbox | None = None
        self._servers: Servers | None = None
        self._library: Library | None = None

    async def models(self, settings: Settings) -> Models:
        """The models that the settings name; the embedded one is fetched.

        Raises:
            StoppedError: The fetch was ended early.
            UserError: A model cannot be had.
        """
        names = [settings.models_for(role) for role in ROLES]
        key = (settings.base_url, *names)  # a run that goes on has its own
        async with self._opening:
            if key not in self._models:
                models = Models(settings, notify=lambda text: self._tell(Note(text)))
                if EMBEDDED in {settings.model, *(name for role in names for name in role)}:
                    await fetch_weights(settings.models_dir, self._tell, self.stopping)
                self._models[key] = models
        return self._models[key]

    async def sandbox(self, settings: Settings) -> Sandbox:
        """The sandbox that the settings ask for.

        Raises:
            IsolationError: The machine offers no acceptable isolation.
        """
        from mcp_tools.sandbox.protocol import Level

        async with self._opening:
            if self._sandbox is None:
                self._sandbox = await open_for(settings)
                if self._sandbox.isolation.level is Level.WEAK:
                    self._tell(Warned("no isolation: model-written code runs with your permissions (--no-isolation)"))
        if lowered := isolation_lowered(settings, self._sandbox.isolation):
            self._tell(Warned(lowered))
        return self._sandbox

    def library(self, settings: Settings) -> Library:
        """The library that the settings name."""
        if self._library is None or self._library.folder != settings.tools_dir:
            self._library = Library(settings.tools_dir, settings.approvals_file)
        return self._library

    def states(self, settings: Settings, names: Iterable[str]) -> dict[str, str]:
        """For each tool a text that is another one when the tool is, or when it is no longer approved."""
        states = dict.fromkeys(names, "")
        for name in states:
            with contextlib.suppress(UnknownToolError, LibraryError):
                tool = self.library(settings).get(name)
                now = ApprovedHashes.of(tool)
                served = str(tool.status is Status.VERIFIED)
                states[name] = " ".join((now.source, now.definition, now.capabilities, served))
        return states

    @property
    def each_call(self) -> str:
        """Why each call of an external tool needs consent, where it does."""
        choice = self._external.choice
        return "this folder's settings chose the model that asks for it" if choice and choice.decides_model else ""

    def external(self, journal: Journal, consent: Consent, *, live: bool) -> ExternalTools:
        """The tools of external servers, which begin to start; a replay starts none."""
        if live:
            if self._external.choice is not None:
                self._tell(Warned(f"this folder's settings choose which model answers: {self._external.choice.told}"))
            for note in self._external.news():
                self._tell(Note(note))
            self._servers = self._servers or self._external.servers()
        servers = self._servers if live else None
        if servers is not None:
            servers.forgive()
            servers.start()
        return ExternalTools(servers, journal, consent, lambda text: self._tell(Note(text)))

    async def aclose(self) -> None:
        """Ends the external servers and the sandbox, and closes the models' connections."""
        if self._servers is not None:
            await self._servers.aclose()
        if self._sandbox is not None:
            await self._sandbox.aclose()
        for models in self._models.values():
            await models.aclose()
