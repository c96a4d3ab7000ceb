import re
from datetime import date
from typing import Literal

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _ordinal(text: str, name: str) -> int:
    if not isinstance(text, str) or not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        raise ValueError(f"{name} must be a date written YYYY-MM-DD, got {text!r}")
    try:
        return date.fromisoformat(text).toordinal()
    except ValueError:
        raise ValueError(f"{name} is not a day of the calendar: {text!r}") from None


def count_business_days(
    start_date: str,
    end_date: str,
    holidays: list[str] | None = None,
    weekend: list[Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]] | None = None,
    include_start: bool = True,
    include_end: bool = True,
) -> int:
    """Counts the business days of a period: its days that are neither weekend nor holiday.

    Also known as: working days, workdays, NETWORKDAYS, busday_count, how many working days

    Args:
        start_date: First day of the period, YYYY-MM-DD (Gregorian calendar).
        end_date: Last day of the period, YYYY-MM-DD, not before start_date.
        holidays: Days off, YYYY-MM-DD. Repeated days, days of the weekend and days outside the period change nothing.
            None means no holidays.
        weekend: Weekdays that are never business days, by English name. None means Saturday and Sunday; an empty
            list means that no weekday is off.
        include_start: Whether start_date itself may count.
        include_end: Whether end_date itself may count.

    Returns:
        Number of business days, 0 or more. If start_date and end_date are the same day, it counts only if both
        are included.

    Raises:
        ValueError: If a date is not written YYYY-MM-DD or does not exist, if end_date is before start_date, or if
            weekend has a name that is no weekday.

    Examples:
        >>> count_business_days("2024-01-01", "2024-01-14")
        10
        >>> count_business_days("2024-01-01", "2024-01-14", holidays=["2024-01-01", "2024-01-06", "2024-01-01"])
        9
        >>> count_business_days("2024-01-01", "2024-01-05", weekend=["Friday", "Saturday"])
        4
        >>> count_business_days("2024-01-01", "2024-01-03", include_start=False, include_end=False)
        1
        >>> count_business_days("2024-01-06", "2024-01-07", weekend=[])
        2
    """
    start = _ordinal(start_date, "start_date")
    end = _ordinal(end_date, "end_date")
    if end < start:
        raise ValueError(f"end_date {end_date} is before start_date {start_date}")
    names = ["Saturday", "Sunday"] if weekend is None else weekend
    for name in names:
        if name not in _WEEKDAYS:
            raise ValueError(f"weekend must have English weekday names such as 'Saturday', got {name!r}")
    off = {_WEEKDAYS.index(name) for name in names}
    days_off = {_ordinal(text, "each of holidays") for text in holidays or []}

    first = start if include_start else start + 1
    last = end if include_end else end - 1
    if first > last:
        return 0
    # Ordinal 1 (0001-01-01) is a Monday, so (ordinal - 1) % 7 is the weekday with Monday = 0.
    weeks, rest = divmod(last - first + 1, 7)
    count = weeks * (7 - len(off))
    count += sum((first - 1 + step) % 7 not in off for step in range(rest))
    count -= sum(first <= day <= last and (day - 1) % 7 not in off for day in days_off)
    return count
