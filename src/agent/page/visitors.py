"""The browsers that were let in, with their tabs and files."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OUTPUTS = "/outputs/"
_MOST = 200
_MOST_TABS = 100
_TAB = re.compile(r"[A-Za-z0-9_-]{6,64}")


@dataclass(eq=False)
class Visitor:
    """One browser: no other one sees its tabs and its files."""

    tabs: dict[str, str] = field(default_factory=dict)
    """The sessions that Gradio gave its tabs, the oldest first, each with the conversation that it shows."""
    uploads: set[str] = field(default_factory=set)
    """Paths of the files that it sent."""
    outputs: dict[str, Path] = field(default_factory=dict)
    """Files that runs made for it, or that it exports, by the key in their address."""
    runs: set[str] = field(default_factory=set)
    """Ids of the runs that it started."""
    conversations: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Its conversations, the newest last: the session in the store and its title, by what its tabs call them."""
    export: Path | None = None
    """The folder of its newest export."""
    kept: int = 0
    """Bytes of its uploads."""

    def remember(self, key: str, session_id: str, title: str) -> None:
        """Take a conversation for the one that was used last."""
        self.conversations.pop(key, None)
        self.conversations[key] = session_id, title
        while len(self.conversations) > _MOST_TABS:
            del self.conversations[next(iter(self.conversations))]

    def offer(self, path: Path) -> str:
        """The address of a file that a run made for this visitor."""
        key = next((key for key, known in self.outputs.items() if known == path), "") or secrets.token_urlsafe(16)
        self.outputs[key] = path
        return f"{OUTPUTS}{key}"


class Visitors:
    """All that were let in. If there are too many, the oldest is forgotten."""

    def __init__(self) -> None:
        self.by_cookie: dict[str, Visitor] = {}
        self.left: Callable[[str], None] = lambda _: None
        """Told of a tab that is forgotten."""

    def admit(self) -> str:
        """Let a browser in; its cookie."""
        while len(self.by_cookie) >= _MOST:
            for tab in self.by_cookie.pop(next(iter(self.by_cookie))).tabs:
                self.left(tab)
        cookie = secrets.token_urlsafe(32)
        self.by_cookie[cookie] = Visitor()
        return cookie

    def of_tab(self, tab: str) -> Visitor | None:
        """The visitor that has this tab."""
        return next((one for one in self.by_cookie.values() if tab in one.tabs), None)

    def owns(self, visitor: Visitor, tab: Any) -> bool:
        """True if a tab is the visitor's; a new tab becomes the visitor's."""
        if not isinstance(tab, str) or not _TAB.fullmatch(tab):
            return False
        if tab not in visitor.tabs:
            if self.of_tab(tab) is not None:
                return False
            while len(visitor.tabs) >= _MOST_TABS:
                oldest = next(iter(visitor.tabs))
                del visitor.tabs[oldest]
                self.left(oldest)
            visitor.tabs[tab] = ""
        return True
