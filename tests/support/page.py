"""`alita web` as a process, and its model."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from support.benchmarks import asked
from support.command import ALITA, clean
from support.fibonacci import ANSWER, TESTS, call_of
from support.openai_server import Step

if TYPE_CHECKING:
    from playwright.sync_api import Page

DRAWING = """import struct, zlib

def part(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

def row(y):
    return b"\\0" + b"".join(bytes((30, 110, 180) if 200 - y < 24 * (x // 40) else (235, 238, 242)) for x in range(320))

pixels = b"".join(map(row, range(200)))
picture = b"\\x89PNG\\r\\n\\x1a\\n" + part(b"IHDR", struct.pack(">IIBBBBB", 320, 200, 8, 2, 0, 0, 0))
open("chart.png", "wb").write(picture + part(b"IDAT", zlib.compress(pixels)) + part(b"IEND", b""))
open("notes.html", "w").write("<script>alert(1)</script>")
print("drawn")
"""
HOSTILE = (
    "# Read <img src=x onerror=\"document.title='taken'\"> this\n\n![x](http://127.0.0.1:9/remote.png) "
    "<script>document.title='taken'</script> ${document.title='taken'} {{value}}\n\n"
    "[bad](javascript:alert(1)) [good](https://example.org/)\n"
)


held: set[str] = set()
"""Cards for which the model does not answer."""


def reply(body: dict[str, Any]) -> Step:
    """Return the model's reply to the last message."""
    if card := asked(body):
        return Step(text=HOSTILE if card == "1" else card, delay=60 if card in held else 0)
    if not body.get("tools"):
        return Step(text=json.dumps(TESTS))
    newest = body["messages"][-1]
    words = str(newest["content"])
    if newest["role"] == "tool":
        told = next(
            (line for sign, line in (("drawn", "The **chart** is drawn."), (ANSWER, ANSWER)) if sign in words), ""
        )
        return Step(text=told or f"It says {words[-200:]}")
    if "Fibonacci" in words:
        return Step(tools=[call_of("create_tool")])
    for sign, code in (("chart", DRAWING), ("slow", "import time\ntime.sleep(300)")):
        if sign in words:
            return Step(tools=[("run_python", {"code": code})])
    return Step(text=HOSTILE if "hostile" in words else "It has three rows.")


def picture(page: Page, name: str) -> None:
    """Save a screenshot if a folder for screenshots is set."""
    if folder := os.environ.get("PAGE_PICTURES"):
        for width, height in ((1200, 850), (390, 844)):
            page.set_viewport_size({"width": width, "height": height})
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                page.wait_for_timeout(400)
                page.screenshot(path=Path(folder) / f"{name}-{width}-{scheme}.png", full_page=True)
        page.set_viewport_size({"width": 1200, "height": 850})


class Site:
    """The process of the page."""

    def __init__(self, folder: Path, *flags: str, **variables: str) -> None:
        (folder / "here").mkdir(parents=True, exist_ok=True)
        self.home = folder / "home"
        self._process = subprocess.Popen(
            [*ALITA, "web", "--http", "127.0.0.1:0", *flags],
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            cwd=folder / "here",
            env=clean(self.home, **variables),
        )
        assert self._process.stderr is not None
        self.said = ""
        while not (found := re.search(r"Open (http://\S+)", self.said)):
            line = self._process.stderr.readline()
            assert line, self.said
            self.said += line
        self.address = found[1]
        self.url = self.address.partition("?")[0]

    def close(self) -> str:
        self._process.terminate()
        rest = self._process.communicate(timeout=60)[1]
        return str(rest)
