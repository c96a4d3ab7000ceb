"""User names and passwords that the browser fills in: the model only ever sees `<user>` and `<password>`."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus, urlsplit

from agent.browser.tabs import TabInUse
from agent.errors import SettingsError

USER, PASSWORD = "<user>", "<password>"
_SURELY = 6
"""Characters of a password that no other word holds by chance."""
_EXAMPLE = '[[login]]\nhost = "shop.example"\nuser = "anna"\npassword = "…"'
_USER, _PASSWORD = "login_user", "login_password"
_NONE_OF_THEM = re.compile(rf"</?secret>|{_USER}|{_PASSWORD}")
_NO_PASSWORD = re.compile(rf"<secret>\s*{_PASSWORD}\s*</secret>|{_PASSWORD}")
_RULE = "At {hosts}, sign in with <secret>login_user</secret> and <secret>login_password</secret>: both are filled in."


@dataclass(frozen=True, slots=True)
class Login:
    """What opens one host, and no other."""

    host: str
    """`shop.example`, or with a port `127.0.0.1:8080`; its subdomains are other hosts."""
    user: str
    password: str = field(repr=False)


def read_logins(path: Path) -> tuple[Login, ...]:
    """The logins of a file.

    Raises:
        SettingsError: It cannot be read, others than its owner can read it, or an entry is incomplete.
    """
    path = path.expanduser()
    try:
        shared = os.name == "posix" and path.stat().st_mode & 0o077
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"the logins {path} cannot be read: {error}", remedy="Correct ALITA_LOGINS, or logins in config.toml."
        ) from None
    if shared:
        raise SettingsError(f"the logins {path} can be read by others", remedy=f"chmod 600 {path}")
    try:
        entries = tomllib.loads(text).get("login", [])
    except tomllib.TOMLDecodeError as error:  # which may quote the line
        line = str(error).partition("(at ")[2].rstrip(")")
        raise SettingsError(f"the logins {path} are no TOML: {line}", remedy=f"An entry is\n{_EXAMPLE}") from None
    if not isinstance(entries, list):
        raise SettingsError(f"the logins {path} hold no list of [[login]]", remedy=f"An entry is\n{_EXAMPLE}")
    return tuple(_login(entry, number, path) for number, entry in enumerate(entries, 1))


def _login(entry: object, number: int, path: Path) -> Login:
    names = ("host", "user", "password")
    if not isinstance(entry, dict) or set(entry) != set(names) or not all(_is_text(entry[name]) for name in names):
        raise SettingsError(
            f"login {number} of {path} is not made of the texts host, user and password", remedy=f"Write\n{_EXAMPLE}"
        )
    host = entry["host"]
    if "/" in host or host != host.strip().lower():
        raise SettingsError(f"login {number} of {path}: {host!r} is no host", remedy=f"Write\n{_EXAMPLE}")
    return Login(host, entry["user"], entry["password"])


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def login_for(url: str, logins: Sequence[Login]) -> Login | None:
    """The login of a page's host."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    names = {parts.netloc.rpartition("@")[2].lower(), (parts.hostname or "").lower()}
    return next((login for login in logins if login.host in names), None)


def filled_in(text: str, login: Login | None) -> str:
    """The text with the login in place of its placeholders."""
    if login is None:
        return text
    return text.replace(USER, login.user).replace(PASSWORD, login.password)


def _written(login: Login) -> Iterator[tuple[str, str]]:
    """Password and user name, as they stand in texts and in addresses, and what is shown for them."""
    for secret, shown in ((login.password, PASSWORD), (login.user, USER)):
        yield from dict.fromkeys(((secret, shown), (quote(secret, safe=""), shown), (quote_plus(secret), shown)))


def hidden(text: str, logins: Sequence[Login]) -> str:
    """The text with placeholders for every user name and password."""
    for login in logins:
        for secret, shown in _written(login):
            if secret in text:
                text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", shown, text)
        if len(login.password) >= _SURELY:
            text = text.replace(login.password, PASSWORD)
    return text


def login_rule(logins: Sequence[Login]) -> str:
    """What the model is told of logins; empty without any."""
    return _RULE.format(hosts=", ".join(login.host for login in logins)) if logins else ""


def sensitive_data(logins: Sequence[Login]) -> dict[str, str | dict[str, str]] | None:
    """The logins as browser-use takes them."""
    return {f"http*://{one.host}": {_USER: one.user, _PASSWORD: one.password} for one in logins} or None


def without_logins(message: dict[str, Any], logins: Sequence[Login]) -> dict[str, Any]:
    """A message with placeholders for every user name and password in its texts."""
    content = message.get("content")
    if not logins or not content:
        return message
    if isinstance(content, str):
        return {**message, "content": hidden(content, logins)}
    return {**message, "content": [p | {"text": hidden(p["text"], logins)} if "text" in p else p for p in content]}


class TypedSecrets:
    """Takes from an action the secrets that it must not carry away.

    A user name may be typed at the host of its login, and at its port. A password may be typed there into password
    fields only: elsewhere it would be shown, or sent as a comment.

    Args:
        tab: Where it is typed.
        logins: The user's.
    """

    def __init__(self, tab: TabInUse, logins: Sequence[Login]) -> None:
        self._tab = tab
        self._logins = logins

    async def safe(self, action: Any) -> Any:
        """The action without secrets that do not belong where they stand."""
        if not isinstance(action, dict) or not await self._may_be_typed(action):
            return _without(_NONE_OF_THEM, action)
        return action if await self._is_password_field(action["input"]) else _without(_NO_PASSWORD, action)

    async def _may_be_typed(self, action: dict[str, Any]) -> bool:
        if {name for name, given in action.items() if given is not None} != {"input"}:
            return False
        return login_for(await self._tab.url(""), self._logins) is not None

    async def _is_password_field(self, typed: dict[str, Any]) -> bool:
        field = await self._tab.session.get_element_by_index(typed.get("index"))
        return field is not None and str(field.attributes.get("type", "")).lower() == "password"


def _without(secrets: re.Pattern[str], action: Any) -> Any:
    return json.loads(secrets.sub("", json.dumps(action)))
