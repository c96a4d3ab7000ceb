"""Finds or downloads Chromium, and manages its profiles and processes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from weakref import WeakKeyDictionary

from agent.web.page import WebProblem
from mcp_tools import child
from mcp_tools.text import one_line

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
_SYSTEM = (
    Path("/usr/bin/chromium"),
    Path("/usr/lib/chromium/chromium"),
    Path("/snap/bin/chromium"),
    Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
    Path("/Applications/Chromium.app/Contents/MacOS/Chromium"),
)
_IN_CACHE = (
    "chromium-*/chrome-linux*/chrome",
    "chromium-*/chrome-mac*/*.app/Contents/MacOS/*",
    "chromium_headless_shell-*/chrome-*/*headless*shell",
)
FLAGS = (
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
    "--disable-breakpad", "--disable-quic", "--disable-dev-shm-usage",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp", "--dns-prefetch-disable",
    "--gaia-url=http://127.0.0.1:1/", "--component-updater=url-source=http://127.0.0.1:1/",
)  # fmt: skip
"""Options for every start. They prevent requests to the vendor, and requests that bypass the proxy."""
SANDBOXES = (False,) if os.geteuid() == 0 else (True, False)
"""Values for Chromium's own sandbox, in the order to try. Root and some machines cannot use it."""
UNSANDBOXED = (
    "Chromium runs here without its own sandbox"
    + (", as it always does as root" if os.geteuid() == 0 else ": this machine does not allow it")
    + ". A page that exploits Chromium can do everything that your user can."
)
"""The note for a Chromium without a sandbox."""
INSTALL = "`apt-get install chromium`, or `playwright install chromium`"
_PREFIX = "alita-browser-"
_PROC = Path("/proc")
_KILL_SECONDS = 5.0  # until killed processes are gone


@dataclass(frozen=True, slots=True)
class Chromium:
    """A browser, and where it was found: `the setting chrome`, `PATH`, `Playwright's cache` or `the system`."""

    path: Path
    found: str


def find_chromium(chrome: Path | None = None) -> Chromium:
    """Return the browser to use.

    Args:
        chrome: The setting `chrome`.

    Raises:
        WebProblem: There is no browser (`browser`), or `chrome` is not a program.
    """
    if chrome is not None:
        if own := shutil.which(chrome.expanduser()):
            return Chromium(Path(own), "the setting chrome")
        raise WebProblem(
            "browser", f"The setting chrome names {chrome}, which is not a program.", remedy="Correct ALITA_CHROME."
        )
    places: dict[str, Sequence[str | Path]] = {"PATH": NAMES, "Playwright's cache": _cached(), "the system": _SYSTEM}
    for found, candidates in places.items():
        for path in filter(None, map(shutil.which, candidates)):
            return Chromium(Path(path), found)
    raise WebProblem("browser", "There is no Chromium on this machine.", remedy=f"Install one with {INSTALL}.")


def _cached() -> list[Path]:
    """Return Playwright's browsers, newest first."""
    configured = os.environ.get("PLAYWRIGHT_BROWSERS_PATH", "")
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - unlike Path.home() it works for a user without one
    folders = [Path(configured)] if configured and configured != "0" else [home / ".cache/ms-playwright"]
    found = [
        (int(build[1]), path)
        for folder in (*folders, home / "Library/Caches/ms-playwright")
        for pattern in _IN_CACHE
        for path in folder.glob(pattern)
        if (build := re.search(r"/chromium\w*-(\d+)/", str(path)))
    ]
    return [path for _, path in sorted(found, reverse=True)]


def new_profile() -> Path:
    """Create an empty private folder. Its name contains the process id of its owner."""
    return Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))


def end_all(profile: Path) -> None:
    """Kill every process that uses a profile, and remove the profile."""
    ends = time.monotonic() + _KILL_SECONDS
    while (found := list(_using(profile))) and time.monotonic() < ends:
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)
    shutil.rmtree(profile, ignore_errors=True)


def sweep() -> None:
    """Clean up after alita processes that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if owner.isdigit() and _PROC.exists() and not (_PROC / owner).exists():
            with contextlib.suppress(OSError):
                facts = folder.lstat()
                if stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid():
                    end_all(folder)


def _using(profile: Path) -> Iterator[int]:
    """Yield the ids of processes that have the profile in their command line or as their working folder."""
    name = os.fsencode(profile)
    for entry in _PROC.glob("[0-9]*"):
        if entry.name == str(os.getpid()):
            continue
        with contextlib.suppress(OSError):
            is_its = name in (entry / "cmdline").read_bytes() or (entry / "cwd").readlink() == profile
            if is_its and b"Z" not in (entry / "stat").read_bytes().rpartition(b")")[2][:3]:  # not a zombie
                yield int(entry.name)


_SECONDS = 900.0
_failed: list[str] = []  # failed downloads; each process tries only once
_fetching = WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock]()


async def ready_chromium(chrome: Path | None, note: Callable[[str], None], *, may_download: bool = True) -> Chromium:
    """Return the browser to use, and download one if there is none.

    Args:
        chrome: The setting `chrome`.
        note: Receives a message before a download.
        may_download: True if a browser may be downloaded.

    Raises:
        WebProblem: There is no browser, and none could be downloaded (`browser`).
    """
    async with _fetching.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
        try:
            return find_chromium(chrome)
        except WebProblem:
            if chrome is not None:
                raise
        if not may_download:
            raise WebProblem(
                "browser",
                "There is no Chromium on this machine, and its download (150 MB) is not allowed without a terminal.",
                remedy=f"Add --yes, or install one with {INSTALL}.",
            )
        if not _failed:
            for name, command in _ways().items():
                is_package = command[0] == "apt-get"
                doing = "installing chromium with apt-get as root" if is_package else "downloading Chromium"
                note(f"{doing} to render pages (about 150 MB, once)")
                _failed.append(await _outcome(name, command))
                with contextlib.suppress(WebProblem):
                    return find_chromium(None)
        raise WebProblem(
            "browser",
            f"There is no Chromium on this machine, and it could not be downloaded ({'; '.join(_failed)}).",
            remedy=f"Install one with {INSTALL}.",
        )


def _ways() -> dict[str, list[str]]:
    """Return the commands that can install Chromium. Only root can use `apt-get`."""
    ways = {}
    if find_spec("playwright") is not None:
        ways["Playwright"] = [sys.executable, "-I", "-m", "playwright", "install", "chromium"]
    if os.geteuid() == 0 and shutil.which("apt-get"):
        ways["Debian"] = ["apt-get", "install", "-y", "--no-install-recommends", "chromium"]
    return ways


async def _outcome(name: str, command: list[str]) -> str:
    """Run an install command and return its first error line, in case no browser is found afterwards."""
    environment = child.environment(*child.PROXIES, "PLAYWRIGHT_*", DEBIAN_FRONTEND="noninteractive")
    process = await child.start(command, env=environment, stdout=child.PIPE, stderr=subprocess.STDOUT)
    try:
        output, _ = await asyncio.wait_for(process.communicate(), _SECONDS)
    except TimeoutError:
        return f"{name}: not finished within {_SECONDS / 60:.0f} minutes"
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    lines = [line for line in output.decode(errors="replace").splitlines() if line.strip()]
    failing = next((line for line in lines if "rror" in line or line.startswith("E:")), "no error message")
    return f"{name}: {one_line(failing.strip(), 120)}"
