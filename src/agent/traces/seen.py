"""Where each long text of a trace stood first: a prompt that comes again is referred to, not repeated."""

from __future__ import annotations

import hashlib

from agent.traces.trace import Call

WORTH_SHARING = 300
"""Characters from which on a text that came before is referred to."""


class Seen:
    """Remembers long texts while calls are shown in their order."""

    def __init__(self) -> None:
        self._first: dict[bytes, int] = {}

    def before(self, call: Call, text: str) -> int | None:
        """The number of the earlier call that has the same long text; None when there is none."""
        if len(text) < WORTH_SHARING:
            return None
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        first = self._first.setdefault(digest, call.number)
        return None if first == call.number else first
