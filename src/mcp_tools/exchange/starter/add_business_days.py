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


def add_business_days(
    start_date: str,
    days: int,
    holidays: list[str] | None = None,
    weekend: list[Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]] | None = None,
) -> str:
    """Finds the date that is a number of business days after or before a date, such as a deadline or a settlement day.

    Also known as: working days, workdays, WORKDAY, due date, busday_offset, deadline, nth working day

    Args:
        start_date: Date to count from, YYYY-MM-DD (Gregorian calendar). It is not counted itself, and it may be a day
            off.
        days: How many business days to go: positive for later, negative for earlier, 0 for the first business day
            that is not before start_date.
        holidays: Days off, YYYY-MM-DD. Repeated days and days of the weekend change nothing. None means no holidays.
        weekend: Weekdays that are never business days, by English name, at most six. None means Saturday and Sunday;
            an empty list means that no weekday is off.

    Returns:
        The business day that is reached, YYYY-MM-DD.

    Raises:
        ValueError: If a date is not written YYYY-MM-DD or does not exist, if days is not a whole number, if weekend
            has a name that is no weekday or leaves no business day, or if the result is outside of the years 1 to 9999.

    Examples:
        >>> add_business_days("2024-01-05", 1)
        '2024-01-08'
        >>> add_business_days("2024-01-01", 10, holidays=["2024-01-03", "2024-01-06"])
        '2024-01-16'
        >>> add_business_days("2024-01-07", -1)
        '2024-01-05'
        >>> add_business_days("2024-01-06", 0)
        '2024-01-08'
        >>> add_business_days("2024-01-04", 1, weekend=["Friday", "Saturday"])
        '2024-01-07'
    """
    current = _ordinal(start_date, "start_date")
    if isinstance(days, bool) or not isinstance(days, int):
        raise ValueError(f"days must be a whole number, got {days!r}")
    names = ["Saturday", "Sunday"] if weekend is None else weekend
    for name in names:
        if name not in _WEEKDAYS:
            raise ValueError(f"weekend must have English weekday names such as 'Saturday', got {name!r}")
    off = {_WEEKDAYS.index(name) for name in names}
    if len(off) == 7:
        raise ValueError("weekend has all seven weekdays, so there is no business day")
    days_off = {_ordinal(text, "each of holidays") for text in holidays or []}

    step = -1 if days < 0 else 1
    left = abs(days)
    if left == 0:
        # The first business day from start_date on is one business day after the day before it.
        current, left = current - 1, 1
    latest = date.max.toordinal()
    while left > 0:
        current += step
        if not 1 <= current <= latest:
            raise ValueError(f"{days} business days from {start_date} lead outside of the years 1 to 9999")
        # Ordinal 1 (0001-01-01) is a Monday, so (ordinal - 1) % 7 is the weekday with Monday = 0.
        if (current - 1) % 7 not in off and current not in days_off:
            left -= 1
    return date.fromordinal(current).isoformat()
