import re
from datetime import date

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
DAY = "[0-9]{1,2}(?:st|nd|rd|th)?"
DATE = re.compile(
    r"(?<!\w)(?<![0-9][-/.])(?:"
    r"(?P<year_first>[0-9]{4})(?P<mark>[-/.])(?P<month_second>[0-9]{1,2})(?P=mark)(?P<day_third>[0-9]{1,2})"
    r"|(?P<one>[0-9]{1,2})(?P<sign>[-/.])(?P<two>[0-9]{1,2})(?P=sign)(?P<year_third>[0-9]{4})"
    rf"|(?P<day_before>{DAY})(?:\s+of)?\s+(?P<month_after>{MONTH}),?\s+(?P<year_after>[0-9]{{4}})"
    rf"|(?P<month_before>{MONTH})\s+(?P<day_after>{DAY}),?\s+(?P<year_last>[0-9]{{4}})"
    r")(?=T[0-9]|\W|$)(?![-/.][0-9])",
    re.IGNORECASE,
)


def extract_dates(text: str, day_first: bool = True) -> list[dict]:
    """Extracts the calendar dates that stand in an English text, in figures or with names of months, as YYYY-MM-DD.

    Also known as: find dates, date extraction, parse dates in text, timeline, date recognition, normalize dates

    These forms are found, with years of four digits, in upper or lower case:
    - 2026-03-09, 2026/3/9, 2026.03.09;
    - 9.3.2026, 09/03/2026, 9-3-2026, read as `day_first` says;
    - 9 March 2026, 9th of March, 2026, 09 Mar. 2026;
    - March 9, 2026, Mar 9th 2026.
    Names of months are whole or have three letters (or "Sept"), with or without a point. White space in a date may be
    of any kind and length. No letter, digit or underscore stands directly before or after a date, except for a "T" with
    a digit, as in 2026-03-09T10:00; neither does a digit with - / or . before it, nor - / or . with a digit after it.
    Dates that do not exist, such as 31.04.2026, are left out.

    Args:
        text: Any text; may be empty.
        day_first: Whether 09/03/2026 (also with . and -) is the 9th of March; else it is September 3.

    Returns:
        A list of dicts in the order of the text, with "date" (YYYY-MM-DD), "text" (as it stands there) and "start" (the
        position of its first character, from 0).

    Examples:
        >>> extract_dates("From 2026-03-09 to 9.4.2026.")
        [{'date': '2026-03-09', 'text': '2026-03-09', 'start': 5}, {'date': '2026-04-09', 'text': '9.4.2026', 'start': 19}]
        >>> extract_dates("Due 09/03/2026", day_first=False)
        [{'date': '2026-09-03', 'text': '09/03/2026', 'start': 4}]
        >>> extract_dates("Due 09/03/2026")
        [{'date': '2026-03-09', 'text': '09/03/2026', 'start': 4}]
        >>> extract_dates("born 1st of May, 1999; JUNE 2 2001, Sept. 3rd, 2002")
        [{'date': '1999-05-01', 'text': '1st of May, 1999', 'start': 5}, {'date': '2001-06-02', 'text': 'JUNE 2 2001', 'start': 23}, {'date': '2002-09-03', 'text': 'Sept. 3rd, 2002', 'start': 36}]
        >>> extract_dates("log 2024-02-29T10:00, not 2023-02-29 or 31.04.2026")
        [{'date': '2024-02-29', 'text': '2024-02-29', 'start': 4}]
        >>> extract_dates("1.2.3.2026 x2026-01-01 2026-01-011 1-2/2026 12/31/2026 5 Mars 2026 1.2.26 2026-01-01-2")
        []
        >>> extract_dates("12/31/2026", day_first=False)
        [{'date': '2026-12-31', 'text': '12/31/2026', 'start': 0}]
        >>> extract_dates("3 May 4, 2026")
        [{'date': '2026-05-04', 'text': 'May 4, 2026', 'start': 2}]
        >>> extract_dates("")
        []
    """
    found = []
    for match in DATE.finditer(text):
        try:
            day = date(*_year_month_day(match, day_first))
        except ValueError:
            continue
        found.append({"date": day.isoformat(), "text": match.group(), "start": match.start()})
    return found


def _year_month_day(match: re.Match[str], day_first: bool) -> tuple[int, int, int]:
    part = match.groupdict()
    if part["year_first"]:
        return int(part["year_first"]), int(part["month_second"]), int(part["day_third"])
    if part["year_third"]:
        one, two = int(part["one"]), int(part["two"])
        return int(part["year_third"]), two if day_first else one, one if day_first else two
    name = part["month_after"] or part["month_before"]
    day = re.sub("[^0-9]", "", part["day_before"] or part["day_after"])
    year = part["year_after"] or part["year_last"]
    return int(year), MONTHS.index(name[:3].lower()) + 1, int(day)
