"""Dates and calendars."""

from __future__ import annotations

from datetime import date, datetime, timedelta

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
    "test",
    "Our choir meets once a month in {year}, on {weekday} number {nth} of the month (1 is the first "
    "{weekday}). If that day is one of these holidays: {holidays}, the meeting moves on to the next day "
    "that is neither a holiday nor a Saturday or Sunday. On which dates do we meet in months {months}? "
    "Answer with year-month-day dates in the order of the months, separated by commas.",
    {
        "year": 2025,
        "weekday": "Thursday",
        "nth": 1,
        "holidays": ["2025-05-01", "2025-05-02", "2025-08-07"],
        "months": [4, 5, 8],
    },
    {
        "year": 2024,
        "weekday": "Monday",
        "nth": 2,
        "holidays": ["2024-10-14", "2024-11-11", "2024-11-12"],
        "months": [9, 10, 11],
    },
    {"year": 2026, "weekday": "Friday", "nth": 4, "holidays": ["2026-12-25"], "months": [2, 12]},
    {"year": 2023, "weekday": "Sunday", "nth": 3, "holidays": ["2023-01-15", "2023-01-16"], "months": [1, 7]},
)
def choir_meetings(year: int, weekday: str, nth: int, holidays: list[str], months: list[int]) -> list[str]:
    def meeting(month: int) -> str:
        first = date(year, month, 1)
        offset = (WEEKDAYS.index(weekday) - first.weekday()) % 7
        day = first + timedelta(days=offset + 7 * (nth - 1))
        if day.isoformat() in holidays:
            while day.isoformat() in holidays or day.weekday() >= 5:
                day += timedelta(days=1)
        return day.isoformat()

    return [meeting(month) for month in months]


@question(
    "hard",
    "test",
    "A workshop works from Monday to Friday, from {opens} to {closes}, with a lunch break from {lunch_from} "
    "to {lunch_to}, and not at all on these dates: {holidays}. A job comes in at {arrival} and needs "
    "{minutes} minutes of work. Work on it starts at once if the workshop is working, otherwise as soon as "
    "it next does, and goes on without a gap through all working time. When is the job finished? Answer in "
    "the form YYYY-MM-DD HH:MM.",
    {
        "opens": "08:30",
        "closes": "17:00",
        "lunch_from": "12:15",
        "lunch_to": "13:00",
        "holidays": ["2024-05-01", "2024-05-09"],
        "arrival": "2024-04-30 15:20",
        "minutes": 1500,
    },
    {
        "opens": "07:00",
        "closes": "15:30",
        "lunch_from": "11:00",
        "lunch_to": "11:30",
        "holidays": ["2025-12-25", "2025-12-26", "2026-01-01"],
        "arrival": "2025-12-24 11:10",
        "minutes": 1000,
    },
    {
        "opens": "09:00",
        "closes": "18:00",
        "lunch_from": "13:00",
        "lunch_to": "14:00",
        "holidays": ["2023-07-04"],
        "arrival": "2023-07-01 10:00",
        "minutes": 725,
    },
    {
        "opens": "10:00",
        "closes": "16:00",
        "lunch_from": "12:30",
        "lunch_to": "13:15",
        "holidays": ["2026-03-02"],
        "arrival": "2026-02-27 05:45",
        "minutes": 333,
    },
)
def job_finished(
    opens: str, closes: str, lunch_from: str, lunch_to: str, holidays: list[str], arrival: str, minutes: int
) -> str:
    def works(now: datetime) -> bool:
        clock = now.strftime("%H:%M")
        open_day = now.weekday() < 5 and now.date().isoformat() not in holidays
        return open_day and opens <= clock < closes and not lunch_from <= clock < lunch_to

    now, left = datetime.fromisoformat(arrival), minutes
    while left:
        left -= works(now)
        now += timedelta(minutes=1)
    return now.strftime("%Y-%m-%d %H:%M")


@question(
    "hard",
    "dev",
    "The calendar of the planet Oru has {months} months in a year. Odd-numbered months have {odd_days} "
    "days, even-numbered months {even_days}. In years divisible by {leap_every} the last month is one day "
    "longer, except in years divisible by {skip_every}. Day number 1 is day 1 of month 1 of year 1. Which "
    "date is day number {number}? Answer with year, month and day as three numbers separated by commas.",
    {"months": 13, "odd_days": 30, "even_days": 27, "leap_every": 4, "skip_every": 60, "number": 50000},
    {"months": 8, "odd_days": 41, "even_days": 40, "leap_every": 3, "skip_every": 21, "number": 12345},
    {"months": 11, "odd_days": 33, "even_days": 34, "leap_every": 5, "skip_every": 25, "number": 1855},
    {"months": 10, "odd_days": 25, "even_days": 28, "leap_every": 6, "skip_every": 18, "number": 99999},
)
def planet_date(months: int, odd_days: int, even_days: int, leap_every: int, skip_every: int, number: int) -> list[int]:
    def length(year: int, month: int) -> int:
        leap = month == months and year % leap_every == 0 and year % skip_every != 0
        return (odd_days if month % 2 else even_days) + leap

    year, month, day = 1, 1, number
    while day > length(year, month):
        day -= length(year, month)
        year, month = (year, month + 1) if month < months else (year + 1, 1)
    return [year, month, day]
