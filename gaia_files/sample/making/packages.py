"""Questions with archives, mails and electronic books: files within files."""

from __future__ import annotations

import json
from email.message import EmailMessage

from making.containers import epub, packed
from making.question import Draw, Made, question


@question(1, ".zip", tools="archive reader")
def expedition_notes(draw: Draw) -> Made:
    """Open the archive. Find the note about the broken sledge. Read the height of the camp."""
    camps = draw.shuffled(["the river", "a frozen lake", "two pines", "the black rock", "an old hut"])
    broken = draw.number(0, 4)
    heights = draw.some(range(310, 1980), 5)
    members = {}
    for number, (camp, height) in enumerate(zip(camps, heights, strict=True)):
        event = "The sledge broke today." if number == broken else "A quiet day."
        members[f"notes/day{number + 1}.txt"] = f"Camp at {camp}, {height} metres above the sea.\n{event}\n"
    text = (
        "The attached archive holds notes of five days. How many metres above the sea was the camp on the day when the "
        "sledge broke? Give only the number."
    )
    return Made(text, heights[broken], packed(members))


@question(2, ".zip", tools="archive reader, code")
def parcel_stations(draw: Draw) -> Made:
    """Open the archive and the archives in it. Read all tables. Add up the parcels."""
    total = 0
    outer: dict[str, bytes | str] = {"readme.txt": "One archive per region, one table per station."}
    for region in ("coast", "hills", "plain"):
        members: dict[str, bytes | str] = {}
        for station in range(1, draw.number(2, 4) + 1):
            rows = [(day, draw.number(0, 60)) for day in ("Mon", "Tue", "Wed", "Thu", "Fri")]
            total += sum(count for _, count in rows)
            table = "day,parcels\n" + "".join(f"{day},{count}\n" for day, count in rows)
            if station == 2:
                members["more.zip"] = packed({f"station{station}.csv": table})
            else:
                members[f"station{station}.csv"] = table
        outer[f"{region}.zip"] = packed(members)
    text = (
        "The attached archive holds archives with tables of parcels, some of them within further archives. How many "
        "parcels are in all the tables together? Give only the number."
    )
    return Made(text, total, packed(outer))


@question(3, ".zip", tools="archive reader, code")
def glass_workshop(draw: Draw) -> Made:
    """Read the rules.

    Read prices and orders. Apply the discount by quantity. Add the cost of transport. Add up for the customer.
    """
    goods = ["bowl", "vase", "goblet", "lamp", "bead"]
    prices = {name: draw.number(3, 60) * 100 for name in goods}
    orders = [(draw.one(["Ahrens", "Beck", "Castell"]), draw.one(goods), draw.number(1, 24)) for _ in range(40)]
    total = 0
    for who, what, count in orders:
        if who == "Beck":
            value = count * prices[what]
            total += value * 85 // 100 if count >= 12 else value
            total += 450 if what in {"vase", "lamp"} else 0
    rules = (
        "Prices are in cents a piece.\nAn order of 12 pieces or more is 15 percent cheaper.\n"
        "Each order of vases or lamps costs 450 cents more for transport, whatever its size.\n"
    )
    table = "customer;article;pieces\n" + "".join(f"{who};{what};{count}\n" for who, what, count in orders)
    members = {"rules.txt": rules, "data/prices.json": json.dumps(prices), "data/orders.csv": table}
    text = (
        "The attached archive holds the price list, the orders and the rules of a glass workshop. What do all orders "
        "of the customer Beck cost together, in cents? Give only the number."
    )
    return Made(text, total, packed(members))


def _mail(subject: str, body: str, *, cc: str = "") -> EmailMessage:
    mail = EmailMessage()
    mail["From"] = "Wanda Petri <wanda@example.org>"
    mail["To"] = "Board <board@example.org>"
    if cc:
        mail["Cc"] = cc
    mail["Date"] = "Tue, 05 Mar 2024 09:12:00 +0100"
    mail["Subject"] = subject
    mail.set_content(body)
    return mail


@question(1, ".eml", tools="mail reader")
def garden_invitation(draw: Draw) -> Made:
    """Read the line Cc of the mail. Count the addresses."""
    names = ["arne", "bodil", "clemens", "doris", "edgar", "fatma", "gunnar", "helga", "ivo", "janne"]
    people = draw.some(names, draw.number(5, 8))
    cc = ", ".join(f"{name.title()} <{name}@example.org>" for name in people)
    mail = _mail(
        "Planting day – 16 March", "Dear all,\n\nbring gloves. Three of you also bring a spade.\n\nWanda\n", cc=cc
    )
    text = "How many people got a copy (Cc) of the attached mail? Give only the number."
    return Made(text, len(people), mail.as_bytes())


@question(3, ".eml", tools="mail reader, code")
def bicycle_repairs(draw: Draw) -> Made:
    """Read the mail and its attached table.

    Leave out the rows that the mail takes back. Add the flat charge. Add up.
    """
    rows = [(f"R{n}", draw.one(["brake", "chain", "light", "tyre"]), draw.number(8, 75)) for n in range(1, 41)]
    gone = draw.some([row[0] for row in rows], 3)
    body = (
        f"Dear Board,\n\nthe repairs of February are attached. Please leave out {gone[0]}, {gone[1]} and {gone[2]}: we "
        "did them for nothing.\nAnd each repair of a brake costs 4 euros more than the table says.\n\nWanda\n"
    )
    total = sum(euro + (4 if what == "brake" else 0) for name, what, euro in rows if name not in gone)
    mail = _mail("Repairs", body)
    table = "repair,part,euro\n" + "".join(f"{name},{what},{euro}\n" for name, what, euro in rows)
    mail.add_attachment(table.encode(), maintype="text", subtype="csv", filename="repairs.csv")
    mail.set_boundary("=-sample-boundary")
    text = (
        "Following what the attached mail says and the table attached to it, how many euros do all the repairs cost? "
        "Give only the number."
    )
    return Made(text, total, mail.as_bytes())


@question(1, ".epub", tools="book reader")
def winter_tales(draw: Draw) -> Made:
    """Look for the clockmaker in the chapters. Give the title of the chapter."""
    titles = draw.shuffled(
        ["The Empty Chair", "Snow on the Stairs", "A Borrowed Coat", "Seven Bells", "The Long Table"]
    )
    people = draw.shuffled(["a baker", "a clockmaker", "a postman", "a widow", "a sailor"])
    chapters = {
        title: [f"That evening {person} came to the village.", "Nobody asked why.", "In the morning the fire was out."]
        for title, person in zip(titles, people, strict=True)
    }
    text = (
        "In which chapter of the attached book does a clockmaker come to the village? Answer with the title of "
        "the chapter."
    )
    return Made(text, titles[people.index("a clockmaker")], epub("Winter Tales", chapters))


@question(2, ".epub", tools="book reader, code")
def ship_diary(draw: Draw) -> Made:
    """Read the miles of each day in all chapters. Leave out the days in harbour. Take the mean and round it."""
    chapters, miles = {}, []
    for week in range(1, 6):
        paragraphs = []
        for day in range(1, 8):
            if draw.number(0, 4) == 0:
                paragraphs.append(f"Day {day}. We lay in harbour.")
                continue
            miles.append(draw.number(20, 190))
            paragraphs.append(f"Day {day}. We sailed {miles[-1]} miles with a fair wind.")
        chapters[f"Week {week}"] = paragraphs
    assert (sum(miles) * 100 / len(miles)) % 10 != 5
    text = (
        "According to the attached diary, how many miles did the ship sail on average on the days on which it sailed? "
        "Round to one decimal place and give only the number."
    )
    return Made(text, f"{sum(miles) / len(miles):.1f}", epub("Diary of the Calliope", chapters))
