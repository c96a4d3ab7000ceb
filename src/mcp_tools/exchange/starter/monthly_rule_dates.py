import re
from calendar import monthrange
from datetime import date
from typing import Literal

_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# How many days of a kind a month has at most.
_LARGEST = {"day": 31, "business day": 23} | dict.fromkeys(_WEEKDAYS, 5)


def _parse_date(text: str, name: str) -> date:
    if not isinstance(text, str) or not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        raise ValueError(f"{name} must be a date written YYYY-MM-DD, got {text!r}")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{name} is not a day of the calendar: {text!r}") from None


def _days_of_kind(year: int, month: int, kind: str) -> list[int]:
    first_weekday, length = monthrange(year, month)
    days = range(1, length + 1)
    if kind == "day":
        return list(days)
    if kind == "business day":
        return [day for day in days if (first_weekday + day - 1) % 7 < 5]
    return [day for day in days if (first_weekday + day - 1) % 7 == _WEEKDAYS.index(kind)]


def monthly_rule_dates(
    start_date: str,
    end_date: str,
    position: int,
    kind: Literal[
        "day", "business day", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"
    ] = "day",
    if_missing: Literal["skip", "nearest"] = "skip",
    every_months: int = 1,
) -> list[str]:
    """Lists the dates of a monthly rule in a period, such as each third Tuesday, each last Friday or each 31st.

    Also known as: nth weekday of the month, recurring dates, recurrence rule, RRULE, monthly schedule

    Args:
        start_date: First day of the period, YYYY-MM-DD.
        end_date: Last day of the period, YYYY-MM-DD, not before start_date. It belongs to the period.
        position: Which day of the kind in each month: 1 is the first, 2 the second; -1 is the last, -2 the last but
            one. From 1 to 31 or -31 to -1 for "day", up to 23 for "business day", up to 5 for a weekday.
        kind: Days that are counted: all days of the month, those from Monday to Friday (holidays are not known), or
            those of one weekday. Position 31 of "day" is the 31st; position -1 is the last day of the month.
        if_missing: What to do in a month that has no day at this position, such as no 31st or no fifth Monday: skip
            the month, or take its nearest day of that kind (the last one, or the first one for a negative position).
        every_months: 1 for each month, 3 for each third month and so on, counted from the month of start_date.

    Returns:
        Dates from start_date to end_date in ascending order, YYYY-MM-DD. The list is empty if there is none.

    Raises:
        ValueError: If a date is not written YYYY-MM-DD or does not exist, if end_date is before start_date, if kind
            or if_missing is none of its choices, if position is 0, not a whole number or too far from 0 for the kind,
            or if every_months is not a whole number of 1 or more.

    Examples:
        >>> monthly_rule_dates("2024-01-01", "2024-03-31", 3, "Tuesday")
        ['2024-01-16', '2024-02-20', '2024-03-19']
        >>> monthly_rule_dates("2024-01-27", "2024-03-29", -1, "Friday")
        ['2024-02-23', '2024-03-29']
        >>> monthly_rule_dates("2024-01-31", "2024-05-31", 31)
        ['2024-01-31', '2024-03-31', '2024-05-31']
        >>> monthly_rule_dates("2024-01-31", "2024-05-31", 31, if_missing="nearest", every_months=3)
        ['2024-01-31', '2024-04-30']
        >>> monthly_rule_dates("2024-06-01", "2024-06-30", -1, "business day")
        ['2024-06-28']
        >>> monthly_rule_dates("2024-02-01", "2024-02-29", -5, "Monday", if_missing="nearest")
        ['2024-02-05']
    """
    start = _parse_date(start_date, "start_date")
    end = _parse_date(end_date, "end_date")
    if end < start:
        raise ValueError(f"end_date {end_date} is before start_date {start_date}")
    if kind not in _LARGEST:
        raise ValueError(f"kind must be 'day', 'business day' or a weekday such as 'Monday', got {kind!r}")
    largest = _LARGEST[kind]
    if isinstance(position, bool) or not isinstance(position, int) or not 1 <= abs(position) <= largest:
        raise ValueError(f"position must be 1 to {largest} or -{largest} to -1 for {kind!r}, got {position!r}")
    if if_missing not in ("skip", "nearest"):
        raise ValueError(f"if_missing must be 'skip' or 'nearest', got {if_missing!r}")
    if isinstance(every_months, bool) or not isinstance(every_months, int) or every_months < 1:
        raise ValueError(f"every_months must be a whole number of 1 or more, got {every_months!r}")

    first_month = start.year * 12 + start.month - 1
    last_month = end.year * 12 + end.month - 1
    dates = []
    for month_number in range(first_month, last_month + 1, every_months):
        year, month_index = divmod(month_number, 12)
        days = _days_of_kind(year, month_index + 1, kind)
        if abs(position) <= len(days):
            day = days[position - 1 if position > 0 else position]
        elif if_missing == "nearest":
            day = days[-1 if position > 0 else 0]
        else:
            continue
        found = date(year, month_index + 1, day)
        if start <= found <= end:
            dates.append(found.isoformat())
    return dates
