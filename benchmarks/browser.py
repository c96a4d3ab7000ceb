"""The browser without a model: its start-up time, and leftovers after kills.

    python benchmarks/browser.py [--json] [--repeat 7] [--kills 10]

The start-up time ends when the site receives the first request. The baseline is a Python process that does the same
with Playwright alone, and both are measured in turn. Then an agent with a browser is killed at random moments.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from table import Figure, as_text

from agent.browser.operate import operate
from agent.browser.tasks import AskModel, BrowserTask
from agent.errors import AlitaError, StoppedError
from agent.web.chromium import find_chromium, sweep

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support.site.server import Site

HERE = Path(__file__).parent
ALONE = """
import asyncio, sys
from playwright.async_api import async_playwright
async def main():
    async with async_playwright() as playwright:
        context = await playwright.chromium.launch_persistent_context(
            sys.argv[2], executable_path=sys.argv[1], headless=True)
        await context.pages[0].goto(sys.argv[3], wait_until="domcontentloaded")
        print("there", flush=True)
        await context.close()
asyncio.run(main())
"""
DRIVEN = """
import asyncio, sys
sys.path[:] = sys.argv[3:]
from browser import drive
from agent.browser.tasks import BrowserTask
async def never(*args, **options):
    await asyncio.sleep(600)
asyncio.run(drive(never, BrowserTask("What is new?", sys.argv[1])))
"""
MAX_LIFE_SECONDS = 8.0


async def drive(ask: AskModel, task: BrowserTask) -> None:
    """Run a browser task until it ends or fails."""
    with contextlib.suppress(AlitaError):
        await operate(replace(task, allow_private=True), ask, lambda event: None)


def start(repeat: int) -> Figure:
    """Measure the milliseconds until the browser requests the first page."""
    chrome = find_chromium(None).path
    with Site() as site:
        pairs = [(_our_start(chrome, site), _their_start(chrome, site)) for _ in range(repeat)]
    ours, theirs = (statistics.median(seconds) * 1000 for seconds in zip(*pairs, strict=True))
    return Figure("", "start to the first page, ms (Playwright alone)", ours, theirs)


def _our_start(chrome: Path, site: Site) -> float:
    async def ends(*_: Any, **__: Any) -> Any:
        raise StoppedError("the page was asked for")

    site.reset()
    started = time.perf_counter()
    asyncio.run(drive(ends, BrowserTask("Open the page.", site.url, steps=1, chrome=chrome)))
    return site.requests[0].at - started


def _their_start(chrome: Path, site: Site) -> float:
    site.reset()
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        command = [sys.executable, "-c", ALONE, str(chrome), folder, site.url]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "there\n"
            return site.requests[0].at - started


def killed(times: int) -> list[Figure]:
    """Count processes and profiles that are left after agents were killed at random moments."""
    chance = random.Random(5)
    with Site() as site:
        left = 0
        for _ in range(times):
            agent = subprocess.Popen([sys.executable, "-c", DRIVEN, site.url, "-", str(HERE), *sys.path])
            time.sleep(chance.uniform(0.1, MAX_LIFE_SECONDS))
            agent.kill()
            agent.wait()
            left += _still_there(agent.pid)
    sweep()
    folders = [path for path in Path(tempfile.gettempdir()).glob("alita-browser-*") if _is_orphan(path)]
    return [
        Figure("", f"processes left after {times} kills", left, None, "0", left == 0),
        Figure("", "profiles left after the next start", len(folders), None, "0", not folders),
    ]


def _still_there(owner: int) -> int:
    """Count processes that still use the profile of a dead owner after up to five seconds."""
    ends = time.monotonic() + 5
    while (found := _processes(f"alita-browser-{owner}-".encode())) and time.monotonic() < ends:
        time.sleep(0.05)
    return found


def _processes(word: bytes) -> int:
    found = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found += word in (entry / "cmdline").read_bytes() or word in bytes((entry / "cwd").readlink())
            except OSError:
                continue
    return found


def _is_orphan(profile: Path) -> bool:
    return not Path("/proc", profile.name.split("-")[2]).exists()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--repeat", type=int, default=7, metavar="N", help="how often the start is timed")
    parser.add_argument("--kills", type=int, default=10, metavar="N", help="how often an agent is killed")
    options = parser.parse_args()
    figures = [start(options.repeat), *killed(options.kills)]
    rows = {"rows": [figure._asdict() for figure in figures]}
    print(json.dumps(rows, indent=1) if options.json else as_text(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
