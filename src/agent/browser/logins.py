"""User names and passwords that the browser fills in. The model only sees `<user>` and `<password>`."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, quote_plus, urlsplit

from agent.errors import SettingsError
from mcp_tools.errors import os_errors_as
from mcp_tools.small_files import SETTINGS, read_small, toml_of

USER, PASSWORD = "<user>", "<password>"
_MIN_HIDDEN_CHARS = 6
"""A password of at least this length is hidden even inside words."""
_EXAMPLE = 'An entry is\n[[login]]\nhost = "shop.example"\nuser = "anna"\npassword = "…"'


@dataclass(frozen=True, slots=True)
class Login:
    """A login for one host."""

    host: str
    """Host, with or without a port: `shop.example`, `127.0.0.1:8080`. A subdomain counts as a different host."""
    user: str
    password: str = field(repr=False)


def read_logins(path: Path) -> tuple[Login, ...]:
    """Read the logins in a file.

    Raises:
        SettingsError: The file cannot be read, other users can read it, or an entry is incomplete.
    """
    path = path.expanduser()
    remedy = "Correct ALITA_LOGINS, or logins in config.toml."
    with os_errors_as(SettingsError, f"the logins file {path} cannot be read", remedy):
        shared = os.name == "posix" and path.stat().st_mode & 0o077
        content = read_small(path, SETTINGS)
    if shared:
        raise SettingsError(f"the logins file {path} is readable by other users", remedy=f"Run: chmod 600 {path}")
    try:
        entries = toml_of(content).get("login", [])
    except ValueError as error:  # its text may quote the line
        line = str(error).partition("(at ")[2].rstrip(")")
        raise SettingsError(f"the logins file {path} is not valid TOML: {line}", remedy=_EXAMPLE) from None
    if not isinstance(entries, list):
        raise SettingsError(f"the logins file {path} has no [[login]] entries", remedy=_EXAMPLE)
    return tuple(_login(entry, f"login {number} of {path}") for number, entry in enumerate(entries, 1))


def _login(entry: object, place: str) -> Login:
    is_whole = isinstance(entry, dict) and set(entry) == {"host", "user", "password"}
    if not (isinstance(entry, dict) and is_whole and all(isinstance(text, str) and text for text in entry.values())):
        raise SettingsError(f"{place} must contain host, user and password as strings", remedy=_EXAMPLE)
    host = entry["host"]
    if "/" in host or host != host.strip().lower():
        raise SettingsError(f"{place}: {host!r} is not a host name", remedy=_EXAMPLE)
    return Login(**entry)


def login_for(url: str, logins: Sequence[Login]) -> Login | None:
    """Return the login for a page's host."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    names = {parts.netloc.rpartition("@")[2].lower(), (parts.hostname or "").lower()}
    return next((login for login in logins if login.host in names), None)


def hidden(text: str, logins: Sequence[Login]) -> str:
    """Replace user names and passwords with placeholders, including percent-encoded ones."""
    for login in logins:
        for secret, shown in ((login.password, PASSWORD), (login.user, USER)):
            for written in dict.fromkeys((secret, quote(secret, safe=""), quote_plus(secret))):
                text = re.sub(rf"(?<!\w){re.escape(written)}(?!\w)", shown, text)
        if len(login.password) >= _MIN_HIDDEN_CHARS:
            text = text.replace(login.password, PASSWORD)
    return text
