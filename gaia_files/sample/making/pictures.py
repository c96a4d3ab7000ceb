"""Questions with pictures that hold text, and with what a camera writes into a picture."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from making.drawing import sheet_of_lines
from making.question import Draw, Made, question

if TYPE_CHECKING:
    from PIL.Image import Image


def _png(picture: Image) -> bytes:
    buffer = io.BytesIO()
    picture.quantize(32).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


@question(1, ".png", tools="text recognition")
def pool_sign(draw: Draw) -> Made:
    """Read the sign. Find the line of Saturday. Read when it closes."""
    days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    closes = draw.some([f"{hour}:{half}" for hour in range(15, 22) for half in ("00", "30")], 7)
    lines = [
        "OUTDOOR POOL",
        *[f"{day}  {draw.number(7, 10)}:00 - {end}" for day, end in zip(days, closes, strict=True)],
    ]
    text = (
        "According to the sign in the attached picture, when does the pool close on Saturday? Answer with the "
        "time as HH:MM."
    )

    def content() -> bytes:
        return _png(sheet_of_lines(lines, (760, 620), 36, "#cfe8ff"))

    return Made(text, closes[5], content, recipe=repr(lines))


@question(2, ".png", tools="text recognition, code")
def kiosk_receipt(draw: Draw) -> Made:
    """Read the receipt. Multiply pieces by prices. Add up."""
    goods = ["Tea", "Apple", "Stamps", "Postcard", "Pencil", "Candle"]
    rows = [(name, draw.number(1, 6), draw.number(12, 98) * 5) for name in draw.some(goods, 5)]
    lines = ["KIOSK AT THE PIER", ""]
    lines += [f"{count} x {name}   {cents // 100}.{cents % 100:02} each" for name, count, cents in rows]
    lines += ["", "Total: see the till"]
    text = (
        "The attached receipt shows how many pieces were bought and the price of one piece, but no total. What did "
        "everything cost together? Give the number with two decimal places."
    )

    def content() -> bytes:
        return _png(sheet_of_lines(lines, (720, 700), 36))

    return Made(text, f"{sum(count * cents for _, count, cents in rows) / 100:.2f}", content, recipe=repr(lines))


@question(2, ".jpg", tools="text recognition, code")
def jam_shelf(draw: Draw) -> Made:
    """Read the labels of the jars. Take those of the year. Add up their grams."""
    fruits = ["CHERRY", "QUINCE", "PLUM", "GRAPE", "PEACH", "CURRANT"]
    jars = [(draw.one(fruits), draw.one([2021, 2022]), draw.number(20, 60) * 10) for _ in range(9)]

    def content() -> bytes:
        from PIL import Image, ImageDraw, ImageFont

        shelf = Image.new("RGB", (1000, 860), "#d8c3a5")
        pen = ImageDraw.Draw(shelf)
        for number, (fruit, year, grams) in enumerate(jars):
            left, top = 40 + number % 3 * 320, 30 + number // 3 * 275
            pen.rounded_rectangle((left, top, left + 280, top + 240), 30, fill="#8a3b3b")
            pen.rectangle((left + 15, top + 50, left + 265, top + 215), fill="#fffdf5")
            for row, word in enumerate((fruit, str(year), f"{grams} g")):
                pen.text((left + 40, top + 60 + row * 50), word, fill="#202020", font=ImageFont.load_default(40))
        buffer = io.BytesIO()
        shelf.save(buffer, "JPEG", quality=70)
        return buffer.getvalue()

    text = (
        "The attached picture shows jars of jam, each with its fruit, its year and its weight in grams. How many grams "
        "of jam of the year 2021 are there? Give only the number."
    )
    return Made(text, sum(grams for _, year, grams in jars if year == 2021), content, recipe=repr(jars))


@question(1, ".jpg", tools="picture reader")
def meadow_photo(draw: Draw) -> Made:
    """Read the EXIF data. Take the day on which the picture was taken."""
    day = f"20{draw.number(11, 23)}:{draw.number(1, 12):02}:{draw.number(1, 28):02}"
    changed = "2024:01:15 10:00:00"
    recipe = f"{day} {changed} {draw.number(0, 99)}"

    def content() -> bytes:
        from PIL import Image

        colours = [(90 + x // 4, 150 + (x * y) % 40, 80 + y // 5) for y in range(240) for x in range(320)]
        picture = Image.frombytes("RGB", (320, 240), bytes(value for colour in colours for value in colour))
        exif = Image.Exif()
        exif[0x010F], exif[0x0132] = "Sample", changed
        exif.get_ifd(0x8769)[0x9003] = f"{day} 07:41:09"
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=60, exif=exif)
        return buffer.getvalue()

    text = (
        "On which day was the attached picture taken, according to the original date and time in its EXIF data? Answer "
        "as YYYY-MM-DD."
    )
    return Made(text, day.replace(":", "-"), content, recipe=recipe)
