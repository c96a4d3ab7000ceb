"""A process that drives a Chromium: started for one task, and gone when that ends, with all that it started.

Playwright speaks to the browser through a pipe, and we to the process through another: when either end dies, however it
dies, so does the other.
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
"""Maximum length of a folder for Chromium's socket: the path of a socket has at most 107 characters."""


class Driver(Worker):
    """The process, as alita knows it, in the empty profile that is made for its browser."""

    async def hear(self) -> dict[str, Any] | None:
        """The next message; None where the process ends."""
        message = await super().hear()
        if message is not None and (problem := message.get("problem")):
            raise WebProblem(**problem)
        return message

    @property
    def last_words(self) -> str:
        """Its last output, after a colon."""
        lines = (self.folder / _ERRORS).read_text("utf-8", errors="replace").strip().splitlines()
        return f": {one_line(lines[-1], 200)}" if lines else ""


@asynccontextmanager
async def driver(module: str, *variables: str) -> AsyncIterator[Driver]:
    """A process that calls a module's `main`.

    Args:
        module: Its name; `main` calls `serve`.
        variables: Variables that it inherits besides those of every child.

    Raises:
        OSError: It does not start.
    """
    await asyncio.to_thread(sweep)
    profile = new_profile()  # not in a thread: a cancelled caller would not know the folder
    environment = child.environment(_FONTS, *variables, HOME=str(profile), TMPDIR=str(profile))
    try:
        with (profile / _ERRORS).open("wb") as errors:
            process = await Driver.launch(f"from {module} import main; main()", profile, environment, errors)
        try:
            yield process
        finally:
            await process.aclose()
    finally:  # kills what still runs in the folder, a browser that hangs among it
        await asyncio.shield(asyncio.to_thread(end_all, profile))


class Talk:
    """alita, as the process knows it."""

    def __init__(self, reader: asyncio.StreamReader, say: Callable[[dict[str, Json]], None]) -> None:
        self._reader = reader
        self.say = say

    def note(self, text: str) -> None:
        """Tells the user something."""
        self.say({"note": text})

    async def hear(self) -> dict[str, Any]:
        """The next message; where nobody is there any more, the process ends."""
        return await receive(self._reader) or os._exit(1)


def serve(work: Callable[[Talk], Awaitable[None]]) -> None:
    """Does what stdin asks for."""
    say = begin()

    async def run() -> None:
        reader = asyncio.StreamReader(limit=MAX_MESSAGE_BYTES)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        talk = Talk(reader, say)
        try:
            await work(talk)
        except WebProblem as problem:
            talk.say({"problem": {"reason": problem.reason, "message": problem.message, "remedy": problem.remedy}})

    asyncio.run(run())
    os._exit(0)  # threads of libraries have nothing left to say


@asynccontextmanager
async def launched(
    chrome: Path, profile: Path, *, proxy: str = "", note: Callable[[str], None] = lambda _: None, **options: Any
) -> AsyncIterator[BrowserContext]:
    """A browser with an empty profile, without keys, and with a home that goes with the profile.

    Args:
        chrome: The program.
        profile: A separate folder, which the caller removes.
        proxy: Through which every request goes, those to this machine too.
        note: Called with messages for the user.
        options: More of Playwright's `launch_persistent_context`; `args` in addition to ours.

    Raises:
        WebProblem: It does not start.
    """
    from playwright.async_api import Error, async_playwright

    preferences = profile / "Default" / "Preferences"  # which the browser reads when it starts
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
        f"the browser {chrome} does not start: {one_line(' '.join(lines[:2]), 200)}",
        remedy=f"Try it: {chrome} --headless --dump-dom about:blank; set ALITA_CHROME to another, or install one: "
        f"{INSTALL}.",
    )
