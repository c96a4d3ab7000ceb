import re
from fractions import Fraction

_NANOSECONDS = {
    "week": 604_800_000_000_000,
    "day": 86_400_000_000_000,
    "hour": 3_600_000_000_000,
    "minute": 60_000_000_000,
    "second": 1_000_000_000,
    "millisecond": 1_000_000,
    "microsecond": 1_000,
    "nanosecond": 1,
}
_NAMES = {
    "week": ("w", "wk", "wks", "week", "weeks"),
    "day": ("d", "day", "days"),
    "hour": ("h", "hr", "hrs", "hour", "hours"),
    "minute": ("m", "min", "mins", "minute", "minutes"),
    "second": ("s", "sec", "secs", "second", "seconds"),
    "millisecond": ("ms", "msec", "millisecond", "milliseconds"),
    "microsecond": ("us", "µs", "microsecond", "microseconds"),
    "nanosecond": ("ns", "nanosecond", "nanoseconds"),
}
_UNIT_OF = {name: unit for unit, names in _NAMES.items() for name in names}
_NUMBER = r"[0-9]{1,15}(?:[.,][0-9]{1,15})?"
_ISO = re.compile(
    rf"P(?:(?P<week>{_NUMBER})W)?(?:(?P<day>{_NUMBER})D)?"
    rf"(?P<time>T(?:(?P<hour>{_NUMBER})H)?(?:(?P<minute>{_NUMBER})M)?(?:(?P<second>{_NUMBER})S)?)?"
)
_CLOCK = re.compile(r"([0-9]{1,15}):([0-5][0-9]):([0-5][0-9](?:[.,][0-9]{1,15})?)")
_PART = re.compile(rf"({_NUMBER})\s*([a-zµ]+)")
_BETWEEN = re.compile(r"\s*(?:,\s*)?(?:and\s+)?")


def _parts_of(text: str, whole: str) -> dict[str, str]:
    """The number of each unit that the text names, by unit."""
    if text[:1].upper() == "P":
        match = _ISO.fullmatch(text.upper())
        parts = {unit: part for unit, part in (match.groupdict() if match else {}).items() if part and unit != "time"}
        if not match or not parts or match["time"] == "T":
            raise ValueError(f"duration is no ISO 8601 duration of weeks, days, hours, minutes and seconds: {whole!r}")
        return parts
    if match := _CLOCK.fullmatch(text):
        return dict(zip(("hour", "minute", "second"), match.groups(), strict=True))
    if ":" in text:
        raise ValueError(
            f"duration must be written H:MM:SS if it has colons (1:30 could be hours or minutes): {whole!r}"
        )
    if re.fullmatch(_NUMBER, text):
        return {"second": text}
    text = text.lower().replace("μ", "µ")
    parts = {}
    position = 0
    for match in _PART.finditer(text):
        unit = _UNIT_OF.get(match[2])
        gap = text[position : match.start()]
        if unit is None or (gap and not (parts and _BETWEEN.fullmatch(gap))):
            break
        if unit in parts:
            raise ValueError(f"duration names the unit {unit} twice: {whole!r}")
        parts[unit] = match[1]
        position = match.end()
    if not parts or position < len(text):
        raise ValueError(
            f"duration must be numbers with units from weeks to nanoseconds, such as '1h 30m' or '2 days': {whole!r}"
        )
    return parts


def parse_duration(duration: str) -> dict[str, float | str]:
    """Reads a duration in any common notation and writes it as seconds, ISO 8601, a clock and short text.

    Also known as: duration converter, timedelta, ISO 8601 duration, humanize duration, seconds to hours and minutes

    Args:
        duration: One of
            - numbers with units in any order, each unit once: "1h 30m", "2 days, 4 hours and 5.5 seconds", "250 ms".
              A comma, "and" or both may stand between them.
              Units: w, d, h, m or min, s, ms, us, ns and their English names, in any case; m is minutes.
            - ISO 8601: "PT1H30M", "P1DT12H", "P2W".
            - a clock with hours, minutes and seconds: "1:30:00", "100:00:07.25".
            - a number alone, which means seconds: "5400".
            A sign before it (- or +) holds for the whole duration. Numbers may have decimals, after a point or a
            comma, and at most 15 digits before and after it. A day is 24 hours.

    Returns:
        total_seconds: All of it in seconds.
        iso8601: Days, hours, minutes and seconds, such as "P1DT2H3M4.5S"; "PT0S" for zero.
        clock: Hours, minutes and seconds, H:MM:SS, with hours beyond 24 and with decimals of seconds if there are any.
        text: Days, hours, minutes and seconds that are not zero, such as "1d 2h 3m 4.5s"; "0s" for zero.
        A negative duration has a "-" in front of each. The texts are exact to the nanosecond.

    Raises:
        ValueError: If duration is written in another way, has years or months (their length varies), names a unit
            twice, is a clock with one colon only, or is not a whole number of nanoseconds.

    Examples:
        >>> parse_duration("2h 5m")
        {'total_seconds': 7500.0, 'iso8601': 'PT2H5M', 'clock': '2:05:00', 'text': '2h 5m'}
        >>> parse_duration("1 week, 1 day and 2.5 seconds")
        {'total_seconds': 691202.5, 'iso8601': 'P8DT2.5S', 'clock': '192:00:02.5', 'text': '8d 2.5s'}
        >>> parse_duration("-P1DT12H")
        {'total_seconds': -129600.0, 'iso8601': '-P1DT12H', 'clock': '-36:00:00', 'text': '-1d 12h'}
        >>> parse_duration("0:01:30,25")
        {'total_seconds': 90.25, 'iso8601': 'PT1M30.25S', 'clock': '0:01:30.25', 'text': '1m 30.25s'}
        >>> parse_duration("1500 ms")
        {'total_seconds': 1.5, 'iso8601': 'PT1.5S', 'clock': '0:00:01.5', 'text': '1.5s'}
        >>> parse_duration("0")
        {'total_seconds': 0.0, 'iso8601': 'PT0S', 'clock': '0:00:00', 'text': '0s'}
        >>> parse_duration("1,5 h,2min, and 3 s")
        {'total_seconds': 5523.0, 'iso8601': 'PT1H32M3S', 'clock': '1:32:03', 'text': '1h 32m 3s'}
        >>> parse_duration("1h and")
        Traceback (most recent call last):
        ValueError: duration must be numbers with units from weeks to nanoseconds, such as '1h 30m' or '2 days': '1h and'
    """
    if not isinstance(duration, str):
        raise ValueError(f"duration must be text such as '1h 30m', got {duration!r}")
    stripped = duration.strip()
    unsigned = stripped[1:].lstrip() if stripped[:1] in ("-", "+") else stripped
    parts = _parts_of(unsigned, duration)
    total = sum(Fraction(number.replace(",", ".")) * _NANOSECONDS[unit] for unit, number in parts.items())
    if total.denominator != 1:
        raise ValueError(f"duration must be a whole number of nanoseconds: {duration!r}")
    sign = "-" if stripped.startswith("-") and total else ""

    whole_seconds, nanoseconds = divmod(int(total), _NANOSECONDS["second"])
    decimals = f".{nanoseconds:09d}".rstrip("0") if nanoseconds else ""
    hours, rest = divmod(whole_seconds, 3600)
    minutes, seconds = divmod(rest, 60)
    days, hours_of_day = divmod(hours, 24)

    counts = [(str(days), "D"), (str(hours_of_day), "H"), (str(minutes), "M"), (f"{seconds}{decimals}", "S")]
    shown = [(number, unit) for number, unit in counts if number != "0"] or [("0", "S")]
    date_part = "".join(number + unit for number, unit in shown if unit == "D")
    time_part = "".join(number + unit for number, unit in shown if unit != "D")
    magnitude = int(total) / _NANOSECONDS["second"]
    return {
        "total_seconds": -magnitude if sign else magnitude,
        "iso8601": f"{sign}P{date_part}{'T' if time_part else ''}{time_part}",
        "clock": f"{sign}{hours}:{minutes:02d}:{seconds:02d}{decimals}",
        "text": sign + " ".join(number + unit.lower() for number, unit in shown),
    }
