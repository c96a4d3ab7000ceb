"""The web page in Chromium: its first load, compared with an empty Gradio page, and a benchmark of 500 questions.

    python benchmarks/page.py [--json] [--repeat 5]

Both servers run at the same time and are measured in turn. Each browser starts with an empty cache. Processor time of
the server and the browser is also measured, because other work on the machine affects it less than wall time.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import BrowserType, Page, sync_playwright
from table import Figure, as_text, time_at_most

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.browser import CHROMIUM
from support.gaia_records import kept_benchmark
from support.page import Site

EMPTY = """
import gradio as gr
with gr.Blocks(analytics_enabled=False) as page:
    gr.Textbox(placeholder="Ask a question")
_, url, _ = page.launch(server_name="127.0.0.1", prevent_thread_lock=True, quiet=True, ssr_mode=False)
print(url, flush=True)
input()
"""
QUESTIONS = 500


class Taken(NamedTuple):
    """Wall time and processor time in milliseconds."""

    wall: float
    work: float


@contextmanager
def empty_page() -> Iterator[str]:
    """Serve a Gradio page with one field."""
    run = [sys.executable, "-c", EMPTY]
    with subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.kill()


def worked() -> float:
    """Return the processor seconds of all child processes: both servers, one of which is idle, and the browser."""
    parents, seconds = dict[int, int](), dict[int, float]()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parents[int(entry.name)] = int(fields[1])
                seconds[int(entry.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    ours = {os.getpid()}
    while more := {one for one, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(seconds.get(one, 0.0) for one in ours - {os.getpid()})


def loaded(chromium: BrowserType, address: str, then: Callable[[Page], float] | None = None) -> Taken:
    """Measure the time until the question field can be used, or the time that `then` measures."""
    browser = chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"])
    try:
        page = browser.new_page()
        page.goto("about:blank")
        before, began = worked(), time.perf_counter()
        page.goto(address)
        page.get_by_placeholder("Ask a question").click()
        wall = time.perf_counter() - began
        work = worked() - before
        if then is not None:
            wall = then(page)
        return Taken(wall * 1000, work * 1000)
    finally:
        browser.close()


def opened(results: Path) -> Callable[[Page], float]:
    """Measure the seconds from opening a benchmark until its last row is visible."""

    def measure(page: Page) -> float:
        page.get_by_role("tab", name="Benchmark").click()
        name = page.locator("#benchmarks input")
        name.fill(str(results))
        began = time.perf_counter()
        name.press("Enter")
        page.locator(f"#benchmark-rows [data-row='{QUESTIONS - 1}']").wait_for(state="attached")
        return time.perf_counter() - began

    return measure


def measured(repeat: int) -> list[Figure]:
    """Measure all figures."""
    lines = [
        {"task_id": f"t{n}", "Question": f"Which card is number {n}?", "Level": n % 3 + 1} for n in range(QUESTIONS)
    ]
    with tempfile.TemporaryDirectory() as name, empty_page() as url, sync_playwright() as playwright:
        site = Site(Path(name), "-m", "gpt-test", "--no-token")
        kept_benchmark(Path(name), lines, right=300)
        try:
            chromium, ours = playwright.chromium, site.address
            loaded(chromium, url)
            loaded(chromium, ours)
            pairs = [(loaded(chromium, ours), loaded(chromium, url)) for _ in range(repeat)]
            rows = [loaded(chromium, ours, opened(Path(name) / "kept.json")).wall for _ in range(repeat)]
        finally:
            site.close()
    mine, theirs = (
        Taken(*(statistics.median(each) for each in zip(*takes, strict=True))) for takes in zip(*pairs, strict=True)
    )
    return [
        time_at_most("", "page: first load, ms (an empty Gradio page)", mine.wall, 2000, theirs.wall),
        Figure("", "the same, processor time of server and browser, ms", mine.work, theirs.work),
        time_at_most(
            "", f"page: a benchmark of {QUESTIONS} questions is chosen and shown, ms", statistics.median(rows), 1000
        ),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="how often each is timed")
    options = parser.parse_args()
    figures = measured(options.repeat)
    rows = {"rows": [figure._asdict() for figure in figures]}
    print(json.dumps(rows, indent=1) if options.json else as_text(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
