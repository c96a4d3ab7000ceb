"""How old a hit may be."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}


def oldest(freshness: str) -> datetime | None:
    """The time before which nothing is wanted; None where any age will do.

    Args:
        freshness: `day`, `week`, `month` or `year`, or empty.
    """
    days = _DAYS.get(freshness)
    return datetime.now(UTC) - timedelta(days=days) if days else None
