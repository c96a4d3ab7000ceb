"""Removes API keys and other secrets from everything that is stored or shown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from mcp_tools.errors import LibraryError
from mcp_tools.text import printable
from mcp_tools.tool import Json

if TYPE_CHECKING:
    from mcp_tools.exchange.parcel import Parcel

REDACTED = "[redacted]"
MIN_SECRET_CHARS = 8
"""Minimum length of a secret. Shorter values are placeholders such as `none`, which also occur in ordinary text."""

_KEY_SHAPES = re.compile(
    r"(?:\b|(?<=\\[bfnrt])|(?<=\\u[0-9a-f]{4}))(?:"  # a JSON escape before a key ends in a letter or digit: \n
    r"sk-[A-Za-z0-9_-]{20,}"  # OpenAI, and providers whose keys have the same format
    r"|hf_[A-Za-z0-9]{20,}"
    r"|fc-[0-9a-f]{32}\b"  # Firecrawl
    r"|tvly-[A-Za-z0-9_-]{20,}"
    r"|AIza[0-9A-Za-z_-]{35}"  # Google
    r"|gh[pousr]_[A-Za-z0-9]{36,})"
)

_KEY_BEGINNINGS = ("sk-", "hf_", "fc-", "tvly-", "AIza", "ghp_", "gho_", "ghu_", "ghs_", "ghr_")
"""Every match contains one of these strings. Searching for them first is a hundred times faster."""
_KEY_BEGUN = re.compile(r"\\?[A-Za-z0-9_\-\xad\u200b-\u200f\u2060-\u2064\ufeff]+\Z")
"""Matches a possible beginning of a key at the end of a text."""
_ESCAPED_CONTROL = re.compile(r"\\[bfru]")
"""Finds JSON escapes of control characters. Line feeds and tabs are left out, because they cannot hide a key."""
_Value = TypeVar("_Value")


class Redactor:
    """Replaces known keys and anything that looks like a key."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {s for s in secrets if len(s) >= MIN_SECRET_CHARS}
        self.secrets = tuple(known)
        escaped = {json.dumps(s, ensure_ascii=a)[1:-1] for s in known for a in (True, False)}
        self._secrets = sorted(known | escaped, key=len, reverse=True)

    def knows(self, text: str) -> bool:
        """Return True if a text contains a known key, even with invisible characters inside."""
        visible = printable(text)
        return any(secret in text or secret in visible for secret in self._secrets)

    def text(self, text: str) -> str:
        """Return a text without keys. If invisible characters hide a key, they are removed with it."""
        text = self._redacted(text)
        plain = text.replace("\n", "").replace("\t", "").replace("\xa0", "").replace("\u3000", "")
        if not plain.isprintable():  # invisible characters are removed when the text is shown
            visible = printable(text)
            clean = self._redacted(visible)
            text = text if clean == visible else clean
        return text

    def _redacted(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        return _KEY_SHAPES.sub(REDACTED, text) if any(map(text.__contains__, _KEY_BEGINNINGS)) else text

    def json(self, value: Json) -> Json:
        """Return a JSON value without keys, or the same object if it contains no keys."""
        text = json.dumps(value, ensure_ascii=False)
        clean = self._redacted(text)
        if clean.isprintable() and not _ESCAPED_CONTROL.search(clean):
            return value if clean == text else json.loads(clean)
        found = self.values(value if clean == text else json.loads(clean))
        return value if found == value else found

    def values(self, value: _Value) -> _Value:
        """Return a value without keys. Dataclasses, dicts and sequences are searched at any depth."""
        clean: _Value = self._values(value)
        return clean

    def _values(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if is_dataclass(value) and not isinstance(value, type):
            parts = {field.name: getattr(value, field.name) for field in fields(value)}
            clean = {name: self._values(each) for name, each in parts.items()}
            return value if clean == parts else replace(value, **clean)
        if isinstance(value, dict):
            return {self._values(key): self._values(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            clean_items = map(self._values, value)
            return value._make(clean_items) if hasattr(value, "_make") else type(value)(clean_items)
        return value

    def settled(self, text: str) -> int:
        """Return the number of leading characters that cannot belong to a key, however the text continues."""
        begun = _KEY_BEGUN.search(text)
        end = begun.start() if begun else len(text)
        for secret in self._secrets:
            longest = min(len(secret) - 1, len(text))
            parts = (n for n in range(longest, 0, -1) if text.endswith(secret[:n]))
            end = min(end, len(text) - next(parts, 0))
        while (cut := min((s for s in self._across(text, end)), default=end)) < end:
            end = cut
        return end

    def _across(self, text: str, end: int) -> Iterable[int]:
        """Return the start positions of known keys that cross position `end`."""
        for secret in self._secrets:
            at = text.find(secret, max(end - len(secret) + 1, 0))
            if 0 <= at < end:
                yield at


class RedactedStream:
    """Removes keys from a text that arrives in chunks, even if a key is split between chunks."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""

    def add(self, piece: str) -> str:
        """Add a chunk, and return the text that is now safe to show."""
        self._held += piece
        end = self._redactor.settled(self._held)
        ready, self._held = self._held[:end], self._held[end:]
        return self._redactor.text(ready)

    def end(self) -> str:
        """Return the rest of the text."""
        rest, self._held = self._held, ""
        return self._redactor.text(rest)


def require_no_keys(parcels: Sequence[Parcel], named_secrets: Sequence[tuple[str, str]]) -> None:
    """Refuse to export tools that contain one of the user's keys.

    Args:
        parcels: The tools to export.
        named_secrets: The keys, with the names of their settings.

    Raises:
        LibraryError: A tool contains a key.
    """
    for parcel in parcels:
        text = f"{parcel.source.decode()}\n{parcel.document.decode()}"
        for name, key in named_secrets:
            if Redactor([key]).knows(text):
                raise LibraryError(
                    f"{parcel.name} contains the key of your setting {name}, so nothing was exported",
                    remedy=f"Remove the key from the tool, then export again: alita tools edit {parcel.name}",
                )
