"""Draws docs/page.png from a real question on the page: `make picture`. It needs Chromium.

A table is attached, and a program in the sandbox draws a chart. The picture is a screenshot of the page after that. A
local server replies in place of a model, so that the picture can be drawn again; everything else is real.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import expect, sync_playwright

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "tests"))

from support.browser import CHROMIUM  # noqa: E402 - tests are no package
from support.openai_server import OpenAIServer, Step  # noqa: E402
from support.page import Site  # noqa: E402

QUESTION = "Which region sold the most tea? Draw the sales of each region as a bar chart."
SALES = """region,product,kilograms
north,tea,410
north,coffee,820
east,tea,935
east,coffee,380
south,tea,1240
south,coffee,610
west,tea,700
west,coffee,1105
"""
MODEL = """[models.analyst]
model = "analyst"
base_url = "{url}"
price = {{ input = 1.25, output = 10.0 }}
"""
PROGRAM = """import csv
from collections import defaultdict

from PIL import Image, ImageDraw, ImageFont

sold = defaultdict(lambda: {"tea": 0, "coffee": 0})
for row in csv.DictReader(open("sales.csv")):
    sold[row["region"]][row["product"]] += int(row["kilograms"])

picture = Image.new("RGB", (1000, 380), "white")
draw = ImageDraw.Draw(picture)
font = ImageFont.load_default(22)
top = max(max(kinds.values()) for kinds in sold.values())
for place, (region, kinds) in enumerate(sold.items()):
    left = 60 + 235 * place
    for offset, (kind, colour) in enumerate((("tea", "#2f7d4f"), ("coffee", "#8a5a2b"))):
        height = 270 * kinds[kind] // top
        x = left + 90 * offset
        draw.rounded_rectangle((x, 330 - height, x + 80, 330), 6, fill=colour)
        draw.text((x + 40, 322 - height), f"{kinds[kind]:,}", font=font, fill="#333333", anchor="ms")
    draw.text((left + 85, 364), region, font=font, fill="#333333", anchor="ms")
draw.line((40, 331, 960, 331), fill="#999999", width=2)
for offset, (kind, colour) in enumerate((("tea", "#2f7d4f"), ("coffee", "#8a5a2b"))):
    draw.rounded_rectangle((60 + 110 * offset, 14, 80 + 110 * offset, 34), 4, fill=colour)
    draw.text((88 + 110 * offset, 32), kind, font=font, fill="#333333", anchor="ls")
picture.save("sales.png")
best = max(sold, key=lambda region: sold[region]["tea"])
print(f"{best}: {sold[best]['tea']:,} kg of tea")
"""
ANSWER = """The **south** sold the most tea: **1,240 kg** of 3,285 kg in all.

| region | tea, kg | coffee, kg |
|---|--:|--:|
| south | 1,240 | 610 |
| east | 935 | 380 |
| west | 700 | 1,105 |
| north | 410 | 820 |
"""


def reply(body: dict[str, Any]) -> Step:
    """The model's replies: the program first, then the answer."""
    if body["messages"][-1]["role"] == "tool":
        return Step(text=ANSWER, usage={"prompt_tokens": 1_912, "completion_tokens": 118})
    told = re.search(r"/[\w/.-]+/sales\.csv", str(body["messages"]))
    program = PROGRAM.replace("sales.csv", told[0] if told else "sales.csv")
    usage = {"prompt_tokens": 1_240, "completion_tokens": 486}
    return Step(tools=[("run_python", {"code": program})], usage=usage)


def drawn(target: Path) -> None:
    """Asks the question, and keeps what the page shows."""
    with tempfile.TemporaryDirectory() as name, OpenAIServer() as server, sync_playwright() as playwright:
        folder = Path(name)
        (folder / "sales.csv").write_text(SALES)
        (folder / "config.toml").write_text(MODEL.format(url=server.url))
        server.default = reply
        site = Site(folder, "-m", "analyst", ALITA_CONFIG_DIR=str(folder))
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=sandbox)
        page = browser.new_page(viewport={"width": 900, "height": 700})
        page.goto(site.address)
        field = page.get_by_placeholder("Ask a question")
        expect(field).to_be_enabled(timeout=60_000)
        page.locator("input[type=file]").first.set_input_files(folder / "sales.csv")
        field.fill(QUESTION)
        field.press("Enter")
        expect(page.locator(".took")).to_contain_text("answered", timeout=60_000)
        expect(page.locator(".outputs img")).to_be_visible()
        page.locator(".steps > summary").last.click()
        page.mouse.move(0, 0)
        page.wait_for_timeout(500)
        page.screenshot(path=target, full_page=True)
        browser.close()
        site.close()
    with Image.open(target) as picture:
        picture.convert("RGB").quantize(200, dither=Image.Dither.NONE).save(target, optimize=True)


def main() -> int:
    """Draws the picture."""
    drawn(DOCS / "page.png")
    print("written: docs/page.png")
    return 0


if __name__ == "__main__":
    sys.exit(main())
