"""A process that drives Chromium for one task, then exits.

Playwright talks to the browser through a pipe, and alita to this process through another. When one end of a pipe dies,
so does the other.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.web.chromium import FLAGS, INSTALL, SANDBOXES, UNSANDBOXED, end_all, new_profile, sweep
from agent.web.page import WebProblem
from mcp_tools import child
from mcp_tools.text import one_line
from mcp_tools.tool import Json
from mcp_tools.worker import MAX_MESSAGE_BYTES, Worker, begin, receive

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext

PORT_FILE = "DevToolsActivePort"
_ERRORS = "errors.txt"
_FONTS = "FONTCONFIG_PATH"
_PREFERENCES: dict[str, Any] = {
    "signin": {"allowed": False, "allowed_on_next_startup": False},
    "autofill": {"enabled": False, "profile_enabled": False, "credit_card_enabled": False},
    "credentials_enable_service": False,
    "safebrowsing": {"enabled": False},
    "search": {"suggest_enabled": False},
    "net": {"network_prediction_options": 2},
    "translate": {"enabled": False},
    "plugins": {"always_open_pdf_externally": True},
}
_START_SECONDS = 60
_LONGEST_FOR_SOCKETS = 60
"""Maximum length of the folder with Chromium's socket, since a socket path has at most 107 characters."""


class Driver(Worker):
    """Handle of the process, which runs in the browser's empty profile."""

    async def hear(self) -> dict[str, Any] | None:
        """Return the next message, or None if the process has exited."""
        message = await super().hear()
        if message is not None and (problem := message.get("problem")):
            raise WebProblem(**problem)
        return message

    @property
    def last_output(self) -> str:
        """The last error output of the process, preceded by a colon."""
        lines = (self.folder / _ERRORS).read_text("utf-8", errors="replace").strip().splitlines()
        return f": {one_line(lines[-1], 200)}" if lines else ""


@asynccontextmanager
async def driver(module: str, *variables: str) -> AsyncIterator[Driver]:
    """Start a process that calls a module's `main`.

    Args:
        module: Name of the module. Its `main` calls `serve`.
        variables: Environment variables that it inherits in addition to the usual ones.

    Raises:
        OSError: The process does not start.
    """
    await asyncio.to_thread(sweep)
    profile = new_profile()  # not in a thread, since a cancelled caller could not remove the folder
    environment = child.environment(_FONTS, *variables, HOME=str(profile), TMPDIR=str(profile))
    try:
        with (profile / _ERRORS).open("wb") as errors:
            process = await Driver.launch(f"from {module} import main; main()", profile, environment, errors)
        try:
            yield process
        finally:
            await process.aclose()
    finally:  # kill every process in the folder, such as a hung browser
        await asyncio.shield(asyncio.to_thread(end_all, profile))


class ParentConnection:
    """The process's connection to alita."""

    def __init__(self, reader: asyncio.StreamReader, say: Callable[[dict[str, Json]], None]) -> None:
        self._reader = reader
        self.say = say

    def note(self, text: str) -> None:
        """Send a message for the user."""
        self.say({"note": text})

    async def receive(self) -> dict[str, Any]:
        """Return the next message. Exit the process if alita is gone."""
        return await receive(self._reader) or os._exit(1)


def serve(work: Callable[[ParentConnection], Awaitable[None]]) -> None:
    """Run `work` with the connection on stdin and stdout, then exit."""
    say = begin()

    async def run() -> None:
        reader = asyncio.StreamReader(limit=MAX_MESSAGE_BYTES)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        connection = ParentConnection(reader, say)
        try:
            await work(connection)
        except WebProblem as problem:
            connection.say(
                {"problem": {"reason": problem.reason, "message": problem.message, "remedy": problem.remedy}}
            )

    asyncio.run(run())
    os._exit(0)  # do not wait for threads of libraries


@asynccontextmanager
async def launched(
    chrome: Path, profile: Path, *, proxy: str = "", note: Callable[[str], None] = lambda _: None, **options: Any
) -> AsyncIterator[BrowserContext]:
    """Start a browser with an empty profile, without keys in its environment.

    Args:
        chrome: Path of Chromium.
        profile: Empty folder, which the caller removes. It is also the browser's home folder.
        proxy: Proxy for all requests, including those to this machine.
        note: Receives messages for the user.
        options: Other options of Playwright's `launch_persistent_context`. `args` are added to ours.

    Raises:
        WebProblem: The browser does not start.
    """
    from playwright.async_api import Error, async_playwright

    preferences = profile / "Default" / "Preferences"  # read by the browser when it starts
    preferences.parent.mkdir(parents=True, exist_ok=True)
    preferences.write_text(json.dumps(_PREFERENCES))
    temporary = {"TMPDIR": str(profile)} if len(str(profile)) <= _LONGEST_FOR_SOCKETS else {}
    options = {
        "executable_path": str(chrome),
        "headless": True,
        "env": child.environment(_FONTS, HOME=str(profile)) | temporary,
        "viewport": {"width": 1280, "height": 900},
        "timeout": _START_SECONDS * 1000,
        "downloads_path": str(profile / "arriving"),
        **({"proxy": {"server": proxy, "bypass": "<-loopback>"}} if proxy else {}),
        **options,
        "args": [*FLAGS, *options.get("args", ())],
    }
    async with async_playwright() as playwright:
        for has_sandbox in SANDBOXES:
            try:
                context = await playwright.chromium.launch_persistent_context(
                    profile, chromium_sandbox=has_sandbox, **options
                )
                break
            except Error as error:
                if has_sandbox == SANDBOXES[-1]:
                    raise _not_started(chrome, error.message) from None
        if not has_sandbox:
            note(UNSANDBOXED)
        try:
            yield context
        finally:
            with contextlib.suppress(Error, TimeoutError):
                await asyncio.wait_for(context.close(), 5)


def _not_started(chrome: Path, why: str) -> WebProblem:
    lines = [line for line in why.splitlines() if line.strip() and not line.startswith(("Call log", "╔", "║", "╚"))]
    return WebProblem(
        "browser",
        f"the browser {chrome} did not start: {one_line(' '.join(lines[:2]), 200)}",
        remedy=f"Test it with {chrome} --headless --dump-dom about:blank. Set ALITA_CHROME to another browser, or "
        "install one with "
        f"{INSTALL}.",
    )
