"""Questions with csv and tsv files, in dialects that are met outside, and with SQLite databases."""

from __future__ import annotations

import csv
import io
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from itertools import pairwise
from typing import Any

from making.question import Draw, Made, only_best, question


def _delimited(rows: Iterable[Sequence[Any]], delimiter: str = ",", *, quoting: int = csv.QUOTE_MINIMAL) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, delimiter=delimiter, quoting=quoting, lineterminator="\n").writerows(rows)
    return buffer.getvalue()


def _database(script: str, tables: dict[str, Sequence[Sequence[Any]]]) -> bytes:
    base = sqlite3.connect(":memory:")
    base.executescript(script)
    for name, rows in tables.items():
        marks = ", ".join("?" * len(rows[0]))
        base.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)  # noqa: S608 - names of our own
    base.commit()
    data = bytearray(base.serialize())
    data[96:100] = (3_040_001).to_bytes(4, "big")  # the version of the library that wrote it
    return bytes(data)


@question(1, ".csv", tools="code")
def cellar_temperatures(draw: Draw) -> Made:
    """Read semicolons as separators and commas as decimal points. Take the highest temperature."""
    tenths = [draw.number(62, 174) for _ in range(96)]
    rows = [
        (
            f"{1 + n // 24:02}.02.2024 {n % 24:02}:00",
            f"{t // 10},{t % 10}",
            f"{draw.number(500, 900) / 10}".replace(".", ","),
        )
        for n, t in enumerate(tenths)
    ]
    text = (
        "The attached file holds measurements from a cheese cellar. What is the highest temperature in it? Give the "
        "number with a decimal point and one decimal place."
    )
    content = _delimited([("Zeit", "Temperatur", "Feuchte"), *rows], ";").encode()
    return Made(text, f"{max(tenths) / 10:.1f}", content)


@question(1, ".csv", tools="code")
def library_loans(draw: Draw) -> Made:
    """Take the loans of the branch. Count those that took more than 28 days."""
    rows = [
        (
            5000 + n,
            draw.one(["North", "South", "Harbour"]),
            draw.one(["novel", "crime", "travel", "poetry"]),
            draw.number(2, 45),
        )
        for n in range(140)
    ]
    text = (
        "In the attached list of loans, how many loans of the branch Harbour lasted more than 28 days? Give only "
        "the number."
    )
    content = _delimited([("loan_id", "branch", "genre", "days"), *rows]).encode()
    return Made(text, sum(branch == "Harbour" and days > 28 for _, branch, _, days in rows), content)


@question(1, ".csv", tools="code")
def rain_gauge(draw: Draw) -> Made:
    """Find the row with the largest value in millimetres. Read its date."""
    amounts = draw.shuffled([n / 2 for n in range(90)])
    rows = [((date(2022, 9, 1) + timedelta(days=n)).isoformat(), mm) for n, mm in enumerate(amounts)]
    text = (
        "The attached file holds the rain of ninety days in millimetres. On which day did most rain fall? Answer with "
        "the date as YYYY-MM-DD."
    )
    content = _delimited([("date", "mm"), *rows]).replace("\n", "\r\n").encode("utf-8-sig")
    return Made(text, max(rows, key=lambda row: row[1])[0], content)


@question(2, ".csv", tools="code")
def letters_to_the_editor(draw: Draw) -> Made:
    """Read the file as Latin-1, with quoted fields that hold commas and line breaks.

    Count the letters with the word.
    """
    subjects = [
        "the new bridge",
        "the café",
        "street lamps",
        "the Bridge over the mill stream",
        "dogs in the park",
        "noise",
    ]
    ends = [
        "It cannot go on, really.",
        'They call it "progress".',
        "Müller knows why.",
        "So I say:\nenough, and thank you.",
    ]
    rows = []
    for number in range(48):
        subject, end = draw.one(subjects), draw.one(ends)
        rows.append(
            (number + 1, draw.one(["García", "Björn", "Zoë", "Anna"]), f"I write about {subject},\nagain. {end}")
        )
    text = (
        "The attached file holds letters to a newspaper, one a record; some run over several lines. How many of the "
        "letters contain the word bridge, in capital or small letters? Give only the number."
    )
    content = _delimited([("id", "name", "letter"), *rows], quoting=csv.QUOTE_NONNUMERIC).encode("latin-1")
    return Made(text, sum("bridge" in letter.lower() for _, _, letter in rows), content)


@question(2, ".csv", tools="code")
def tram_delays(draw: Draw) -> Made:
    """Take line 4. Leave out the trips that were cancelled. Take the Saturdays. Form the mean and round it."""
    rows, kept = [], []
    for n in range(210):
        day, line = date(2024, 4, 1) + timedelta(days=n // 7), draw.one(["2", "4", "4", "9"])
        delay = draw.one(["cancelled", *map(str, range(0, 19))])
        rows.append((day.isoformat(), line, delay))
        if line == "4" and day.weekday() == 5 and delay != "cancelled":
            kept.append(int(delay))
    assert (sum(kept) * 100 / len(kept)) % 10 != 5
    text = (
        "In the attached list, what was the average delay in minutes of line 4 on Saturdays? Leave out trips that were "
        "cancelled. Round to one decimal place and give only the number."
    )
    content = _delimited([("date", "line", "delay"), *rows]).encode()
    return Made(text, f"{sum(kept) / len(kept):.1f}", content)


@question(3, ".csv", tools="code")
def sauna_visits(draw: Draw) -> Made:
    """Skip comments and read the separator.

    Sort the events by time. Count who is inside after each. Take the largest count.
    """
    moments = draw.shuffled(range(480, 1320))
    events = []
    for guest in range(60):
        start = moments.pop()
        end = next(minute for minute in moments if 20 < abs(minute - start) < 150)
        moments.remove(end)
        events += [(min(start, end), f"G{guest:02}", "in"), (max(start, end), f"G{guest:02}", "out")]
    inside = most = 0
    for _, _, kind in sorted(events):
        inside += 1 if kind == "in" else -1
        most = max(most, inside)
    lines = [f"{guest}|{kind}|{minute // 60:02}:{minute % 60:02}" for minute, guest, kind in draw.shuffled(events)]
    head = ["# door of the sauna, one day, not in order of time", "# guest|event|time"]
    text = (
        "The attached file tells when guests went into a sauna and came out of it on one day. What is the largest "
        "number of guests that were inside at the same time? Give only the number."
    )
    return Made(text, most, "\n".join([*head, *lines[:70], "# page 2", *lines[70:], ""]).encode())


@question(1, ".tsv", tools="code")
def cheese_wheels(draw: Draw) -> Made:
    """Take the wheels of the kind. Add up their weights."""
    kinds = ["Tomme", "Gouda", "Pecorino", "Blue"]
    rows = [(f"W{n:03}", draw.one(kinds), draw.number(3, 14), draw.number(900, 8000)) for n in range(70)]
    text = (
        "How many grams do all wheels of the kind Pecorino in the attached file weigh together? Give only the number."
    )
    content = _delimited([("wheel", "kind", "months", "grams"), *rows], "\t").encode()
    return Made(text, sum(row[3] for row in rows if row[1] == "Pecorino"), content)


@question(2, ".tsv", tools="code")
def hiking_huts(draw: Draw) -> Made:
    """Form the difference of the heights of each hut and the one before it. Take the largest climb."""
    names = [
        "Adler",
        "Birken",
        "Falken",
        "Gams",
        "Hirten",
        "Kessel",
        "Lärchen",
        "Murmel",
        "Nebel",
        "Rotwand",
        "Stein",
        "Tann",
    ]
    rows = [(n, name, draw.number(900, 2900)) for n, name in enumerate(draw.shuffled(names), 1)]
    climbs = {f"{a[1]}, {b[1]}, {b[2] - a[2]}": b[2] - a[2] for a, b in pairwise(rows)}
    text = (
        "The attached file lists the huts of a walk in the order in which they are visited, with their heights in "
        "metres. Between which two huts that follow each other does the height rise most, and by how many metres? "
        "Answer as: first hut, second hut, metres"
    )
    return Made(text, only_best(climbs), _delimited([("stage", "hut", "height"), *rows], "\t").encode())


@question(1, ".sqlite", tools="code")
def lighthouse_museum(draw: Draw) -> Made:
    """Take the days of March 2021. Add up the visitors."""
    rows = [((date(2021, 1, 1) + timedelta(days=n)).isoformat(), draw.number(0, 140)) for n in range(200)]
    text = (
        "The table visits of the attached database holds the visitors of a museum by day. How many visitors came in "
        "March 2021? Give only the number."
    )
    content = _database("CREATE TABLE visits (day TEXT PRIMARY KEY, visitors INTEGER);", {"visits": rows})
    return Made(text, sum(visitors for day, visitors in rows if day.startswith("2021-03")), content)


@question(2, ".sqlite", tools="code")
def village_bakery(draw: Draw) -> Made:
    """Join orders with products. Multiply quantity by price. Add up per customer. Take the largest."""
    customers = [(n, name) for n, name in enumerate(["Inn", "School", "Castle", "Camping", "Hospital", "Station"], 1)]
    products = [(1, "roll", 45), (2, "loaf", 380), (3, "bun", 120), (4, "tart", 1450)]
    orders = [(n, draw.number(1, 6), draw.number(1, 4), draw.number(1, 30)) for n in range(1, 91)]
    spent: dict[str, int] = defaultdict(int)
    for _, customer, product, quantity in orders:
        spent[customers[customer - 1][1]] += quantity * products[product - 1][2]
    best = only_best(spent)
    script = (
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT);"
        "CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT, cents INTEGER);"
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER, product_id INTEGER, quantity INTEGER);"
    )
    text = (
        "In the attached database of a bakery, which customer spent the most, and how many cents? Answer as: "
        "customer, cents"
    )
    content = _database(script, {"customers": customers, "products": products, "orders": orders})
    return Made(text, f"{best}, {spent[best]}", content)


@question(3, ".sqlite", tools="code")
def toy_factory(draw: Draw) -> Made:
    """Find what a carousel consists of.

    Go down into the parts of the parts. Multiply along the way. Add up the screws.
    """
    levels = [["carousel"], ["roof", "platform", "drive"], ["horse", "beam", "gear", "panel"], ["hub", "plate", "pole"]]
    rows = [
        (whole, part, draw.number(1, 6))
        for upper, lower in pairwise(levels)
        for whole in upper
        for part in draw.some(lower, 2)
    ]
    rows += [
        (whole, "screw", draw.number(2, 9)) for whole in ("roof", "drive", "horse", "panel", "hub", "plate", "pole")
    ]

    def screws(whole: str) -> int:
        return sum(count if part == "screw" else count * screws(part) for name, part, count in rows if name == whole)

    text = (
        "The table parts of the attached database tells how many of which part each thing of a toy factory consists "
        "of; parts consist of parts themselves. How many screws are needed for 12 carousels? Give only the number."
    )
    script = "CREATE TABLE parts (whole TEXT, part TEXT, pieces INTEGER);"
    return Made(text, 12 * screws("carousel"), _database(script, {"parts": draw.shuffled(rows)}))
