"""The browser that the settings and the role's model ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from agent.browser.logins import Login, read_logins
from agent.browser.protocol import Ask, Browser
from agent.web.protocol import WebProblem

BROWSER_USE = "agent.browser.inside"
"""The module whose `main` drives the browser with browser-use."""


@dataclass(frozen=True, slots=True)
class BrowserSettings:
    """What the user wants of the browser."""

    chrome: Path | None = None
    allow_private: bool = False
    logins: Path | None = None
    hosts: tuple[str, ...] = ()
    steps: int = 25
    seconds: float = 300.0
    sees: bool = False
    """Whether the browser role's model reads pictures."""

    def read_logins(self) -> tuple[Login, ...]:
        """What may be filled in.

        Raises:
            SettingsError: The file cannot be used.
        """
        return read_logins(self.logins) if self.logins else ()


def open_browser(
    settings: BrowserSettings,
    ask: Ask,
    *,
    driver: str,
    blocks: Callable[[str, str], bool] | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> Browser:
    """A browser; nothing is started before its first task.

    Args:
        settings: What the user wants.
        ask: Asks the browser role's model.
        driver: The module that drives it in its process.
        blocks: Whether an address, with the text found there, must not be shown.
        note: Told what the user should know of the browser.

    Raises:
        WebProblem: There is no Chromium, or no package to drive it.
    """
    from agent.browser.outside import OutsideBrowser
    from agent.web.chromium import find_chromium

    if find_spec("playwright") is None:
        raise WebProblem(
            "browser",
            "the browser cannot be driven: the package playwright is missing",
            remedy="pip install 'alita[browser]'",
        )
    chrome = find_chromium(settings.chrome).path
    private, sees = settings.allow_private, settings.sees
    return OutsideBrowser(driver, chrome, ask, blocks=blocks, allow_private=private, sees=sees, note=note)
