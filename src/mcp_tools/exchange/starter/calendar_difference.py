import re
from calendar import monthrange
from datetime import date


def _parse_date(text: str, name: str) -> date:
    if not isinstance(text, str) or not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        raise ValueError(f"{name} must be a date written YYYY-MM-DD, got {text!r}")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{name} is not a day of the calendar: {text!r}") from None


def calendar_difference(start_date: str, end_date: str) -> dict[str, int]:
    """Counts the years, months and days between two dates, such as an age or a length of service.

    The most whole months are counted first, then the days that are left. A number of months after a date is the same
    day of a later month, or the last day of that month if it is shorter: one month after January 31 is February 28,
    or February 29 in a leap year, and one year after February 29 is February 28.

    Also known as: age in years, months and days, DATEDIF, date difference, length of service, how old, days between dates, days until

    Args:
        start_date: Earlier date, YYYY-MM-DD (Gregorian calendar, also for days before 1582).
        end_date: Later date, YYYY-MM-DD, the same as start_date or after it.

    Returns:
        years: Whole years, 0 or more.
        months: Whole months beyond the years, 0 to 11.
        days: Days beyond the months, 0 to 30.
        total_months: All whole months, which is 12 * years + months.
        total_days: All days from start_date to end_date, without counting start_date itself.

    Raises:
        ValueError: If a date is not written YYYY-MM-DD or does not exist, or if end_date is before start_date.

    Examples:
        >>> calendar_difference("2021-03-15", "2024-03-14")
        {'years': 2, 'months': 11, 'days': 28, 'total_months': 35, 'total_days': 1095}
        >>> calendar_difference("2024-01-31", "2024-03-01")
        {'years': 0, 'months': 1, 'days': 1, 'total_months': 1, 'total_days': 30}
        >>> calendar_difference("2020-02-29", "2021-02-28")
        {'years': 1, 'months': 0, 'days': 0, 'total_months': 12, 'total_days': 365}
        >>> calendar_difference("2024-05-01", "2024-05-01")
        {'years': 0, 'months': 0, 'days': 0, 'total_months': 0, 'total_days': 0}
    """
    start = _parse_date(start_date, "start_date")
    end = _parse_date(end_date, "end_date")
    if end < start:
        raise ValueError(f"end_date {end_date} is before start_date {start_date}")

    def months_later(months: int) -> date:
        year, month_index = divmod(start.year * 12 + start.month - 1 + months, 12)
        return date(year, month_index + 1, min(start.day, monthrange(year, month_index + 1)[1]))

    total_months = (end.year - start.year) * 12 + end.month - start.month
    if months_later(total_months) > end:
        total_months -= 1
    years, months = divmod(total_months, 12)
    return {
        "years": years,
        "months": months,
        "days": (end - months_later(total_months)).days,
        "total_months": total_months,
        "total_days": (end - start).days,
    }
