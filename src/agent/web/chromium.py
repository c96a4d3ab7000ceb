"""The Chromium that draws and drives pages: the user's own choice, the system's, or the one that Playwright keeps."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from agent.web.protocol import WebProblem

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
_DEBIAN = (Path("/usr/bin/chromium"), Path("/usr/lib/chromium/chromium"), Path("/snap/bin/chromium"))
_MAC = (
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
"""However it is started: nothing calls home, and nothing goes past the proxy."""
SANDBOXES = (False,) if os.geteuid() == 0 else (True, False)
"""Whether it is started in a sandbox of its own, in the order to try: root has none, and some machines allow none."""
UNSANDBOXED = (
    "Chromium runs without its own sandbox here"
    + (", as it always does as root" if os.geteuid() == 0 else ": this machine allows it none")
    + ". A page that takes it over can do what your user can."
)
"""What is told where it has none."""
INSTALL = "apt-get install chromium, or: playwright install chromium"


@dataclass(frozen=True, slots=True)
class Chromium:
    """A browser that is there."""

    path: Path
    found: str
    """Where: `the setting chrome`, `PATH`, `Playwright's cache`, `the system`."""


def find_chromium(chrome: Path | None = None) -> Chromium:
    """The browser to use.

    Args:
        chrome: The user's own choice, the setting `chrome` (ALITA_CHROME).

    Raises:
        WebProblem: There is none (`browser`), or the chosen one is no program.
    """
    if chrome is not None:
        return Chromium(_chosen(chrome), "the setting chrome")
    for found, candidates in (
        ("PATH", _on_path()),
        ("Playwright's cache", _cached()),
        ("the system", [*_DEBIAN, *_MAC]),
    ):
        for path in candidates:
            if _runs(path):
                return Chromium(path, found)
    raise WebProblem("browser", "There is no Chromium on this machine.", remedy=f"Install one: {INSTALL}")


def _chosen(chrome: Path) -> Path:
    path = chrome.expanduser()
    if "/" not in str(chrome) and (named := shutil.which(str(chrome))):
        path = Path(named)
    if not _runs(path):
        raise WebProblem(
            "browser", f"The setting chrome names {chrome}, which is no program.", remedy="Correct ALITA_CHROME."
        )
    return path


def _on_path() -> list[Path]:
    return [Path(path) for name in NAMES if (path := shutil.which(name))]


def _cached() -> list[Path]:
    """What Playwright installed, newest first."""
    told = os.environ.get("PLAYWRIGHT_BROWSERS_PATH", "")
    home = Path(os.path.expanduser("~"))  # noqa: PTH111 - unlike Path.home() it bears a user who has none
    folders = [Path(told)] if told and told != "0" else [home / ".cache/ms-playwright"]
    folders.append(home / "Library/Caches/ms-playwright")
    return [path for folder in folders for pattern in _IN_CACHE for path in sorted(folder.glob(pattern), key=_build)]


def _build(path: Path) -> tuple[int, str]:
    """Newest first: `chromium-1194` before `chromium-999`."""
    folder = next((part for part in path.parts if part.startswith("chromium")), "")
    number = folder.rpartition("-")[2]
    return (-int(number) if number.isdecimal() else 0, str(path))


def _runs(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
