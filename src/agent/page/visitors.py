"""The admitted browsers with their tabs and files."""

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
    """A browser. No other browser can see its tabs and files."""

    tabs: dict[str, str] = field(default_factory=dict)
    """Gradio's session ids of its tabs, oldest first, each with the key of the conversation shown."""
    uploads: set[str] = field(default_factory=set)
    """Paths of uploaded files."""
    outputs: dict[str, Path] = field(default_factory=dict)
    """Files from runs and exports, by the key in their URL."""
    runs: set[str] = field(default_factory=set)
    """Ids of the runs it started."""
    conversations: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Session id and title of its conversations, by key, newest last."""
    export: Path | None = None
    """Folder of its latest export."""
    kept: int = 0
    """Total size of its uploads in bytes."""

    def remember(self, key: str, session_id: str, title: str) -> None:
        """Make a conversation the most recently used one."""
        self.conversations.pop(key, None)
        self.conversations[key] = session_id, title
        while len(self.conversations) > _MOST_TABS:
            del self.conversations[next(iter(self.conversations))]

    def offer(self, path: Path) -> str:
        """Return the URL of a file for this visitor."""
        key = next((key for key, known in self.outputs.items() if known == path), "") or secrets.token_urlsafe(16)
        self.outputs[key] = path
        return f"{OUTPUTS}{key}"


class Visitors:
    """All admitted browsers. If there are too many, the oldest browser is removed."""

    def __init__(self) -> None:
        self.by_cookie: dict[str, Visitor] = {}
        self.left: Callable[[str], None] = lambda _: None
        """Called with each tab that is removed."""

    def admit(self) -> str:
        """Admit a browser and return its cookie."""
        while len(self.by_cookie) >= _MOST:
            for tab in self.by_cookie.pop(next(iter(self.by_cookie))).tabs:
                self.left(tab)
        cookie = secrets.token_urlsafe(32)
        self.by_cookie[cookie] = Visitor()
        return cookie

    def of_tab(self, tab: str) -> Visitor | None:
        """Return the visitor that has a tab."""
        return next((one for one in self.by_cookie.values() if tab in one.tabs), None)

    def owns(self, visitor: Visitor, tab: Any) -> bool:
        """Return True if a tab belongs to the visitor. A new tab is added to the visitor."""
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
