"""Every worked example of a program over files runs on small data such as it is told, and prints the answer."""

import ast
import re
import xml.etree.ElementTree as ET

import pandas as pd
import pytest

from agent.small.programs.examples import SHOWN, nearest
from agent.small.programs.inside.telling import tell
from mcp_tools.prompt import load_prompt

LONGEST = 900
TURNS = load_prompt("agent.small", "file_examples").turns
EXAMPLES = [(user, code) for (_, user), (_, code) in zip(TURNS[::2], TURNS[1::2], strict=True)]


def table(columns, *rows):
    """Rows below the names of their columns; columns named after days or moments hold these."""
    frame = pd.DataFrame(list(rows), columns=columns.split("|"))
    for column in frame.columns.intersection(["Day", "Sent", "Arrived", "In", "Out"]):
        frame[column] = pd.to_datetime(frame[column])
    return frame


def days(first, column, values):
    return pd.DataFrame({"Day": pd.date_range(first, periods=len(values)), column: values})


def rides(*fares):
    return [dict(zip(("from", "to", "fare"), fare, strict=True)) for fare in fares]


NURSERY = """<nursery>
<bed place="north"><plant year="2019"><name>Quince</name><height unit="m">1.90</height></plant>
<plant year="2020"><name>Medlar</name><height unit="m">1.40</height></plant>
<plant year="2022"><name>Sloe</name><height unit="m">0.30</height></plant></bed>
<bed place="south"><plant year="2018"><name>Fig</name><height unit="m">3.10</height></plant></bed>
</nursery>"""

PUMPS = """2024-05-02 08:00:00 INFO pump P1 started
2024-05-02 08:10:00 INFO pump P2 started
2024-05-02 08:20:41 WARN valve V1 slow
2024-05-02 08:30:00 INFO pump P1 stopped
2024-05-02 09:00:00 INFO pump P2 stopped
2024-05-02 23:50:00 INFO pump P1 started
2024-05-03 00:20:00 INFO pump P1 stopped
2024-05-03 05:00:00 INFO pump P1 started
"""

ELK = "Cabin: Elk\nBeds: 6\nOn the lake\nPrice: 90\n"

DESK = {
    "name": "desk",
    "parts": [
        {"name": "drawer", "pieces": 3, "parts": [{"name": "screw", "pieces": 8}, {"name": "knob", "pieces": 1}]},
        {"name": "screw", "pieces": 6},
    ],
}

FERRY = pd.DataFrame({"Date": pd.date_range("2023-06-25", "2023-09-03")}).assign(
    Passengers=lambda trips: 10 + 5 * (trips["Date"].dt.day_name() == "Sunday") + 900 * (trips["Date"].dt.month == 6)
)

CASES = {
    "which guide led the most": (
        {
            "spring": table("Guide|Guests", ("Ada", 9), ("Ben", 11), ("Ada", 3)),
            "autumn": table("Guide|Guests", ("Cleo", 12), ("Ada", 4)),
        },
        "Ada, 16",
    ),
    "what one customer has to pay": (
        {
            "orders": table(
                "Customer|Garment|Size|Pieces", ("Novak", "shirt", "S", 2), ("Lind", "coat", "M", 1),
                ("Novak", "shirt", "M", 3), ("Novak", "coat", "M", 1),
            ),
            "prices": table(
                "Garment|Size|Price (€)", ("shirt", "S", 10.5), ("shirt", "M", 12.2), ("coat", "M", 80.0)
            ),
        },
        "137.60",
    ),
    "days that parcels took": (
        {
            "table": table(
                "Country|Sent|Arrived", ("Norway", "2023-01-03 08:00", "2023-01-05 20:00"),
                ("Norway", "2023-02-01 08:00", "2023-02-02 08:00"), ("Norway", "2023-03-01 08:00", None),
                ("Chile", "2023-01-03 08:00", "2023-01-25 08:00"),
            )
        },
        "1.8",
    ),
    "hours of shifts over midnight": (
        {
            "table": table(
                "Nurse|Begin|End", ("Lena", "22:00", "06:15"), ("Omar", "06:30", "14:30"),
                ("Lena", "14:15", "18:30"), ("Omar", "23:45", "00:15"),
            )
        },
        "Lena, 12.5",
    ),
    "busiest day of the week in summer": ({"table": FERRY}, "Sunday"),
    "weights with units": (
        {
            "table": table(
                "Ingredient|Kind|Amount", ("flour", "dry", "2 kg"), ("rice", "dry", "350 g"),
                ("butter", "cold", "250 g"), ("oats", "dry", "1.5 kg"),
            )
        },
        "3.85",
    ),
    "tenants who wrote about the lift": (
        {
            "table": table(
                "Tenant|Message", ("Abel", "The lift is stuck again"), ("Abel", "Lift, still!"),
                ("Cho", "Both lifts stop"), ("Brandt", "A shoplifter in the yard"), ("Diaz", None),
            )
        },
        "2",
    ),
    "largest rise from day to day": (
        {"table": days("2024-03-01", "Level (cm)", [101.2, 113.5, 110.0, 125.1, 120.4]).iloc[::-1]},
        "2024-03-04, 15.1",
    ),
    "longest dry spell": ({"table": days("2024-01-01", "Rain (mm)", [0.0, 0, 2.5, 0, 0, 0, 1, 0, 0])}, "3"),
    "when a running total is reached": (
        {
            "table": table(
                "Date|Donation", ("14/02/2024", 900.0), ("03/01/2024", 2500.0), ("28/01/2024", 2400.0),
                ("02/03/2024", 900.0), ("05/02/2024", 100.0),
            )
        },
        "05/02/2024",
    ),
    "most cars at the same time": (
        {
            "table": table(
                "Plate|In|Out", ("KB 204", "2024-06-01 06:00", "2024-06-01 08:00"),
                ("LM 77", "2024-06-01 07:00", "2024-06-01 09:00"), ("TR 901", "2024-06-01 08:00", "2024-06-01 10:00"),
            )
        },
        "2",
    ),
    "invoices with a wrong amount": (
        {
            "table": table(
                "Invoice|Pieces|Unit price|Amount", (7001, 3, 0.1, 0.3), (7002, 4, 0.85, 3.8), (7003, 2, 61.5, 123.0),
                (7004, 1, 9.99, 9.90),
            )
        },
        "7002, 7004",
    ),
    "faster than the own club": (
        {
            "table": table(
                "Runner|Club|Seconds", ("Yusuf", "Comet", 700.0), ("Ines", "Delta", 640.5), ("Karl", "Comet", 720.0),
                ("Olga", "Delta", 650.5),
            )
        },
        "Ines, Yusuf",
    ),
    "best month of an orchard": (
        {"table": table("Orchard|Jun|Jul|Aug|Sep", ("Hill", 40, 120, 95, 380), ("Brook", 50, 655, 402, 12))},
        "Brook, Jul",
    ),
    "children on at least two days": (
        {
            "table": table(
                "Child|2024-03-04|2024-03-05|2024-03-06", ("Ana", "x", None, "x"), ("Bilal", None, "x", None),
                ("Chen", "x", "x", "x"), ("Dina", None, None, None),
            )
        },
        "2",
    ),
    "highest rise of a price": (
        {
            "last_year": table("Code|Price", ("T-100", 10.0), ("T-104", 96.0), ("T-110", 1.2)),
            "this_year": table("Code|Price", ("T-104", 99.0), ("T-100", 12.5), ("T-105", 3.0)),
        },
        "T-100, 25.0",
    ),
    "what is left of a delivery": (
        {
            "lines": table(
                "label|number|unit", ("Candles", 78, "boxes"), ("Soap", 60, "boxes"), ("Lamp oil", 29, "bottles")
            ),
            "sales": table("Item|Sold", ("Soap", 15), ("Candles", 15), ("Candles", 22)),
        },
        "Soap, 45",
    ),
    "members who have not paid": (
        {
            "members": table("No|Name", (101, "Greta"), (102, "Hugo"), (103, "Ilse")),
            "payments": table("Member|Year", (101, 2023), (102, 2024), (103, 2022)),
        },
        "Greta, Ilse",
    ),
    "plots of a legend's colour": (
        {
            "cells": table(
                "sheet|address|row|value|fill", ("Plots", "A1", 1, "A-1", "green"), ("Plots", "B1", 1, "A-2", ""),
                ("Plots", "A2", 2, "A-3", "red"), ("Plots", "B2", 2, None, "red"),
                ("Legend", "A1", 1, None, "green"), ("Legend", "B1", 1, "free", ""),
                ("Legend", "A2", 2, None, "red"), ("Legend", "B2", 2, "sold", ""),
            )
        },
        "2",
    ),
    "hours of merged cells": (
        {
            "cells": table(
                "row|column|header|value|row_name|merged_columns", (1, 1, "Room", "Room", "Room", 1),
                (1, 2, "8:00", "8:00", "Room", 1), (2, 1, "Room", "Hall", "Hall", 1), (2, 2, "8:00", "yoga", "Hall", 3),
                (3, 1, "Room", "Attic", "Attic", 1), (3, 2, "8:00", "chess", "Attic", 1),
                (3, 3, "9:00", "choir", "Attic", 1),
            )
        },
        "Hall, 3",
    ),
    "machines by their comments": (
        {
            "cells": table(
                "address|header|value|comment|row_name", ("A1", "Machine", "Machine", "", "Machine"),
                ("A2", "Machine", "Lathe 1", "Oil leak", "Lathe 1"), ("C3", "Checked", "May", "belt worn", "Lathe 2"),
                ("C4", "Checked", "June", "Belt is nearly worn, replace", "Saw"), ("B4", "Hall", "N", "", "Saw"),
            )
        },
        "Lathe 2, Saw",
    ),
    "sums without a formula": (
        {
            "cells": table(
                "address|row|header|value|formula", ("A1", 1, "Stall", "Stall", ""), ("D1", 1, "Sum", "Sum", ""),
                ("A2", 2, "Stall", "S1", ""), ("D2", 2, "Sum", 70, "=B2+C2"), ("D3", 3, "Sum", 82, ""),
            )
        },
        "D3",
    ),
    "hours of the rows that show": (
        {
            "cells": table(
                "row|header|value|hidden", (1, "Task", "Task", False), (1, "Hours", "Hours", False),
                (2, "Hours", 4, False), (3, "Hours", 9, True), (4, "Task", "paint", False), (4, "Hours", 3, False),
            )
        },
        "7",
    ),
    "most frequent long word": (
        {"text": "Lanterns, lanterns!\nThe keeper counted the lanterns; the keeper counted the stairs."},
        "lanterns, 3",
    ),
    "longest running pump": ({"text": PUMPS}, "P1"),
    "cheapest large cabin": (
        {"text": "\n\n".join(["Cabin: Pine\nBeds: 4\nPrice: 95.00", "Cabin: Otter\nBeds: 2\nPrice: 40", ELK])},
        "Elk",
    ),
    "screws in all parts": ({"data": [{"name": "shelf", "parts": []}, DESK]}, "30"),
    "lowest fare": (
        {
            "data": {
                "currency": "crowns",
                "rides": rides(
                    ("Harbour", "Market", 3), ("Market", "Airport", 9), ("Harbour", "Airport", 14),
                    ("Market", "Harbour", 1), ("Market", "Mill", 2), ("Mill", "Airport", 4),
                ),
            }
        },
        "9",
    ),
    "average height in one bed": ({"root": ET.fromstring(NURSERY)}, "1.65"),
    "pages that mention a word": (
        {"text": "…", "pages": ["The Drawbridge of 1402", "Two towers", "below the drawbridge", "drawbridges"]},
        "1, 3",
    ),
    "unticked under a heading": (
        {"items": table("heading|item|ticked", ("Tents", "pole", True), ("Tents", "pegs", False), ("Oil", "x", False))},
        "1",
    ),
    "lines added up": (
        {
            "lines": table("label|number|unit", ("Monday", 41, "guests"), ("Tuesday", 12, "guests")),
            "text": "The week at the inn\nMonday: 41 guests",
            "pages": ["The week", "Monday: 41 guests"],
        },
        "53",
    ),
    "parts of parts in a table": (
        {
            "table": table(
                "thing|part|pieces", ("crane", "arm", 2), ("crane", "bolt", 5), ("arm", "bolt", 4), ("arm", "rope", 1)
            )
        },
        "39",
    ),
}  # fmt: skip
PAIRS = list(zip(EXAMPLES, CASES.values(), strict=True))


def program(answer):
    return re.fullmatch(r"```python\n(.+)\n```", answer, re.DOTALL)[1]


def told(block):
    """Of each variable that is told its type, or of a table the kind of each column."""
    found = {}
    for line in block.splitlines():
        if named := re.match(r"(\w+): (DataFrame|str|list|dict|xml\S+)\b", line):
            name, kind = named.groups()
            found[name] = {} if kind == "DataFrame" else kind
        elif column := re.match(r"  ('[^']+'): (\w+)", line):
            found[name][ast.literal_eval(column[1])] = column[2]
    return found


def test_there_are_enough_and_all_differ():
    assert 26 <= len(EXAMPLES) <= 40
    assert len({program(code) for _, code in EXAMPLES}) == len(EXAMPLES) == len(CASES)
    assert [role for role, _ in TURNS] == ["user", "assistant"] * len(EXAMPLES)


@pytest.mark.parametrize(("user", "answer"), EXAMPLES, ids=CASES)
def test_an_example_is_short_and_in_form(user, answer):
    assert len(user) + len(answer) <= LONGEST
    assert re.fullmatch(r'<data source="variables">\n.+\n</data>\n[^\n]+[.?]', user, re.DOTALL)
    source = program(answer)
    assert 1 <= len([line for line in source.splitlines() if line]) <= 9
    assert "#" not in source
    ast.parse(source)


@pytest.mark.parametrize(("example", "case"), PAIRS, ids=CASES)
def test_the_data_is_told_as_for_a_real_question(example, case):
    (user, _), (variables, _) = example, case
    assert told(user.partition("</data>")[0]) == told(tell(variables))


@pytest.mark.parametrize(("example", "case"), PAIRS, ids=CASES)
def test_a_program_prints_the_answer(example, case, capsys):
    (_, answer), (variables, printed) = example, case
    copies = {name: value.copy() if hasattr(value, "columns") else value for name, value in variables.items()}
    exec(program(answer), copies)
    assert capsys.readouterr().out.strip() == printed


@pytest.mark.parametrize(
    ("variables", "question", "wanted"),
    [
        (
            {"table": table("Plan|Mon|Tue", ("Ann", "x", "x"))},
            "How many children came on at least three of the days?",
            '"x"',
        ),
        ({"data": DESK}, "How many bolts does one crane need, with those in its parts?", "def count"),
        ({"pages": ["a", "b"]}, "On which pages is the mill mentioned?", "enumerate"),
    ],
)
def test_the_nearest_example_is_shown_last(variables, question, wanted):
    messages = nearest(tell(variables), question)
    assert [message["role"] for message in messages] == ["user", "assistant"] * (len(messages) // 2)
    assert 2 <= len(messages) <= 2 * SHOWN
    assert wanted in messages[-1]["content"]


@pytest.mark.parametrize(("user", "answer"), EXAMPLES, ids=CASES)
def test_an_example_is_nearest_to_its_own_question(user, answer):
    told, _, question = user.partition("\n")[2].partition("\n</data>\n")
    assert nearest(told, question)[-1]["content"] == answer


@pytest.mark.parametrize("question", ["?!", "Zyxwv uvwxyz!"])
def test_what_is_like_no_example_is_shown_none(question):
    assert nearest("", question) == []
