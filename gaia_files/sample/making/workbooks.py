"""Questions with a workbook: sheets, fill colours, merged cells, hidden sheets and rows, formulas, comments."""

from __future__ import annotations

import io
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import date, time, timedelta
from typing import TYPE_CHECKING, Any

from making.containers import opendocument, packed, without_times
from making.question import Draw, Made, only_best, question

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.worksheet.worksheet import Worksheet

YELLOW, GREEN, ORANGE, RED = "FFFFF200", "FF92D050", "FFFFA500", "FFFF4B4B"


def _book(sheets: Mapping[str, Iterable[Iterable[Any]]]) -> Workbook:
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    return book


def _saved(book: Workbook, values: Mapping[str, float] | None = None) -> bytes:
    """The file; `values` are what a spreadsheet program would have computed for the formulas of the first sheet."""
    buffer = io.BytesIO()
    book.save(buffer)
    if not values:
        return without_times(buffer.getvalue())
    with zipfile.ZipFile(buffer) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    sheet = members["xl/worksheets/sheet1.xml"].decode()
    for cell, value in values.items():
        sheet = re.sub(rf'(<c r="{cell}"[^>]*><f>[^<]*</f>)<v\s*/?>(</v>)?', rf"\g<1><v>{value}</v>", sheet)
    members["xl/worksheets/sheet1.xml"] = sheet.encode()
    return without_times(packed(members))


def _fill(sheet: Worksheet, cell: str, colour: str) -> None:
    from openpyxl.styles import PatternFill

    sheet[cell].fill = PatternFill("solid", start_color=colour, end_color=colour)


@question(1, ".xlsx", tools="spreadsheet")
def orchard_harvest(draw: Draw) -> Made:
    """Take the rows of the variety. Multiply crates by kilograms per crate. Add up."""
    varieties = ["Boskoop", "Elstar", "Gravensteiner", "Topaz"]
    rows = [
        (
            date(2023, 8, 20) + timedelta(days=index // 2),
            draw.one(["Hillside", "Mill Lane", "Old Wall"]),
            draw.one(varieties),
            draw.number(3, 28),
            draw.one([12, 14, 15]),
        )
        for index in range(44)
    ]
    header = ("Date", "Orchard", "Variety", "Crates", "Kilograms per crate")
    answer = sum(crates * weight for _, _, variety, crates, weight in rows if variety == "Boskoop")
    text = (
        "The attached workbook lists what our orchards delivered. How many kilograms of the variety Boskoop were "
        "delivered in total (crates times kilograms per crate)? Give only the number."
    )
    return Made(text, answer, _saved(_book({"Deliveries": [header, *rows]})))


@question(1, ".xlsx", tools="spreadsheet")
def bird_count(draw: Draw) -> Made:
    """Add up the days of each species. Take the species with the highest total."""
    species = ["Blackcap", "Chiffchaff", "Dunnock", "Goldcrest", "Nuthatch", "Redstart", "Siskin", "Treecreeper"]
    rows = [(name, *[draw.number(0, 30) for _ in range(7)]) for name in species]
    answer = only_best({name: sum(counts) for name, *counts in rows})
    header = ("Species", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    text = (
        "The attached sheet holds a week of bird counts in our garden. Which species was counted most often over the "
        "whole week? Answer with its name as it is written in the sheet."
    )
    return Made(text, answer, _saved(_book({"Counts": [header, *rows]})))


@question(1, ".xlsx", tools="spreadsheet")
def spare_parts(draw: Draw) -> Made:
    """Find the hidden sheet. Add up its column Quantity."""
    parts = ["axle", "bearing", "bracket", "chain", "cog", "hinge", "latch", "pulley", "spring", "washer", "wheel"]
    sheets = {
        name: [("Part", "Shelf", "Quantity"), *[(part, draw.number(1, 9), draw.number(5, 120)) for part in parts]]
        for name in ("Stock", "Reserve", "Ordered")
    }
    book = _book(sheets)
    book["Reserve"].sheet_state = "hidden"
    answer = sum(int(row[2]) for row in sheets["Reserve"][1:])
    text = (
        "One of the sheets of the attached workbook is hidden. What is the sum of the column Quantity on the hidden "
        "sheet? Give only the number."
    )
    return Made(text, answer, _saved(book))


@question(1, ".xlsx", tools="spreadsheet")
def snack_orders(draw: Draw) -> Made:
    """Take the orders of pretzels. Form the mean of their units. Round it."""
    rows = [
        (
            1000 + n,
            draw.one(["pretzel", "waffle", "popcorn", "muffin"]),
            draw.number(1, 60),
            draw.one(["kiosk", "stand"]),
        )
        for n in range(60)
    ]
    units = [row[2] for row in rows if row[1] == "pretzel"]
    text = (
        "In the attached list of orders, what is the average number of units of an order of the product pretzel? Round "
        "to one decimal place and give only the number."
    )
    book = _book({"Orders": [("Order", "Product", "Units", "Place"), *rows]})
    return Made(text, f"{_rounded(sum(units), len(units), 1)}", _saved(book))


def _rounded(total: float, count: int, places: int) -> str:
    """The mean, for data where it lies on no border between two roundings."""
    mean = total / count
    scaled = mean * 10**places
    if abs(scaled - int(scaled) - 0.5) < 1e-6:
        raise ValueError(f"{mean} may be rounded either way: change the question")
    return f"{mean:.{places}f}"


@question(2, ".xlsx", tools="spreadsheet")
def workshop_tasks(draw: Draw) -> Made:
    """Read on the sheet Colours which colour means overdue.

    Find the rows whose task has that fill. Add up their hours.
    """
    colours = {"done": GREEN, "running": YELLOW, "overdue": ORANGE, "stopped": RED}
    words = ["Sand", "Varnish", "Glue", "Cut", "Drill", "Polish", "Repair", "Measure"]
    things = ["stool", "shelf", "cradle", "bench", "door", "frame", "drawer", "ladder"]
    rows = [
        (f"{draw.one(words)} {draw.one(things)}", draw.one(["Ada", "Ben", "Cho"]), draw.number(1, 9)) for _ in range(30)
    ]
    states = [draw.one(list(colours)) for _ in rows]
    book = _book({"Tasks": [("Task", "Who", "Hours"), *rows], "Colours": [("Meaning",)]})
    for index, (meaning, colour) in enumerate(colours.items(), 2):
        book["Colours"][f"A{index}"] = meaning
        _fill(book["Colours"], f"A{index}", colour)
    for index, state in enumerate(states, 2):
        _fill(book["Tasks"], f"A{index}", colours[state])
    answer = sum(row[2] for row, state in zip(rows, states, strict=True) if state == "overdue")
    text = (
        "In the attached workbook the fill colour of a task tells its state; the sheet Colours explains the colours. "
        "How many hours of work are in the tasks that are overdue? Give only the number."
    )
    return Made(text, answer, _saved(book))


@question(2, ".xlsx", tools="spreadsheet")
def room_bookings(draw: Draw) -> Made:
    """Read the merged cells. Count for each booking the hours that it spans. Add up per room. Take the largest."""
    rooms = ["Linden", "Maple", "Rowan", "Hazel", "Willow"]
    groups = ["choir", "chess club", "yoga", "council", "band", "theatre", "language class"]
    book = _book({"Plan": [("Room", *[f"{hour}:00" for hour in range(8, 20)]), *[(room,) for room in rooms]]})
    sheet = book["Plan"]
    hours: dict[str, int] = defaultdict(int)
    for row, room in enumerate(rooms, 2):
        column = 2
        while column <= 13:
            length = min(draw.number(1, 4), 14 - column)
            if draw.number(0, 2):
                sheet.cell(row, column, draw.one(groups))
                if length > 1:
                    sheet.merge_cells(start_row=row, end_row=row, start_column=column, end_column=column + length - 1)
                hours[room] += length
            column += length
    best = only_best(hours)
    text = (
        "In the attached plan each column stands for one hour. A booking fills one cell, or several merged cells when "
        "it takes longer than an hour. Which room is booked for the most hours, and for how many? Answer as: room, "
        "hours"
    )
    return Made(text, f"{best}, {hours[best]}", _saved(book))


@question(2, ".xlsx", tools="spreadsheet")
def budget_formulas(draw: Draw) -> Made:
    """Read the formulas. Find the row whose total is a typed number. Multiply its quantity by its price."""
    items = ["rope", "tarpaulin", "lantern", "stove", "kettle", "hammock", "compass", "whistle", "blanket", "mallet"]
    rows = [(item, draw.number(2, 12), draw.number(3, 40)) for item in items]
    typed = draw.number(2, len(items))
    book = _book({"Budget": [("Item", "Quantity", "Unit price", "Total"), *rows]})
    values = {}
    for index, (_, quantity, price) in enumerate(rows, 2):
        if index == typed + 1:
            book["Budget"][f"D{index}"] = quantity * price + 10
        else:
            book["Budget"][f"D{index}"] = f"=B{index}*C{index}"
            values[f"D{index}"] = quantity * price
    item, quantity, price = rows[typed - 1]
    text = (
        "In the attached budget every Total should be a formula, but in one row somebody typed a wrong number over it. "
        "Which item is it, and what is its right total (quantity times unit price)? Answer as: item, total"
    )
    return Made(text, f"{item}, {quantity * price}", _saved(book, values))


@question(2, ".xlsx", tools="spreadsheet")
def night_shifts(draw: Draw) -> Made:
    """Take the rows of the person. Form end minus start, with a day added where the end is earlier. Add up."""
    rows = []
    for index in range(36):
        start, end = draw.number(72, 95) * 15, draw.number(8, 28) * 15
        rows.append(
            (
                draw.one(["Vera", "Milan", "Odette", "Hanno"]),
                date(2024, 3, 1) + timedelta(days=index // 3),
                time(start // 60, start % 60),
                time(end // 60, end % 60),
            )
        )
    minutes = sum(
        (b.hour * 60 + b.minute - a.hour * 60 - a.minute) % 1440 for name, _, a, b in rows if name == "Odette"
    )
    text = (
        "The attached sheet lists the shifts of a lighthouse. Every shift ends on the day after it began. How many "
        "minutes did Odette work in total? Give only the number."
    )
    return Made(text, minutes, _saved(_book({"Shifts": [("Name", "Date", "Start", "End"), *rows]})))


@question(2, ".xlsx", tools="spreadsheet")
def grant_comments(draw: Draw) -> Made:
    """Read the comments on the amounts. Take those that Ines approved. Add up the amounts."""
    from openpyxl.comments import Comment

    projects = [
        "Bat boxes",
        "Bee hotel",
        "Bike rack",
        "Book swap",
        "Fish ladder",
        "Hedge",
        "Pond",
        "Reading tent",
        "Stage",
    ]
    rows = [(name, draw.number(4, 60) * 25) for name in projects]
    book = _book({"Grants": [("Project", "Amount"), *rows]})
    total = 0
    for index, (_, amount) in enumerate(rows, 2):
        who, verdict = draw.one(["Ines", "Ruben"]), draw.one(["Approved", "Approved", "Refused"])
        book["Grants"][f"B{index}"].comment = Comment(f"{verdict} by {who}", who)
        total += amount if (who, verdict) == ("Ines", "Approved") else 0
    text = (
        "In the attached list a comment on each amount says who approved or refused it. What is the sum of the amounts "
        "that Ines approved? Give only the number."
    )
    return Made(text, total, _saved(book))


@question(2, ".xlsx", tools="spreadsheet")
def ferry_tickets(draw: Draw) -> Made:
    """Look up the price of each sale by route and class. Multiply by the tickets. Add up for the route."""
    prices = [
        (route, kind, draw.number(8, 60) / 2) for route in ("North", "South", "Islands") for kind in ("foot", "car")
    ]
    sales = [
        (
            date(2024, 6, 1 + index // 3),
            draw.one(["North", "South", "Islands"]),
            draw.one(["foot", "car"]),
            draw.number(1, 80),
        )
        for index in range(60)
    ]
    of = {(route, kind): price for route, kind, price in prices}
    revenue = sum(count * of[route, kind] for _, route, kind, count in sales if route == "Islands")
    sheets = {
        "Sales": [("Date", "Route", "Class", "Tickets"), *sales],
        "Prices": [("Route", "Class", "Price"), *prices],
    }
    text = (
        "The attached workbook holds ticket sales of a ferry and, on a sheet of its own, the price of a ticket by "
        "route and class. How much was earned on the route Islands? Give the number with two decimal places."
    )
    return Made(text, f"{revenue:.2f}", _saved(_book(sheets)))


@question(3, ".xlsx", tools="spreadsheet")
def warehouse_audit(draw: Draw) -> Made:
    """Leave out the hidden rows.

    Leave out the articles with a red fill. Add what was received. Multiply by the price. Add up.
    """
    codes = [f"K{number}" for number in draw.some(range(100, 999), 18)]
    stock = [(code, draw.number(1, 6), draw.number(4, 50)) for code in codes]
    received = [(draw.one(codes), draw.number(1, 20)) for _ in range(14)]
    prices = [(code, draw.number(2, 30)) for code in draw.shuffled(codes)]
    hidden, red = draw.some(range(18), 4), draw.some(range(18), 5)
    book = _book(
        {
            "Stock": [("Article", "Shelf", "Pieces"), *stock],
            "Received": [("Article", "Pieces"), *received],
            "Prices": [("Article", "Price")],
        }
    )
    for code, price in prices:
        book["Prices"].append((code, price))
    for index in red:
        _fill(book["Stock"], f"A{index + 2}", RED)
    for index in hidden:
        book["Stock"].row_dimensions[index + 2].hidden = True
    kept = {code: pieces for index, (code, _, pieces) in enumerate(stock) if index not in {*hidden, *red}}
    for code, pieces in received:
        if code in kept:
            kept[code] += pieces
    of = dict(prices)
    text = (
        "On the sheet Stock of the attached workbook, rows that are hidden have been sold, and articles whose cell in "
        "column A is filled red are damaged: leave both out. To the pieces of the articles that remain add the pieces "
        "that the sheet Received lists for them. What are all these pieces worth together at the prices of the sheet "
        "Prices? Give only the number."
    )
    return Made(text, sum(pieces * of[code] for code, pieces in kept.items()), _saved(book))


@question(1, ".ods", tools="spreadsheet")
def boat_rental(draw: Draw) -> Made:
    """Take the rows of the boat. Add up the hours."""
    boats = ["Heron", "Otter", "Perch", "Swallow"]
    rows = [(f"2023-07-{1 + n // 2:02}", draw.one(boats), draw.number(1, 8)) for n in range(40)]
    text = (
        "According to the attached sheet, for how many hours was the boat Otter rented out in total? Give only "
        "the number."
    )
    content = opendocument({"Rentals": [("Date", "Boat", "Hours"), *rows]})
    return Made(text, sum(hours for _, boat, hours in rows if boat == "Otter"), content)


@question(2, ".ods", tools="spreadsheet")
def choir_fees(draw: Draw) -> Made:
    """Add up the payments of each member. Compare with the fee of the member's group. Sort the names."""
    names = ["Alma", "Bruno", "Clara", "Dario", "Edda", "Fritz", "Greta", "Hugo", "Ilse", "Jonas"]
    fees = {"adult": 60, "student": 36}
    members = [(name, draw.one(list(fees))) for name in draw.shuffled(names)]
    owing = set(draw.some(names, 3))
    payments = []
    for name, group in members:
        first = draw.number(2, 5) * 6
        rest = fees[group] - first - (6 if name in owing else 0)
        payments += [(name, part) for part in (first, rest) if part > 0]
    sheets = {
        "Members": [("Name", "Group"), *members],
        "Payments": [("Name", "Euro"), *draw.shuffled(payments)],
        "Fees": [("Group", "Fee"), *fees.items()],
    }
    text = (
        "The attached workbook lists the members of a choir, what they paid, and the fee of each group. Which members "
        "have paid less than their fee? Give their names in alphabetical order, separated by commas."
    )
    return Made(text, ", ".join(sorted(owing)), opendocument(sheets))
