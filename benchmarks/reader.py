"""Web pages to Markdown: what 53 saved pages keep of their marked facts, how long it takes, ten pages at once.

    python benchmarks/reader.py [--json] [--repeat 7] [--lost]

The pages are in `benchmarks/pages/`. Each is read from its bytes as the agent reads it: its encoding found, what is
hidden or stands around it left out, links numbered. Beside it, turn by turn, `trafilatura` alone with the same options.
`--lost` tells each fact that was lost. Ten pages at once come from the small site of the tests, which takes its time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from facts import SavedPage, kept, load_pages
from table import Figure, as_text, ratio_at_most

ROOT = Path(__file__).resolve().parents[1]
URL = "https://site.example/page"
DELAYS = [1.0, 0.9, 0.8, 0.7, 0.7, 0.6, 0.5, 0.5, 0.4, 0.3]
"""Seconds that the ten pages take, on five hosts."""
HOSTS = 5
Read = Callable[[SavedPage], str]


def ours(page: SavedPage) -> str:
    """As the agent reads a page that it has fetched."""
    from agent.web.reading.markdown import extract
    from agent.web.response import charset_of, decoded

    return extract(decoded(page.body, charset_of(page.body, page.content_type)), URL).page.markdown


def alone(page: SavedPage, *, metadata: bool = True) -> str:
    """With trafilatura alone: with title and date, as the agent has them too, or only the text."""
    from trafilatura import extract

    told = extract(
        page.body,
        url=URL,
        output_format="markdown",
        include_links=True,
        include_formatting=True,
        favor_recall=True,
        with_metadata=metadata,
    )
    return told or ""


def text_alone(page: SavedPage) -> str:
    """With trafilatura alone, without title and date."""
    return alone(page, metadata=False)


class Share(NamedTuple):
    """What is left of the marked facts of some pages."""

    facts: int
    kept: int
    boilerplate: int
    """Phrases that stand around a page and were taken for a part of it."""

    @property
    def percent(self) -> float:
        return 100 * self.kept / self.facts


def share(pages: Sequence[SavedPage], read: Read, *, told: bool = False) -> Share:
    """Reads the pages; with `told`, prints what is lost."""
    facts = there = around = 0
    for page in pages:
        markdown = read(page)
        found = kept(page, markdown)
        facts += len(found.facts)
        there += sum(found.facts.values())
        around += found.boilerplate
        if told:
            for fact, is_there in found.facts.items():
                if not is_there:
                    print(f"{read.__name__}: {page.name}: {fact}", file=sys.stderr)
    return Share(facts, there, around)


def seconds(pages: Sequence[SavedPage], read: Read) -> float:
    """The time that all of them take."""
    started = time.perf_counter()
    for page in pages:
        read(page)
    return time.perf_counter() - started


async def ten_at_once() -> tuple[float, float]:
    """Milliseconds for ten pages at once, and for the slowest of them alone."""
    sys.path.insert(0, str(ROOT / "tests"))
    from contextlib import ExitStack

    from agent.web.http import Http
    from agent.web.reading.reader import WebReader
    from support.site.server import Site

    with ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        sites = [stack.enter_context(Site(f"127.0.0.{2 + i}")) for i in range(HOSTS)]

        async def read(delays: Sequence[float]) -> float:
            reader = WebReader(Http(allow_private=True), Path(folder))
            urls = [f"{sites[i % HOSTS].url}/slow?seconds={delay}" for i, delay in enumerate(delays)]
            started = time.perf_counter()
            pages = await asyncio.gather(*(reader.read(url) for url in urls))
            taken = time.perf_counter() - started
            assert all("limpet" in page.markdown for page in pages)
            await reader.aclose()
            return taken * 1000

        await read([0.0])  # imports
        return await read(DELAYS), await read([max(DELAYS)])


def measure(repeat: int, *, told: bool = False) -> list[Figure]:
    """All figures."""
    pages = load_pages()
    test = [page for page in pages if page.split == "test"]
    dev = [page for page in pages if page.split == "dev"]
    shares = {part: (share(some, ours, told=told), share(some, alone)) for part, some in (("test", test), ("dev", dev))}
    mine, theirs = (Share(*map(sum, zip(*pair, strict=True))) for pair in zip(*shares.values(), strict=True))
    times = [[seconds(pages, read) for read in (ours, alone, text_alone)] for _ in range(repeat)]
    ms, baseline, text_ms = (statistics.median(column) * 1000 for column in zip(*times, strict=True))
    at_once, slowest = asyncio.run(ten_at_once())
    return [
        Figure("", f"marked facts kept of {mine.facts}, %", mine.percent, theirs.percent, "≥ 95", mine.percent >= 95),
        *(
            Figure("", f"those of the {part} pages, {pair[0].facts}, %", pair[0].percent, pair[1].percent)
            for part, pair in shares.items()
        ),
        Figure("", "phrases around the pages taken for content", mine.boilerplate, theirs.boilerplate),
        ratio_at_most("", f"{len(pages)} pages to Markdown, title and date, ms", ms, baseline, 1.2),
        Figure("", "the same, ms (trafilatura's text alone)", ms, text_ms),
        ratio_at_most("", "ten pages at once, ms (the slowest alone)", at_once, slowest, 1.5),
    ]


def main() -> int:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--repeat", type=int, default=7, metavar="N", help="how often times are taken")
    parser.add_argument("--lost", action="store_true", help="tell each fact that was lost, on stderr")
    options = parser.parse_args()
    figures = measure(options.repeat, told=options.lost)
    print(
        json.dumps({"rows": [figure._asdict() for figure in figures]}, indent=1) if options.json else as_text(figures)
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
