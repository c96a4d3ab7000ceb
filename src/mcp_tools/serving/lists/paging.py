"""Pages of a list that changes: a cursor names the last entry that was given, so nothing is given twice or left out."""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_right
from collections.abc import Sequence

_PREFIX = "after:"


class CursorError(ValueError):
    """A cursor that this server did not give."""


def page_of(names: Sequence[str], cursor: str | None, size: int) -> tuple[Sequence[str], str | None]:
    """One page of sorted names, and the cursor of the next one; None after the last.

    Raises:
        CursorError: The cursor is none of ours.
    """
    start = 0 if cursor is None else bisect_right(names, _name_in(cursor))
    page = names[start : start + size]
    more = start + size < len(names)
    return page, _cursor_after(page[-1]) if page and more else None


def _cursor_after(name: str) -> str:
    return base64.urlsafe_b64encode((_PREFIX + name).encode()).decode().rstrip("=")


def _name_in(cursor: str) -> str:
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeError, ValueError):
        text = ""
    if not text.startswith(_PREFIX):
        raise CursorError("the cursor is none that this server gave: begin again without one")
    return text.removeprefix(_PREFIX)
