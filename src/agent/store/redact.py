"""Keeps keys out of what is written to disk."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from mcp_tools.tool import Json

REDACTED = "[redacted]"
SHORTEST_SECRET = 8
"""Shorter values are placeholders such as `none`; replacing them would mangle ordinary text."""

_KEY_SHAPES = re.compile(
    r"\bsk-[A-Za-z0-9_-]{20,}"  # OpenAI and those who copy it
    r"|\bhf_[A-Za-z0-9]{20,}"
    r"|\bfc-[0-9a-f]{32}\b"  # Firecrawl
    r"|\btvly-[A-Za-z0-9_-]{20,}"
    r"|\bAIza[0-9A-Za-z_-]{35}"  # Google
    r"|\bgh[pousr]_[A-Za-z0-9]{36,}"
)

_KEY_BEGINNINGS = ("sk-", "hf_", "fc-", "tvly-", "AIza", "ghp_", "gho_", "ghu_", "ghs_", "ghr_")
"""One of them is in whatever the shapes match; looking for them takes a hundredth of the time."""


class Redactor:
    """Replaces known keys, and what looks like one.

    Args:
        secrets: Keys in clear.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {s for s in secrets if len(s) >= SHORTEST_SECRET}
        escaped = {json.dumps(s, ensure_ascii=a)[1:-1] for s in known for a in (True, False)}
        self._secrets = sorted(known | escaped, key=len, reverse=True)

    def text(self, text: str) -> str:
        """The text without keys."""
        for secret in self._secrets:
            text = text.replace(secret, REDACTED)
        return _KEY_SHAPES.sub(REDACTED, text) if any(map(text.__contains__, _KEY_BEGINNINGS)) else text

    def json(self, value: Json) -> Json:
        """The value without keys in any of its strings; the same object when there are none."""
        text = json.dumps(value, ensure_ascii=False)
        clean = self.text(text)
        return value if clean == text else json.loads(clean)
