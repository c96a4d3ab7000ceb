"""Dates and calendars."""

from __future__ import annotations

from datetime import date, timedelta

from reference.question import of_kind

question = of_kind("dates")

WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


@question(
    "easy",
    "dev",
    "On which day of the week did {day} (year-month-day) fall? Answer with the English name of the day.",
    {"day": "1969-07-20"},
    {"day": "1912-04-15"},
    {"day": "2024-02-29"},
    {"day": "1953-05-29"},
)
def weekday_of_date(day: str) -> str:
    return WEEKDAYS[date.fromisoformat(day).weekday()]


@question(
    "easy",
    "test",
    "My lease runs from {start} to {end} (year-month-day). How many days is that, counting both the first "
    "and the last day?",
    {"start": "2023-11-07", "end": "2024-07-04"},
    {"start": "2021-02-01", "end": "2021-03-01"},
    {"start": "1999-12-31", "end": "2004-01-01"},
    {"start": "2025-06-15", "end": "2026-06-14"},
)
def lease_days(start: str, end: str) -> int:
    return (date.fromisoformat(end) - date.fromisoformat(start)).days + 1


@question(
    "medium",
    "test",
    "How many times does day {day} of a month fall on a {weekday} in the years {first_year} to {last_year}, "
    "both years included?",
    {"day": 13, "weekday": "Friday", "first_year": 1990, "last_year": 2010},
    {"day": 31, "weekday": "Monday", "first_year": 2001, "last_year": 2025},
    {"day": 1, "weekday": "Sunday", "first_year": 1901, "last_year": 1950},
    {"day": 29, "weekday": "Wednesday", "first_year": 2020, "last_year": 2024},
)
def day_on_weekday(day: int, weekday: str, first_year: int, last_year: int) -> int:
    current, count = date(first_year, 1, 1), 0
    while current.year <= last_year:
        count += current.day == day and WEEKDAYS[current.weekday()] == weekday
        current += timedelta(days=1)
    return count


@question(
    "medium",
    "dev",
    "How many days from Monday to Friday are there from {start} to {end} (year-month-day), both days included?",
    {"start": "2024-02-10", "end": "2024-11-05"},
    {"start": "2023-12-29", "end": "2024-01-02"},
    {"start": "2025-03-01", "end": "2025-03-31"},
    {"start": "1999-06-15", "end": "2001-01-07"},
)
def weekdays_between(start: str, end: str) -> int:
    day, count = date.fromisoformat(start), 0
    while day <= date.fromisoformat(end):
        count += day.weekday() < 5
        day += timedelta(days=1)
    return count


@question(
    "hard",
    "test",
    "Our choir meets once a month, on {weekday} number {nth} of the month (number 1 is the first {weekday}). "
    "If that day is one of these holidays: {holidays}, the meeting moves on to the next day that is neither "
    "a holiday nor a Saturday or Sunday. On which date do we meet in month {month} of {year}? Answer in the "
    "form YYYY-MM-DD.",
    {
        "year": 2025,
        "month": 5,
        "weekday": "Thursday",
        "nth": 1,
        "holidays": ["2025-05-01", "2025-05-02", "2025-08-07"],
    },
    {
        "year": 2024,
        "month": 11,
        "weekday": "Monday",
        "nth": 2,
        "holidays": ["2024-10-14", "2024-11-11", "2024-11-12"],
    },
    {"year": 2026, "month": 2, "weekday": "Friday", "nth": 4, "holidays": ["2026-02-20", "2026-12-25"]},
    {"year": 2023, "month": 1, "weekday": "Sunday", "nth": 3, "holidays": ["2023-01-15", "2023-01-16"]},
)
def choir_meeting(year: int, month: int, weekday: str, nth: int, holidays: list[str]) -> str:
    day = date(year, month, 1)
    while WEEKDAYS[day.weekday()] != weekday:
        day += timedelta(days=1)
    day += timedelta(weeks=nth - 1)
    if day.isoformat() in holidays:
        while day.isoformat() in holidays or day.weekday() >= 5:
            day += timedelta(days=1)
    return day.isoformat()
