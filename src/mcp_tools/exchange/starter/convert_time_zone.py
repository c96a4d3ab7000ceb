import re
from datetime import datetime, timezone
from typing import Literal
from zoneinfo import ZoneInfo


def _zone(name: str, parameter: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, TypeError, OSError):
        raise ValueError(f"{parameter} is no IANA time zone such as 'Europe/Paris' or 'UTC': {name!r}") from None


def _parse_local_time(text: str) -> datetime:
    pattern = r"([0-9]{4})-([0-9]{2})-([0-9]{2})[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2}))?"
    match = re.fullmatch(pattern, text) if isinstance(text, str) else None
    if not match:
        raise ValueError(f"local_time must be written YYYY-MM-DDTHH:MM or YYYY-MM-DDTHH:MM:SS, got {text!r}")
    try:
        return datetime(*(int(part or 0) for part in match.groups()))
    except ValueError as error:
        raise ValueError(f"local_time does not exist in the calendar or on the clock: {text!r} ({error})") from None


def convert_time_zone(
    local_time: str,
    from_zone: str,
    to_zone: str,
    ambiguous: Literal["error", "earlier", "later"] = "error",
    nonexistent: Literal["error", "forward", "backward"] = "error",
) -> dict[str, str | int]:
    """Converts a local time of one time zone to the local time of another, with daylight saving time of that date.

    Also known as: time zone converter, world clock, what time is it in, UTC conversion, time difference, meeting time

    Args:
        local_time: Date and time on a clock in from_zone, YYYY-MM-DDTHH:MM or YYYY-MM-DDTHH:MM:SS, 24 hours. A space
            may stand in place of the T.
        from_zone: IANA name of the zone of local_time, such as "Europe/Paris" or "UTC".
        to_zone: IANA name of the zone to convert to.
        ambiguous: What to do if clocks of from_zone are set back so that local_time comes twice: refuse it, or
            take its earlier or its later occurrence.
        nonexistent: What to do if clocks of from_zone are set forward so that local_time is skipped: refuse it, or
            move it by the length of the gap, forward (02:30 becomes 03:30) or backward (02:30 becomes 01:30).

    Returns:
        converted: Local time in to_zone with its offset from UTC, YYYY-MM-DDTHH:MM:SS+HH:MM.
        source: Local time in from_zone that was converted, with its offset, written in the same way.
        utc: The same moment in UTC, written in the same way with +00:00.
        day_change: Calendar days from the source's date to the converted date: -1, 0 or 1 as a rule.
        kind: "normal", "ambiguous" or "nonexistent", which tells what local_time is in from_zone.

    Raises:
        ValueError: If local_time is not written as said or does not exist in the calendar, if a zone is unknown, if
            ambiguous or nonexistent is none of its choices, if local_time is ambiguous or nonexistent and that is
            to be refused, or if the result is outside of the years 1 to 9999.

    Examples:
        >>> convert_time_zone("2024-01-15T20:00", "America/New_York", "Asia/Tokyo")
        {'converted': '2024-01-16T10:00:00+09:00', 'source': '2024-01-15T20:00:00-05:00', 'utc': '2024-01-16T01:00:00+00:00', 'day_change': 1, 'kind': 'normal'}
        >>> convert_time_zone("2024-10-27 02:30", "Europe/Paris", "UTC", ambiguous="earlier")
        {'converted': '2024-10-27T00:30:00+00:00', 'source': '2024-10-27T02:30:00+02:00', 'utc': '2024-10-27T00:30:00+00:00', 'day_change': 0, 'kind': 'ambiguous'}
        >>> convert_time_zone("2024-10-27T02:30", "Europe/Paris", "UTC", ambiguous="later")
        {'converted': '2024-10-27T01:30:00+00:00', 'source': '2024-10-27T02:30:00+01:00', 'utc': '2024-10-27T01:30:00+00:00', 'day_change': 0, 'kind': 'ambiguous'}
        >>> convert_time_zone("2024-03-31T02:30:15", "Europe/Paris", "UTC", nonexistent="forward")
        {'converted': '2024-03-31T01:30:15+00:00', 'source': '2024-03-31T03:30:15+02:00', 'utc': '2024-03-31T01:30:15+00:00', 'day_change': 0, 'kind': 'nonexistent'}
        >>> convert_time_zone("2024-03-31T02:30", "Europe/Paris", "America/New_York", nonexistent="backward")
        {'converted': '2024-03-30T20:30:00-04:00', 'source': '2024-03-31T01:30:00+01:00', 'utc': '2024-03-31T00:30:00+00:00', 'day_change': -1, 'kind': 'nonexistent'}
    """
    wall = _parse_local_time(local_time)
    source_zone = _zone(from_zone, "from_zone")
    target_zone = _zone(to_zone, "to_zone")
    if ambiguous not in ("error", "earlier", "later"):
        raise ValueError(f"ambiguous must be 'error', 'earlier' or 'later', got {ambiguous!r}")
    if nonexistent not in ("error", "forward", "backward"):
        raise ValueError(f"nonexistent must be 'error', 'forward' or 'backward', got {nonexistent!r}")

    # With fold=0 a repeated time is its first occurrence, and a skipped time has the offset from before the gap.
    first = wall.replace(tzinfo=source_zone, fold=0)
    second = wall.replace(tzinfo=source_zone, fold=1)
    moment, kind = first, "normal"
    if first.utcoffset() > second.utcoffset():
        if ambiguous == "error":
            raise ValueError(f"{local_time} comes twice in {from_zone}: say whether the earlier or the later is meant")
        moment, kind = (first if ambiguous == "earlier" else second), "ambiguous"
    elif first.utcoffset() < second.utcoffset():
        if nonexistent == "error":
            raise ValueError(f"{local_time} is skipped in {from_zone}: say whether to move it forward or backward")
        moment, kind = (first if nonexistent == "forward" else second), "nonexistent"
    try:
        utc = moment.astimezone(timezone.utc)
        source = utc.astimezone(source_zone)
        converted = utc.astimezone(target_zone)
    except (OverflowError, ValueError):
        raise ValueError(f"{local_time} leads outside of the years 1 to 9999") from None
    return {
        "converted": converted.isoformat(),
        "source": source.isoformat(),
        "utc": utc.isoformat(),
        "day_change": (converted.date() - source.date()).days,
        "kind": kind,
    }
