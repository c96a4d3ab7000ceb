"""The browser's process: drives the browser (for example with browser-use), and asks alita for everything else."""

from __future__ import annotations

import asyncio
import ctypes
import itertools
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import IO, TYPE_CHECKING, Any

from agent.browser.launching import launched
from agent.browser.tasks import LONGEST_LINE, BrowserJob, BrowserOutcome
from agent.errors import ModelOutputError, StoppedError
from agent.events import BrowserStepped
from agent.models.protocol import Completion, Message
from agent.records import as_plain, from_plain
from agent.web.guard import AddressGuard
from agent.web.page import WebProblem
from agent.web.proxy import GuardedProxy
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Route

    Drive = Callable[[BrowserContext, BrowserJob, "Host", GuardedProxy], Awaitable[BrowserOutcome]]
    """Does a job's task in a browser."""

_PR_SET_PDEATHSIG = 1
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
"""A form is sent to the site of its page, and to no other: what is typed is meant for that one."""


def main() -> None:
    """Does the job on stdin with browser-use."""
    from agent.browser.browser_use_driver import Driven

    async def drive(context: BrowserContext, job: BrowserJob, host: Host, proxy: GuardedProxy) -> BrowserOutcome:
        return await Driven(context, job, host, proxy).run()

    serve(drive, port=True)


def serve(drive: Drive, *, port: bool = False) -> None:
    """Does the job on stdin, and talks on what was stdout: libraries may print there.

    Args:
        drive: Does the task in a browser.
        port: Whether the browser can be reached at a port besides.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    talk = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    asyncio.run(_served(talk, drive, port=port))
    os._exit(0)  # threads of libraries have nothing left to say


async def _served(talk: IO[bytes], drive: Drive, *, port: bool) -> None:
    reader = asyncio.StreamReader(limit=LONGEST_LINE)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    job = from_plain(BrowserJob, json.loads(await reader.readline())["job"])
    host = Host(reader, talk)
    try:
        async with (
            GuardedProxy(AddressGuard(allow_private=job.allow_private)) as proxy,
            launched(job.chrome, job.profile, proxy=proxy.url, port=port, note=host.note) as context,
        ):
            await context.add_init_script(_STAYS)
            if job.task.hosts:
                await context.route("**/*", lambda route: _let_through(route, job))
            outcome = await drive(context, job, host, proxy)
        host.say({"outcome": as_plain(outcome)})
    except WebProblem as problem:
        host.say({"problem": {"reason": problem.reason, "message": problem.message, "remedy": problem.remedy}})


async def _let_through(route: Route, job: BrowserJob) -> None:
    """Lets no page, and no frame, of another host be asked for; what a redirect leads to is not shown."""
    if route.request.is_navigation_request() and not job.task.allows(route.request.url):
        await route.abort("blockedbyclient")
    else:
        await route.continue_()


class Host:
    """alita, as its browser's process knows it."""

    def __init__(self, reader: asyncio.StreamReader, talk: IO[bytes]) -> None:
        self._reader = reader
        self._talk = talk
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
        """Asks the browser role's model.

        Raises:
            ModelOutputError: It gave no answer that fits.
            StoppedError: There is no use in going on.
        """
        asked = {"messages": list(messages), "schema": schema, "max_tokens": max_tokens, "temperature": temperature}
        reply = await self._request({"ask": asked})
        if "unusable" in reply:
            raise ModelOutputError(reply["unusable"])
        if "stopped" in reply:
            raise StoppedError(reply["stopped"])
        return Completion(**reply["value"])

    async def blocked(self, address: str, text: str) -> bool:
        """Whether a page must not be shown."""
        return bool((await self._request({"blocked": [address, text]}))["value"])

    def tell(self, step: BrowserStepped) -> None:
        """Tells of a step."""
        self.say({"step": as_plain(step)})

    def note(self, text: str) -> None:
        """Tells the user something."""
        self.say({"note": text})

    def say(self, message: dict[str, Json]) -> None:
        """One line."""
        self._talk.write(json.dumps(message).encode() + b"\n")

    async def _request(self, request: dict[str, Json]) -> dict[str, Any]:
        async with self._turn:
            number = next(self._ids)
            self.say({"id": number, **request})
            while line := await self._reader.readline():
                reply: dict[str, Any] = json.loads(line)
                if reply["re"] == number:  # and to no request that was given up
                    return reply
        os._exit(1)  # nobody is there any more
