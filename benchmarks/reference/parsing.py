"""Data inside the question: lists, tables, time sheets, numerals."""

from __future__ import annotations

import csv
from collections import defaultdict
from fractions import Fraction

from reference.question import of_kind, sole_best

question = of_kind("parsing")


@question(
    "easy",
    "dev",
    "An old building bears the year {numeral} in Roman numerals. Which year is that?",
    {"numeral": "MDCCCXLIV"},
    {"numeral": "MCMXCIX"},
    {"numeral": "MDLXXVI"},
    {"numeral": "MMXXIV"},
)
def roman_year(numeral: str) -> int:
    worth = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}
    values = [worth[c] for c in numeral]
    return sum(-v if v < after else v for v, after in zip(values, [*values[1:], 0], strict=True))


@question(
    "medium",
    "test",
    'My stock list reads "{stock}". How many pieces are there altogether, leaving out {excluded}?',
    {"stock": "bolts=120; nuts=75; washers=310; hinges=18; screws=264", "excluded": "washers"},
    {"stock": "red=4; blue=9; green=17", "excluded": "blue"},
    {"stock": "pens=48; pads=12; clips=500; tape=7; glue=3; pins=250", "excluded": "pins"},
    {"stock": "oak=14; ash=22; elm=9; fir=31", "excluded": "oak"},
)
def stock_total(stock: str, excluded: str) -> int:
    pairs = dict(entry.strip().split("=") for entry in stock.split(";"))
    return sum(int(count) for name, count in pairs.items() if name != excluded)


@question(
    "hard",
    "dev",
    "Here is a table of sales as CSV:\n{table}\nA row without a number of units does not count. Which "
    "region has the highest revenue (units times price, added up over its rows)?",
    {
        "table": "date,region,units,price\n2024-03-01,North,12,19.90\n2024-03-01,South,7,24.50\n"
        "2024-03-02,West,,99.00\n2024-03-02,South,9,24.50\n2024-03-03,North,5,18.75\n"
        "2024-03-04,West,21,15.20\n2024-03-05,South,3,26.00"
    },
    {
        "table": "date,region,units,price\n2023-11-10,Alpha,3,100.00\n2023-11-10,Beta,40,8.25\n"
        "2023-11-12,Alpha,,75.00\n2023-11-13,Gamma,11,30.40"
    },
    {
        "table": "date,region,units,price\n2025-01-02,Oslo,2,450.00\n2025-01-02,Bergen,15,61.10\n"
        "2025-01-03,Bergen,,61.10\n2025-01-04,Oslo,1,399.95\n2025-01-05,Tromso,30,41.20\n"
        "2025-01-06,Bergen,6,58.30"
    },
    {
        "table": "date,region,units,price\n2022-06-01,East,100,1.15\n2022-06-02,Centre,80,1.49\n"
        "2022-06-03,East,20,1.10\n2022-06-04,Centre,,1.49"
    },
)
def top_region(table: str) -> str:
    revenue: dict[str, Fraction] = defaultdict(Fraction)
    for row in csv.DictReader(table.splitlines()):
        if row["units"]:
            revenue[row["region"]] += int(row["units"]) * Fraction(row["price"])
    return sole_best(revenue)


@question(
    "hard",
    "test",
    "This is my time sheet of a week:\n{sheet:lines}\nOn a day on which I was there for more than 6 hours, "
    "{pause} minutes are taken off as a break. After that, no more than {most} minutes of a day are paid, "
    "and a day on which fewer than {least} minutes are left is not paid at all. How many minutes of the week "
    "are paid?",
    {
        "sheet": [
            "Mon 08:10-17:05",
            "Tue 07:55-14:00",
            "Wed 09:00-09:25",
            "Thu 06:30-18:20",
            "Fri 08:00-14:00",
        ],
        "pause": 45,
        "most": 600,
        "least": 30,
    },
    {"sheet": ["Mon 09:15-17:45", "Wed 10:00-16:00", "Fri 07:40-19:10"], "pause": 30, "most": 540, "least": 60},
    {
        "sheet": ["Tue 06:00-12:30", "Wed 13:05-13:50", "Thu 08:20-20:00", "Sat 10:10-11:10"],
        "pause": 60,
        "most": 480,
        "least": 60,
    },
    {
        "sheet": ["Mon 07:30-13:31", "Tue 07:30-13:30", "Wed 12:00-12:44", "Fri 15:00-21:10"],
        "pause": 20,
        "most": 345,
        "least": 45,
    },
)
def paid_minutes(sheet: list[str], pause: int, most: int, least: int) -> int:
    def minutes(clock: str) -> int:
        return int(clock[:2]) * 60 + int(clock[3:])

    paid = 0
    for line in sheet:
        begin, end = line.split()[1].split("-")
        there = minutes(end) - minutes(begin)
        if there > 360:
            there -= pause
        if there >= least:
            paid += min(there, most)
    return paid
