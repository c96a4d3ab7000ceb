"""Gap records among 10,000, calls of a question to which none fits, and three pages that are read in one turn.

    python benchmarks/learning.py [--json] [--records 10000] [--delay 1.0]

The records are made of the words of these pages' own documentation, drawn by how often they occur there; the questions
are those of `benchmarks/questions.jsonl`. The pages come from a local server that takes its time; beside them stands
the time that the same three reads take one after the other.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import tempfile
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from table import Figure, as_text, at_most

from agent.alita import Alita
from agent.configuration.settings_sources import read_settings
from agent.events import PageRead
from agent.learning.gap_records import GapRecord, GapRecords
from agent.learning.planner import KINDS, kind_of

ROOT = Path(__file__).parents[1]
PAGES = 3


def words_of_docs() -> tuple[list[str], list[int]]:
    """The words of the documentation, and how often each occurs."""
    text = " ".join(path.read_text("utf-8") for path in sorted((ROOT / "docs").glob("*.md")))
    counted = Counter(word for word in text.lower().split() if word.isalpha())
    return list(counted), list(counted.values())


def fill(records: GapRecords, size: int) -> None:
    """Writes so many records, without looking for equal ones."""
    generator, (words, weights) = random.Random(size), words_of_docs()

    def text(count: int) -> str:
        return " ".join(generator.choices(words, weights, k=count))

    with records.writing():
        for number in range(size):
            record = GapRecord(generator.choice(KINDS), text(14), text(20), f"{text(14)} {number}")
            records.put(record, time.time() - generator.random() * 3e7)


def finding(size: int) -> list[Figure]:
    """How long the planner looks for records."""
    lines = (Path(__file__).parent / "questions.jsonl").read_text("utf-8").splitlines()
    questions = [json.loads(line) for line in lines]
    asked = [
        (one.get("question") or one.get("Question"), [one["file_name"]] if one.get("file_name") else [])
        for one in questions
    ]
    with tempfile.TemporaryDirectory() as folder:
        records = GapRecords(Path(folder) / "gaps.sqlite")
        fill(records, size)
        took, found = [], 0
        for question, files in asked:
            started = time.perf_counter()
            found += bool(records.find(question, kind_of(question, files)))
            took.append(1000 * (time.perf_counter() - started))
        records.close()
    took.sort()
    return [
        at_most("L1", f"records of a question among {size:,}, ms (median)", statistics.median(took), 20),
        Figure("", "… 95 of 100 within, ms", took[int(0.95 * len(took))]),
        Figure("", f"questions of {len(asked)} that found some", found),
    ]


class _Slow(BaseHTTPRequestHandler):
    delay = 0.4

    def log_message(self, *_: Any) -> None:
        """Nothing."""

    def do_GET(self) -> None:
        """A short page, after a while."""
        if self.path != "/robots.txt":
            time.sleep(self.delay)
        body = (
            f"<html><title>{self.path}</title><body><p>{'This page is about rivers. ' * 30}</p></body></html>".encode()
        )
        self.send_response(200 if self.path != "/robots.txt" else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


async def reading(delay: float, folder: Path) -> list[Figure]:
    """Three reads in one turn, beside one after the other; and the calls of a question without records."""
    _Slow.delay = delay
    server = ThreadingHTTPServer(("0.0.0.0", 0), _Slow)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    reads = [
        {"tool": "read", "arguments": {"source": f"http://127.0.0.{n + 1}:{server.server_address[1]}/{n}"}}
        for n in range(PAGES)
    ]
    script = folder / "script.jsonl"
    lines = [
        {"text": "warm"},
        {"when": "first", **reads[0]},
        {"text": "done"},
        {"when": "together", "calls": reads},
        {"text": "done"},
    ]
    lines += [*({"when": "in turn", **one} for one in reads), {"text": "done"}]
    script.write_text("".join(json.dumps(line) + "\n" for line in lines))
    environment = {"PATH": os.environ["PATH"], "ALITA_HOME": str(folder)}
    flags = {"model": f"scripted:{script}", "strategy": "standard", "allow_private": True, "use_cache": False}
    walls: dict[str, float] = {}
    slowest = 0.0
    async with Alita.open(read_settings(flags, environment=environment, current=folder)) as alita:
        plain = await alita.ask("What is said?")
        for how in ("first", "together", "in turn"):
            times: list[float] = []

            def hear(event: Any, times: list[float] = times) -> None:
                if isinstance(event, PageRead):
                    times.append(event.seconds)

            started = time.perf_counter()
            answer = await alita.ask(f"What do these pages say, read {how}?", on_event=hear)
            walls[how] = time.perf_counter() - started
            assert answer.text == "done", answer
            slowest = max(times)
    server.shutdown()
    together = at_most("L3", "three reads in one turn, × the slowest", walls["together"] / slowest, 1.3)
    return [
        at_most("L2", "model calls of a question to which no record fits", plain.usage.calls, 1),
        together,
        Figure("", "three reads in one turn, s, beside one after the other", walls["together"], walls["in turn"]),
    ]


def main() -> int:
    """Measures, and prints the table or the JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")
    parser.add_argument("--records", type=int, default=10_000, help="how many (default %(default)s)")
    parser.add_argument("--delay", type=float, default=1.0, help="seconds of each page (default %(default)s)")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = finding(wanted.records) + asyncio.run(reading(wanted.delay, Path(folder)))
    if wanted.json:
        print(json.dumps({"rows": [row._asdict() for row in rows], "load": os.getloadavg()[0]}, indent=2))
    else:
        print(as_text(rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
