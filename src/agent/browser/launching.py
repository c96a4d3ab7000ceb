"""Chromium, started by Playwright with a profile of its own, and ended with whoever started it.

Playwright speaks to it through a pipe: when either end dies, however it dies, so does the other.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.web.chromium import FLAGS, SANDBOXES, UNSANDBOXED
from agent.web.page import WebProblem
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext


PORT_FILE = "DevToolsActivePort"
ARRIVING = "arriving"
"""The folder in the profile into which downloads come."""
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
"""Characters of a folder in which Chromium can make its socket, whose path has at most 107."""


@asynccontextmanager
async def launched(
    chrome: Path,
    profile: Path,
    *,
    proxy: str = "",
    port: bool = False,
    note: Callable[[str], None] = lambda _: None,
) -> AsyncIterator[BrowserContext]:
    """A browser with an empty profile, without keys, and with a home that goes with the profile.

    Args:
        chrome: The program.
        profile: A folder of its own, which the caller removes.
        proxy: Through which every request goes, those to this machine too.
        port: Let others drive it too, through a port of this machine; the profile's `DevToolsActivePort` names it.
        note: Told what the user should know of it.

    Raises:
        WebProblem: It does not start.
    """
    from playwright.async_api import Error, async_playwright

    preferences = profile / "Default" / "Preferences"  # which the browser reads when it starts
    preferences.parent.mkdir(parents=True, exist_ok=True)
    preferences.write_text(json.dumps(_PREFERENCES))
    inherited = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "TZ") if name in os.environ}
    temporary = {"TMPDIR": str(profile)} if len(str(profile)) <= _LONGEST_FOR_SOCKETS else {}
    options: dict[str, Any] = {
        "executable_path": str(chrome),
        "headless": True,
        "args": [*FLAGS, *(["--remote-debugging-port=0"] if port else [])],
        "env": {**inherited, "HOME": str(profile), **temporary},
        "viewport": {"width": 1280, "height": 900},
        "timeout": _START_SECONDS * 1000,
        "accept_downloads": True,
        "downloads_path": str(profile / ARRIVING),
        **({"proxy": {"server": proxy, "bypass": "<-loopback>"}} if proxy else {}),
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
        remedy="Set ALITA_CHROME to another Chromium, or install one: apt-get install chromium",
    )
