"""The process that drives the browser. It asks alita for everything else."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.browser.tasks import BrowserOutcome, BrowserTask
from agent.errors import ModelOutputError, StoppedError
from agent.events import BrowserStepped
from agent.models.protocol import Completion, Message
from agent.records import as_plain, from_plain
from agent.web.browser_process import ParentConnection, launched, serve
from agent.web.guard import AddressGuard
from agent.web.proxy import GuardedProxy
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Route

    Drive = Callable[[BrowserContext, BrowserTask, "DriverHost", GuardedProxy], Awaitable[BrowserOutcome]]
    """Carries out a task in a browser with the current folder as its profile."""

_STAYS = """(() => {
  const site = host => /^[\\d.:[\\]]+$/.test(host) ? host : host.split('.').slice(-2).join('.');
  document.addEventListener('submit', event => {
    const button = event.submitter, form = event.target;
    const to = button && button.hasAttribute('formaction') ? button.formAction : form.getAttribute('action');
    try {
      const host = new URL(to || '', document.baseURI).hostname;
      if (host && site(host) !== site(location.hostname)) { event.preventDefault(); event.stopImmediatePropagation(); }
    } catch { /* an address that is none leads nowhere */ }
  }, true);
})()"""
"""Script that blocks forms which would be submitted to another site."""


def drive_with(drive: Drive, **options: Any) -> None:
    """Carry out the task on stdin.

    Args:
        drive: Carries out the task in a browser.
        options: Options for `launched`.
    """

    async def work(connection: ParentConnection) -> None:
        request = await connection.receive()
        task = from_plain(BrowserTask, request["task"])
        guard = AddressGuard(allow_private=task.allow_private, allow_addresses=task.allow_addresses)
        async with (
            GuardedProxy(guard) as proxy,
            launched(Path(request["chrome"]), Path.cwd(), proxy=proxy.url, note=connection.note, **options) as context,
        ):
            await context.add_init_script(_STAYS)
            if task.hosts:
                await context.route("**/*", lambda route: _let_through(route, task))
            outcome = await drive(context, task, DriverHost(connection), proxy)
        connection.say({"outcome": as_plain(outcome)})

    serve(work)


async def _let_through(route: Route, task: BrowserTask) -> None:
    """Block pages and frames of other hosts, even after redirects."""
    if route.request.is_navigation_request() and not task.allows(route.request.url):
        await route.abort("blockedbyclient")
    else:
        await route.continue_()


class DriverHost:
    """The browser process's connection to alita."""

    def __init__(self, connection: ParentConnection) -> None:
        self._connection = connection
        self._ids = itertools.count(1)
        self._turn = asyncio.Lock()

    async def ask(
        self,
        messages: Sequence[Message],
        *,
        schema: dict[str, Any] | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Completion:
        """Ask the model of the browser role.

        Raises:
            ModelOutputError: The reply does not fit the schema.
            StoppedError: The task must stop.
        """
        asked = {"messages": list(messages), "schema": schema, "max_tokens": max_tokens, "temperature": temperature}
        reply = await self._request({"ask": asked})
        if "unusable" in reply:
            raise ModelOutputError(reply["unusable"])
        if "stopped" in reply:
            raise StoppedError(reply["stopped"])
        return Completion(**reply["value"])

    async def blocked(self, address: str, text: str) -> bool:
        """Ask alita if a page must be hidden from the model."""
        return bool((await self._request({"blocked": [address, text]}))["value"])

    def tell(self, step: BrowserStepped) -> None:
        """Report a step."""
        self._connection.say({"step": as_plain(step)})

    async def _request(self, request: dict[str, Json]) -> dict[str, Any]:
        async with self._turn:
            number = next(self._ids)
            self._connection.say({"id": number, **request})
            while (reply := await self._connection.receive())["re"] != number:
                pass  # reply to a cancelled request
            return reply
