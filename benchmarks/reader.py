"""Web pages to Markdown: the facts that survive in 53 saved pages, the time, and ten pages in parallel.

    python benchmarks/reader.py [--json] [--repeat 7] [--lost]

Each page in `benchmarks/pages/` is read from its bytes as the agent reads it: the encoding is detected, hidden text and
boilerplate are removed, links are numbered. The baseline is `trafilatura` alone with the same options, measured in
turn. `--lost` prints each lost fact. The ten parallel pages come from the tests' slow local site.
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
DELAY_SECONDS = [1.0, 0.9, 0.8, 0.7, 0.7, 0.6, 0.5, 0.5, 0.4, 0.3]
"""Delays of the ten pages, which are on five hosts."""
HOSTS = 5
Read = Callable[[SavedPage], str]


def ours(page: SavedPage) -> str:
    """Convert a page as the agent does."""
    from agent.web.reading.markdown import extract
    from agent.web.response import charset_of, decoded

    return extract(decoded(page.body, charset_of(page.body, page.content_type)), URL).page.markdown


def alone(page: SavedPage, *, metadata: bool = True) -> str:
    """Convert a page with trafilatura alone. With `metadata`, it also extracts title and date, as the agent does."""
    from trafilatura import extract

    show_lost = extract(
        page.body,
        url=URL,
        output_format="markdown",
        include_links=True,
        include_formatting=True,
        favor_recall=True,
        with_metadata=metadata,
    )
    return show_lost or ""


def text_alone(page: SavedPage) -> str:
    """Convert a page with trafilatura alone, without title and date."""
    return alone(page, metadata=False)


class Share(NamedTuple):
    """Numbers of marked facts, rows and boilerplate that survive in some pages."""

    facts: int
    kept: int
    boilerplate: int
    """Number of boilerplate phrases that were kept."""

    @property
    def percent(self) -> float:
        return 100 * self.kept / self.facts


def share(pages: Sequence[SavedPage], read: Read, *, show_lost: bool = False) -> Share:
    """Read the pages, and count what survives. With `show_lost`, print what is lost."""
    facts = there = around = 0
    for page in pages:
        markdown = read(page)
        found = kept(page, markdown)
        facts += len(found.facts)
        there += sum(found.facts.values())
        around += found.boilerplate
        if show_lost:
            for fact, is_there in found.facts.items():
                if not is_there:
                    print(f"{read.__name__}: {page.name}: {fact}", file=sys.stderr)
    return Share(facts, there, around)


def seconds(pages: Sequence[SavedPage], read: Read) -> float:
    """Return the time to read all pages."""
    started = time.perf_counter()
    for page in pages:
        read(page)
    return time.perf_counter() - started


async def ten_at_once() -> tuple[float, float]:
    """Return the milliseconds for ten pages in parallel, and for the slowest one alone."""
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
        return await read(DELAY_SECONDS), await read([max(DELAY_SECONDS)])


def measure(repeat: int, *, show_lost: bool = False) -> list[Figure]:
    """Measure all figures."""
    pages = load_pages()
    test = [page for page in pages if page.split == "test"]
    dev = [page for page in pages if page.split == "dev"]
    shares = {
        part: (share(some, ours, show_lost=show_lost), share(some, alone))
        for part, some in (("test", test), ("dev", dev))
    }
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
        ratio_at_most("", "ten pages in parallel, ms (the slowest alone)", at_once, slowest, 1.5),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--repeat", type=int, default=7, metavar="N", help="how often times are taken")
    parser.add_argument("--lost", action="store_true", help="tell each fact that was lost, on stderr")
    options = parser.parse_args()
    figures = measure(options.repeat, show_lost=options.lost)
    print(
        json.dumps({"rows": [figure._asdict() for figure in figures]}, indent=1) if options.json else as_text(figures)
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
