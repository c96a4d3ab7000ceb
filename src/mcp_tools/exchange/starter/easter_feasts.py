from datetime import date, timedelta
from typing import Literal

# Days after Easter Sunday.
_WESTERN = {
    "shrove_tuesday": -47,
    "ash_wednesday": -46,
    "palm_sunday": -7,
    "maundy_thursday": -3,
    "good_friday": -2,
    "holy_saturday": -1,
    "easter_sunday": 0,
    "easter_monday": 1,
    "ascension_day": 39,
    "pentecost": 49,
    "whit_monday": 50,
    "trinity_sunday": 56,
    "corpus_christi": 60,
}
_EASTERN = {
    "clean_monday": -48,
    "lazarus_saturday": -8,
    "palm_sunday": -7,
    "maundy_thursday": -3,
    "good_friday": -2,
    "holy_saturday": -1,
    "easter_sunday": 0,
    "easter_monday": 1,
    "ascension_day": 39,
    "pentecost": 49,
    "whit_monday": 50,
    "all_saints_sunday": 56,
}


def _gregorian_easter(year: int) -> date:
    """Easter by the anonymous Gregorian algorithm (Meeus, Jones, Butcher)."""
    golden = year % 19
    century, year_of_century = divmod(year, 100)
    leap_centuries, century_rest = divmod(century, 4)
    moon_correction = (century - (century + 8) // 25 + 1) // 3
    epact = (19 * golden + century - leap_centuries - moon_correction + 15) % 30
    leap_years, year_rest = divmod(year_of_century, 4)
    to_sunday = (32 + 2 * century_rest + 2 * leap_years - epact - year_rest) % 7
    correction = (golden + 11 * epact + 22 * to_sunday) // 451
    month, day = divmod(epact + to_sunday - 7 * correction + 114, 31)
    return date(year, month, day + 1)


def _julian_easter(year: int) -> date:
    """Easter of the Julian calendar (Meeus), as a date of the Gregorian calendar."""
    full_moon = (19 * (year % 19) + 15) % 30
    to_sunday = (2 * (year % 4) + 4 * (year % 7) - full_moon + 34) % 7
    month, day = divmod(full_moon + to_sunday + 114, 31)
    century = year // 100
    return date(year, month, 1) + timedelta(days=day + century - century // 4 - 2)


def easter_feasts(
    year: int, calendar: Literal["gregorian", "julian"] = "gregorian", feasts: list[str] | None = None
) -> dict[str, str]:
    """Finds Easter of a year and the Christian feasts whose dates move with it, for Western or Eastern churches.

    Also known as: computus, movable feasts, Orthodox Easter, Pascha, Good Friday, Pentecost, Ascension, when is Easter

    Args:
        year: Year, 1583 to 9999.
        calendar: Calendar by which Easter is computed. "gregorian": Western churches (Catholic, Protestant).
            "julian": most Orthodox churches.
        feasts: Names of the feasts to give, from the list of the calendar below. None means all of them.

    Returns:
        Dates by feast in the order of the year, YYYY-MM-DD, always in the Gregorian (civil) calendar.
        "gregorian": shrove_tuesday, ash_wednesday, palm_sunday, maundy_thursday, good_friday, holy_saturday,
        easter_sunday, easter_monday, ascension_day (39 days after Easter), pentecost (49), whit_monday (50),
        trinity_sunday (56), corpus_christi (60).
        "julian": clean_monday (48 days before Easter), lazarus_saturday, palm_sunday, maundy_thursday, good_friday,
        holy_saturday, easter_sunday, easter_monday, ascension_day (39 days after Easter), pentecost (49),
        whit_monday (50), all_saints_sunday (56).

    Raises:
        ValueError: If year is not a whole number from 1583 to 9999, if calendar is neither of the two, or if feasts
            has a name that is not in the list of the calendar.

    Examples:
        >>> easter_feasts(1999, feasts=["pentecost", "easter_sunday"])
        {'easter_sunday': '1999-04-04', 'pentecost': '1999-05-23'}
        >>> easter_feasts(2024)
        {'shrove_tuesday': '2024-02-13', 'ash_wednesday': '2024-02-14', 'palm_sunday': '2024-03-24', 'maundy_thursday': '2024-03-28', 'good_friday': '2024-03-29', 'holy_saturday': '2024-03-30', 'easter_sunday': '2024-03-31', 'easter_monday': '2024-04-01', 'ascension_day': '2024-05-09', 'pentecost': '2024-05-19', 'whit_monday': '2024-05-20', 'trinity_sunday': '2024-05-26', 'corpus_christi': '2024-05-30'}
        >>> easter_feasts(2024, calendar="julian")
        {'clean_monday': '2024-03-18', 'lazarus_saturday': '2024-04-27', 'palm_sunday': '2024-04-28', 'maundy_thursday': '2024-05-02', 'good_friday': '2024-05-03', 'holy_saturday': '2024-05-04', 'easter_sunday': '2024-05-05', 'easter_monday': '2024-05-06', 'ascension_day': '2024-06-13', 'pentecost': '2024-06-23', 'whit_monday': '2024-06-24', 'all_saints_sunday': '2024-06-30'}
    """
    if isinstance(year, bool) or not isinstance(year, int) or not 1583 <= year <= 9999:
        raise ValueError(f"year must be a whole number from 1583 to 9999, got {year!r}")
    if calendar == "gregorian":
        easter, offsets = _gregorian_easter(year), _WESTERN
    elif calendar == "julian":
        easter, offsets = _julian_easter(year), _EASTERN
    else:
        raise ValueError(f"calendar must be 'gregorian' or 'julian', got {calendar!r}")
    unknown = [feast for feast in feasts or [] if feast not in offsets]
    if unknown:
        raise ValueError(f"feasts must have names out of {list(offsets)}, got {unknown[0]!r}")
    return {
        feast: (easter + timedelta(days=days)).isoformat()
        for feast, days in offsets.items()
        if feasts is None or feast in feasts
    }
