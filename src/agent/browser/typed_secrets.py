"""Which secrets may stand in an action of browser-use's model: it knows hosts, and we know ports and fields."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from agent.browser.in_use import TabInUse
from agent.browser.logins import Login, hidden, login_for

_USER, _PASSWORD = "login_user", "login_password"
_NONE_OF_THEM = re.compile(rf"</?secret>|{_USER}|{_PASSWORD}")
_NO_PASSWORD = re.compile(rf"<secret>\s*{_PASSWORD}\s*</secret>|{_PASSWORD}")
_RULE = "At {hosts}, sign in with <secret>login_user</secret> and <secret>login_password</secret>: both are filled in."


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
