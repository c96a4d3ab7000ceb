"""A Chromium where there is none: it comes with the first page that needs it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from agent.web.chromium import INSTALL, Chromium, find_chromium
from agent.web.page import WebProblem
from mcp_tools import child
from mcp_tools.text import one_line

_SECONDS = 900.0
_APT = ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]
_failed: list[str] = []
"""Why none could be fetched; it is tried once in a process."""
_fetching = asyncio.Lock()


async def ready_chromium(chrome: Path | None, note: Callable[[str], None]) -> Chromium:
    """The browser to use, which is fetched where there is none.

    Args:
        chrome: The user's own choice.
        note: Told that one is fetched.

    Raises:
        WebProblem: There is none, and none can be had (`browser`).
    """
    async with _fetching:
        try:
            return find_chromium(chrome)
        except WebProblem:
            if chrome is not None:
                raise
        if not _failed:
            note("fetching Chromium, which draws pages (about 150 MB, once)")
            _failed.extend([await _outcome(name, command) for name, command in _ways().items()])
        with contextlib.suppress(WebProblem):
            return find_chromium(None)
        raise WebProblem(
            "browser",
            f"There is no Chromium on this machine, and none could be fetched ({'; '.join(_failed)}).",
            remedy=f"Install one: {INSTALL}",
        )


def _ways() -> dict[str, list[str]]:
    """Where one can be had: from its vendor, and as a Debian package, which root alone installs."""
    ways = {}
    if find_spec("playwright") is not None:
        ways["Playwright"] = [sys.executable, "-I", "-m", "playwright", "install", "chromium"]
    if os.geteuid() == 0 and shutil.which("apt-get"):
        ways["Debian"] = _APT
    return ways


async def _outcome(name: str, command: list[str]) -> str:
    """What came of one way, unless an earlier one was enough."""
    with contextlib.suppress(WebProblem):
        find_chromium(None)
        return f"{name}: not needed"
    environment = child.environment(*child.PROXIES, "PLAYWRIGHT_*", DEBIAN_FRONTEND="noninteractive")
    process = await child.start(command, env=environment, stdout=child.PIPE, stderr=subprocess.STDOUT)
    try:
        said, _ = await asyncio.wait_for(process.communicate(), _SECONDS)
    except TimeoutError:
        return f"{name}: not done in {_SECONDS / 60:.0f} minutes"
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    lines = [line for line in said.decode(errors="replace").splitlines() if line.strip()]
    failing = [line for line in lines if "rror" in line or line.startswith("E:")]
    return f"{name}: {one_line((failing or lines or ['nothing was said'])[0].strip(), 120)}"
