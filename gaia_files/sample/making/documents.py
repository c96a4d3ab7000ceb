"""Questions with PDF, Word and PowerPoint files."""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Sequence

from making.containers import pdf, without_times
from making.drawing import page_of_lines
from making.question import Draw, Made, only_best, question


@question(1, ".pdf", tools="PDF reader")
def lighthouse_guide(draw: Draw) -> Made:
    """Find the page that tells of a red door. Count the pages from the first one."""
    names = draw.shuffled(
        ["Cape Orrin", "Gull Rock", "Long Sands", "Merrow Point", "North Skerry", "Pellan", "Tern Island"]
    )
    colours = draw.shuffled(["green", "blue", "yellow", "red", "white", "black", "brown"])
    pages = [["A small guide to lighthouses", "", "Seven towers, one page each."]]
    for name, colour in zip(names, colours, strict=True):
        height = draw.number(14, 52)
        pages.append([name, "", f"The tower is {height} metres high.", f"Visitors come in by a {colour} door."])
    text = (
        "On which page of the attached PDF is the lighthouse that visitors enter by a red door? Count the first page "
        "of the file as page 1 and answer with the number only."
    )
    return Made(text, colours.index("red") + 2, pdf(pages))


@question(2, ".pdf", tools="PDF reader, code")
def seed_catalogue(draw: Draw) -> Made:
    """Read the list on all pages. Take the perennial plants. Form the mean of their prices."""
    plants = [
        "Aster",
        "Borage",
        "Catnip",
        "Dill",
        "Elecampane",
        "Fennel",
        "Gentian",
        "Hyssop",
        "Iris",
        "Lovage",
        "Mallow",
    ]
    plants += ["Nigella", "Orach", "Poppy", "Quince", "Rue", "Sage", "Tansy", "Valerian", "Woad", "Yarrow", "Zinnia"]
    kinds = [draw.one(["annual", "perennial"]) for _ in plants]
    prices = [draw.number(110, 690) for _ in plants]
    lines = [f"{p} - {k} - {c // 100}.{c % 100:02} euro" for p, k, c in zip(plants, kinds, prices, strict=True)]
    pages = [["Seeds, page 1 of 3", "", *lines[:8]], ["Seeds, page 2 of 3", "", *lines[8:16]]]
    pages.append(["Seeds, page 3 of 3", "", *lines[16:]])
    total = sum(cents for kind, cents in zip(kinds, prices, strict=True) if kind == "perennial")
    text = (
        "The attached catalogue lists seeds over several pages. What do one packet each of all perennial plants cost "
        "together, in euros? Give the number with two decimal places."
    )
    return Made(text, f"{total / 100:.2f}", pdf(pages))


@question(2, ".pdf", tools="PDF reader, text recognition")
def delivery_note(draw: Draw) -> Made:
    """Find the page that is a picture. Read its text. Add up the boxes."""
    goods = ["Candles", "Lamp oil", "Matches", "Soap", "Towels", "Vinegar"]
    boxes = [draw.number(11, 88) for _ in goods]
    lines = [
        "DELIVERY NOTE",
        "",
        *[f"{name}: {count} boxes" for name, count in zip(goods, boxes, strict=True)],
        "",
        "Thank you",
    ]
    cover = [
        "Dear Ms Arden,",
        "",
        "the next page is a scan of the delivery note of Monday.",
        "We count 200 boxes.",
        "",
        "Tom",
    ]

    def content() -> bytes:
        return pdf([cover, page_of_lines(lines)])

    text = (
        "The second page of the attached PDF is a scanned delivery note. How many boxes are on it altogether, adding "
        "up its lines? Give only the number."
    )
    return Made(text, sum(boxes), content, recipe=repr((cover, lines)))


@question(2, ".pdf", tools="PDF reader")
def boat_handbook(draw: Draw) -> Made:
    """Find the page on which the section begins. Count the pages of the file. Read the printed number at its foot."""
    sections = ["Rigging", "Sails", "Engine", "Anchoring", "Winter storage", "Paint", "Knots"]
    order = draw.shuffled(sections[:3]) + draw.shuffled(sections[3:])
    start = draw.number(31, 47)
    pages = [
        ["The boat handbook", "", "Part two"],
        ["This page is left blank", "", "i"],
        ["Preface", "", "To be read first.", "", "ii"],
    ]
    place = 0
    for section in order:
        for part in range(draw.number(1, 2)):
            printed = start + len(pages) - 3
            if section == "Winter storage" and not part:
                place = len(pages) + 1
            head = section if not part else f"({section}, continued)"
            also = "See also Winter storage." if section == "Paint" else "Work slowly."
            pages.append([head, "", f"What to know about {section.lower()}.", also, "", "", f"{printed}"])
    text = (
        "In the attached PDF the page numbers printed at the foot of the pages are not those of the file. On which "
        "page of the file (the first being page 1) does the section Winter storage begin, and which number is printed "
        "there? Answer as: page of the file, printed number"
    )
    return Made(text, f"{place}, {start + place - 4}", pdf(pages))


def _word(parts: Sequence[str | list[Sequence[object]]], header: str = "") -> bytes:
    """A Word file of headings (`# …`), paragraphs and tables."""
    from docx import Document

    document = Document()
    document.sections[0].header.paragraphs[0].text = header
    for part in parts:
        if isinstance(part, str):
            if part.startswith("# "):
                document.add_heading(part[2:], 1)
            else:
                document.add_paragraph(part)
            continue
        table = document.add_table(rows=0, cols=len(part[0]))
        for row in part:
            for cell, value in zip(table.add_row().cells, row, strict=True):
                cell.text = str(value)
    buffer = io.BytesIO()
    document.save(buffer)
    return without_times(buffer.getvalue())


@question(1, ".docx", tools="Word reader")
def rowing_club_minutes(draw: Draw) -> Made:
    """Find who was first to take over the boathouse. Find the later change. Answer with the new name."""
    people = draw.shuffled(["Agnes", "Bela", "Corin", "Dorte", "Emil"])
    parts = [
        "# Minutes of the rowing club",
        f"Present: {', '.join(people)}.",
        "# Boats",
        f"{people[0]} mends the oars until May. {people[1]} orders two life jackets.",
        "# Boathouse",
        f"{people[2]} offered to repaint the boathouse.",
        "# Festival",
        f"{people[3]} asks three bands. Since {people[2]} will be away, {people[4]} repaints the boathouse instead.",
        "# Close",
        f"The next meeting is led by {people[1]}.",
    ]
    text = (
        "According to the attached minutes, who will in the end repaint the boathouse? Answer with the first name only."
    )
    return Made(text, people[4], _word(parts, header="Minutes"))


@question(2, ".docx", tools="Word reader, code")
def herb_garden_report(draw: Draw) -> Made:
    """Read the tables of both years. Form the difference for each herb. Take the largest growth."""
    herbs = ["basil", "chervil", "cress", "marjoram", "oregano", "parsley", "savory", "thyme"]
    before = {herb: draw.number(20, 90) for herb in herbs}
    after = {herb: draw.number(20, 110) for herb in herbs}
    growth = {herb: after[herb] - before[herb] for herb in herbs}
    parts: list[str | list[Sequence[object]]] = [
        "# The herb garden in two years",
        "We counted the pots in the spring of 2022.",
        [("Herb", "Pots"), *before.items()],
        "A year later we counted again, in another order.",
        [("Herb", "Pots"), *((herb, after[herb]) for herb in draw.shuffled(herbs))],
    ]
    best = only_best(growth)
    text = (
        "The attached report has two tables with the pots of each herb in two years. Which herb grew most in number of "
        "pots, and by how many? Answer as: herb, number"
    )
    return Made(text, f"{best}, {growth[best]}", _word(parts))


@question(3, ".docx", tools="Word reader, code")
def camp_kitchen(draw: Draw) -> Made:
    """Read the amounts for four people.

    Scale them to the number of people. Multiply by the prices per kilogram. Take the discount off.
    """
    foods = ["barley", "beans", "butter", "carrots", "cheese", "onions", "plums"]
    grams = {food: draw.number(4, 60) * 10 for food in foods}
    price = {food: draw.number(4, 28) * 25 for food in foods}
    people = 36
    cents = sum(grams[food] * price[food] * people // 4 for food in foods) / 1000
    over = sum(grams[food] * price[food] * people // 4 for food in foods if price[food] > 400) / 1000
    total = cents - over / 10
    assert abs(total % 1 - 0.5) > 0.01
    parts: list[str | list[Sequence[object]]] = [
        "# The stew of the summer camp",
        "For four people take:",
        [("Food", "Grams"), *grams.items()],
        "# What the shop asks",
        [("Food", "Euro per kilogram"), *((food, f"{price[food] / 100:.2f}") for food in draw.shuffled(foods))],
        "The shop takes 10 % off everything that costs more than 4.00 euro a kilogram.",
    ]
    text = (
        "The attached document holds a recipe for four people and the prices of a shop. What does the food for 36 "
        "people cost in that shop, in euros? Round to whole cents and give the number with two decimal places."
    )
    return Made(text, f"{total / 100:.2f}", _word(parts))


def _slides(
    slides: Sequence[tuple[str, Sequence[str], str]], tables: dict[int, list[Sequence[object]]] | None = None
) -> bytes:
    """A presentation of titles, lines and notes, with tables on some slides (counted from 0)."""
    from pptx import Presentation
    from pptx.util import Inches

    deck = Presentation()
    for number, (title, lines, notes) in enumerate(slides):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = "\n".join(lines)
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
        rows = (tables or {}).get(number)
        if rows:
            place = (Inches(1), Inches(3), Inches(6), Inches(3))
            table = slide.shapes.add_table(len(rows), len(rows[0]), *place).table
            for r, row in enumerate(rows):
                for c, value in enumerate(row):
                    table.cell(r, c).text = str(value)
    buffer = io.BytesIO()
    deck.save(buffer)
    return without_times(buffer.getvalue())


@question(1, ".pptx", tools="PowerPoint reader")
def beekeeping_course(draw: Draw) -> Made:
    """Find the slide that tells of wax. Count the slides."""
    topics = draw.shuffled(["The hive", "Swarms", "Wax", "Honey", "Winter", "Mites", "Queens", "Tools"])
    facts = {topic: f"{draw.number(2, 40)} minutes" for topic in topics}
    slides = [("Beekeeping for beginners", ["Eight short lessons"], "")]
    slides += [(f"Lesson {n}: {topic}", [f"Takes {facts[topic]}"], "") for n, topic in enumerate(topics, 1)]
    text = (
        "How many minutes does the lesson about wax take according to the attached slides, and on which slide of the "
        "file is it (the first slide being 1)? Answer as: minutes, slide"
    )
    minutes = facts["Wax"].split()[0]
    return Made(text, f"{minutes}, {topics.index('Wax') + 2}", _slides(slides))


@question(2, ".pptx", tools="PowerPoint reader")
def harbour_figures(draw: Draw) -> Made:
    """Read the number on each slide. Replace those that the notes correct. Add up."""
    ports = ["Arnis", "Belt", "Corvey", "Dornum", "Elmhaven", "Finkwerd"]
    shown = {port: draw.number(120, 480) for port in ports}
    right = dict(shown)
    slides = [("Ships in 2023", ["By harbour"], "Speak slowly.")]
    changed = draw.some(ports, 2)
    for port in ports:
        note = "Nothing to add."
        if port in changed:
            right[port] = shown[port] + draw.number(10, 60)
            note = f"The number on this slide is wrong, it should be {right[port]}."
        slides.append((port, [f"{shown[port]} ships"], note))
    text = (
        "The attached slides give the number of ships of six harbours; speaker notes correct some of them. How many "
        "ships are that in total, with the corrections? Give only the number."
    )
    return Made(text, sum(right.values()), _slides(slides))


@question(2, ".pptx", tools="PowerPoint reader, code")
def theatre_seasons(draw: Draw) -> Made:
    """Read the table of each slide. Add up the visitors of each play over the seasons. Take the largest."""
    plays = ["The Ferryman's Coat", "Nine Lanterns", "A Door in March", "Salt and Snow"]
    total: dict[str, int] = defaultdict(int)
    slides, tables = [("Our plays", ["Visitors by season"], "")], {}
    for number, season in enumerate(("2019", "2021", "2022", "2023"), 1):
        rows: list[Sequence[object]] = [("Play", "Visitors")]
        for play in draw.some(plays, 3):
            visitors = draw.number(150, 900)
            total[play] += visitors
            rows.append((play, visitors))
        slides.append((f"Season {season}", [], ""))
        tables[number] = rows
    best = only_best(total)
    text = (
        "The attached slides show how many visitors came to each play in each season. How many visitors did the play "
        "with the most visitors have over all seasons together? Give only the number."
    )
    return Made(text, total[best], _slides(slides, tables))
