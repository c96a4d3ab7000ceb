"""Periods of time as people type them: `30d`, `12h`, or the day on which one begins."""

from __future__ import annotations

import re
from datetime import datetime

_PERIOD = re.compile(r"(\d{1,6})\s*([mhdw])")
_SECONDS = {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}


def seconds_of(period: str) -> float:
    """How long `90d` is: minutes, hours, days or weeks.

    Raises:
        ValueError: It is no period.
    """
    if (found := _PERIOD.fullmatch(period.strip().lower())) is None:
        raise ValueError(f"{period!r} is no period such as 12h, 30d or 4w")
    return int(found[1]) * _SECONDS[found[2]]


def start_of(text: str, now: float) -> float:
    """When a period began, in seconds since 1970: `7d` before now, or a day such as `2026-11-01`, local time.

    Raises:
        ValueError: It is neither.
    """
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError):
        pass
    try:
        return now - seconds_of(text)
    except ValueError:
        raise ValueError(f"{text!r} is neither a period such as 7d nor a day such as 2026-11-01") from None


def checked_retention(text: str) -> str:
    """What the setting `keep_runs` says: a period, a number of runs, or `all`.

    Raises:
        ValueError: It is none of these.
    """
    told = text.strip().lower()
    if told != "all" and not told.isdecimal():
        try:
            seconds_of(told)
        except ValueError:
            raise ValueError(f"{text!r} is no period such as 90d, no number of runs, and not all") from None
    return told
