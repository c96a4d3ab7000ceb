"""Names that a reader takes for one another."""

from __future__ import annotations

import re
from collections.abc import Iterable

_ALIKE = (("rn", "m"), ("vv", "w"), ("cl", "d"), ("0", "o"), ("1", "l"), ("i", "l"), ("5", "s"))


def look_alikes(name: str, others: Iterable[str]) -> list[str]:
    """Those of the other names that look like this one; the name itself is not among them."""
    wanted = _drawn(name)
    return [other for other in others if other != name and _drawn(other) == wanted]


def _drawn(name: str) -> str:
    """A name as it looks from afar. A number at its end tells versions apart and is left alone."""
    joined = re.sub(r"[-_.]", "", name.casefold())
    plain = joined.rstrip("0123456789")
    number = joined[len(plain) :]
    for letters, drawn in _ALIKE:
        plain = plain.replace(letters, drawn)
    return f"{plain} {number}"
