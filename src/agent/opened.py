"""What is opened once for all questions of a process: models, the library, the sandbox, external servers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from agent.events import Event, Note, Warned
from agent.external import ExternalTools, journaled
from agent.fetching import fetch_weights
from agent.models.names import EMBEDDED
from agent.models.roles import Models, model_settings, open_models
from mcp_tools.library import Library

if TYPE_CHECKING:
    from agent.configured import Configured
    from agent.settings import Settings
    from agent.store.journal import Journal
    from mcp_tools.clients.servers import Servers
    from mcp_tools.sandbox.protocol import Sandbox


class Opened:
    """Opens each thing when a question first needs it, and keeps it.

    Args:
        external: The servers that are configured.
        tell: Told what a user should know of the opening.
    """

    def __init__(self, external: Configured, tell: Callable[[Event], None]) -> None:
        self.stopping = threading.Event()
        """Set by whoever wants what takes long to end early."""
        self._external = external
        self._tell = tell
        self._opening = asyncio.Lock()
        self._models: Models | None = None
        self._sandbox: Sandbox | None = None
        self._servers: Servers | None = None
        self._library: Library | None = None

    async def models(self, settings: Settings) -> Models:
        """The models that the settings name; the embedded one is fetched.

        Raises:
            StoppedError: The fetch was ended early.
            UserError: A model cannot be had.
        """
        async with self._opening:
            if self._models is None:
                self._models = await self._open_models(settings)
        return self._models

    async def _open_models(self, settings: Settings) -> Models:
        wanted = model_settings(settings)
        models = open_models(wanted, notify=lambda text: self._tell(Note(text)))
        if EMBEDDED in {settings.model, *(name for names in wanted.roles.values() for name in names)}:
            await fetch_weights(settings.models_dir, self._tell, self.stopping)
        return models

    async def sandbox(self, settings: Settings) -> Sandbox:
        """The sandbox that the settings ask for.

        Raises:
            IsolationError: The machine offers no acceptable isolation.
        """
        async with self._opening:
            if self._sandbox is None:
                self._sandbox = await self._open_sandbox(settings)
        return self._sandbox

    async def _open_sandbox(self, settings: Settings) -> Sandbox:
        from agent.sandboxes import open_for
        from mcp_tools.sandbox.protocol import Level

        sandbox = await open_for(settings)
        if sandbox.isolation.level is Level.WEAK:
            self._tell(Warned("no isolation: model-written code runs as you, as --no-isolation asked"))
        return sandbox

    def library(self, settings: Settings) -> Library:
        """The library that the settings name."""
        if self._library is None or self._library.folder != settings.tools_dir:
            self._library = Library(settings.tools_dir, settings.approvals_file)
        return self._library

    def external(self, journal: Journal, *, live: bool) -> ExternalTools:
        """The tools of external servers, which begin to start; a replay starts none."""
        if live:
            for note in self._external.news():
                self._tell(Note(note))
            self._servers = self._servers or self._external.servers()
        servers = self._servers if live else None
        if servers is not None:
            servers.forgive()
            servers.start()
        return journaled(servers, journal, lambda text: self._tell(Note(text)))

    async def aclose(self) -> None:
        """Ends the external servers and the sandbox, and closes the models' connections."""
        if self._servers is not None:
            await self._servers.aclose()
        if self._sandbox is not None:
            await self._sandbox.aclose()
        if self._models is not None:
            await self._models.aclose()
