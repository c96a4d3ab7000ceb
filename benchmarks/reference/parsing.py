"""Data inside the question: lists, tables, logs, numerals, formulas."""

from __future__ import annotations

import csv
import re
from collections import defaultdict

from reference.question import of_kind, rounded, sole_best

question = of_kind("parsing")


@question(
    "easy",
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
    "dev",
    "Here is a table of sales as CSV:\n{table}\nA row without a number of units does not count. Which "
    "region has the highest revenue (units times price, added up over its rows), and how high is it? Answer "
    "with the region and the amount rounded to 2 decimals, separated by a comma.",
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
def top_region(table: str) -> list[str | float]:
    revenue: dict[str, float] = defaultdict(float)
    for row in csv.DictReader(table.splitlines()):
        if row["units"]:
            revenue[row["region"]] += int(row["units"]) * float(row["price"])
    best = sole_best(revenue)
    return [best, rounded(revenue[best], 2)]


@question(
    "hard",
    "test",
    "This is the door log of an office for one day, in order of time:\n{log}\nA person who enters while "
    "already inside is not entering anew (the first time stands), a person who leaves without being inside "
    "is ignored, and whoever is still inside at the end stays until {closing}. Leave out stays of fewer "
    "than {shortest} minutes. Who was inside longest in total, and for how many minutes? Answer with the "
    "name and the number, separated by a comma.",
    {
        "log": "08:02 in Maya\n08:15 in Tom\n08:55 out Maya\n09:10 in Maya\n09:12 out Zoe\n"
        "09:40 in Maya\n10:01 in Zoe\n11:30 out Tom\n11:34 in Tom\n11:40 out Tom\n"
        "12:20 out Maya\n13:05 in Tom\n15:45 out Zoe\n16:10 in Zoe",
        "closing": "18:00",
        "shortest": 15,
    },
    {
        "log": "07:30 in Ada\n07:45 in Bea\n08:00 out Ada\n08:00 in Cid\n09:30 out Cid\n"
        "10:00 in Ada\n10:05 out Ada\n11:15 out Bea\n11:20 in Cid\n13:00 out Cid",
        "closing": "14:00",
        "shortest": 10,
    },
    {
        "log": "09:00 out Lin\n09:05 in Lin\n09:10 in Raj\n10:10 out Raj\n10:20 in Raj\n"
        "10:30 in Raj\n12:50 out Raj\n13:00 out Lin\n13:20 in Raj\n13:45 out Raj",
        "closing": "17:00",
        "shortest": 30,
    },
    {
        "log": "06:00 in Kai\n06:20 out Kai\n06:40 in Kai\n07:00 out Kai\n07:20 in Noa\n08:30 out Noa\n21:00 in Kai",
        "closing": "21:45",
        "shortest": 5,
    },
)
def longest_inside(log: str, closing: str, shortest: int) -> list[str | int]:
    def minutes(clock: str) -> int:
        return int(clock[:2]) * 60 + int(clock[3:])

    since: dict[str, int] = {}
    total: dict[str, int] = defaultdict(int)

    def leave(name: str, at: int) -> None:
        stay = at - since.pop(name)
        total[name] += stay if stay >= shortest else 0

    for clock, direction, name in (line.split() for line in log.splitlines()):
        if direction == "in":
            since.setdefault(name, minutes(clock))
        elif name in since:
            leave(name, minutes(clock))
    for name in list(since):
        leave(name, minutes(closing))
    best = sole_best(total)
    return [best, total[best]]


@question(
    "hard",
    "test",
    "What is the molar mass of {formula} in grams per mole, rounded to 2 decimals, with these atomic "
    "masses: {masses}? A number after an element or after a closing bracket multiplies what it follows, "
    "brackets may stand inside brackets, a dot joins parts, and a number at the start of a part multiplies "
    "that whole part.",
    {
        "formula": "KAl(SO4)2.12H2O",
        "masses": {"K": 39.098, "Al": 26.982, "S": 32.06, "O": 15.999, "H": 1.008},
    },
    {"formula": "Fe4(Fe(CN)6)3", "masses": {"Fe": 55.845, "C": 12.011, "N": 14.0067}},
    {
        "formula": "Ca10(PO4)6(OH)2",
        "masses": {"Ca": 40.078, "P": 30.974, "O": 15.999, "H": 1.008},
    },
    {
        "formula": "(NH4)2Fe(SO4)2.6H2O",
        "masses": {"N": 14.0067, "H": 1.008, "Fe": 55.845, "S": 32.06, "O": 15.999},
    },
)
def molar_mass(formula: str, masses: dict[str, float]) -> float:
    def part_mass(part: str) -> float:
        times, body = re.fullmatch(r"(\d*)(.*)", part).groups()  # type: ignore[union-attr]  # always matches
        stack = [0.0]
        for opening, element, closing, count in re.findall(r"(\()|([A-Z][a-z]?)|(\))|(\d+)", body):
            if opening:
                stack.append(0.0)
            elif element or closing:
                last = masses[element] if element else stack.pop()
                stack[-1] += last
            else:
                stack[-1] += last * (int(count) - 1)
        return stack[0] * int(times or 1)

    return rounded(sum(part_mass(part) for part in formula.split(".")), 2)
