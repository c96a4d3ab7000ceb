"""Browser tasks with the configured model: the site's, and MiniWoB++.

    python benchmarks/browser_tasks.py --out browser.jsonl                    # goes on where it was stopped
    python benchmarks/browser_tasks.py --out browser.jsonl --report           # only the table
    python benchmarks/browser_tasks.py --out browser.jsonl --set miniwob

Two sets: the tasks of `tests/site/tasks.json`, and the twenty of `miniwob.json` on the pages of the package `miniwob`.
What fails or takes too long is not done.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Coroutine, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from browser_runs import Run, drive, run_on_site
from miniwob_pages import Episode, MiniWob, instructions, load_episodes
from table import Figure, as_text

from agent.browser.tasks import AskModel, BrowserOutcome, BrowserTask
from agent.configuration.settings_sources import read_settings
from agent.models.protocol import Completion, Message, Request, Role
from agent.models.roles import Models
from agent.web.chromium import find_chromium
from support.site.tasks import load_tasks

SETS = ("site", "miniwob")
WOB_STEPS = 10
Row = dict[str, Any]


async def site_runs(ask: AskModel, split: str | None, done: set[str], seconds: float) -> AsyncIterator[Row]:
    """The site's tasks that are still to do."""
    for task in load_tasks(split):
        if task.id not in done:
            yield {"id": task.id, "split": task.split, **_row(await run_on_site(ask, task, seconds=seconds))}


async def wob_runs(ask: AskModel, done: set[str], seconds: float) -> AsyncIterator[Row]:
    """The episodes of MiniWoB++ that are still to do."""
    episodes = [episode for episode in load_episodes() if _id(episode) not in done]
    with MiniWob() as pages:
        asked = await instructions(pages, episodes, find_chromium(None).path)
        for episode in episodes:
            task = BrowserTask(asked[episode], pages.url(episode), steps=WOB_STEPS, seconds=seconds)
            run = await episode_run(pages, episode, drive(ask, task))
            yield {"id": _id(episode), "task": asked[episode], **_row(run)}


async def episode_run(
    pages: MiniWob, episode: Episode, drive: Coroutine[Any, Any, tuple[BrowserOutcome | None, str, float]]
) -> Run:
    """Drives until the browser has ended or the episode has its reward: what comes after it does not count."""
    started = time.perf_counter()
    driving = asyncio.create_task(drive)
    while not driving.done() and episode not in pages.rewards:
        await asyncio.wait([driving], timeout=0.1)
    driving.cancel()
    reward = pages.rewards.get(episode, 0.0)
    (result,) = await asyncio.gather(driving, return_exceptions=True)
    if isinstance(result, BaseException):
        problem = "" if isinstance(result, asyncio.CancelledError) else repr(result)
        return Run(reward > 0, "", 0, time.perf_counter() - started, problem or f"it ended with the reward {reward:g}")
    outcome, problem, _ = result
    answer, steps = (outcome.text, len(outcome.steps)) if outcome else ("", 0)
    return Run(pages.rewards.get(episode, reward) > 0, answer, steps, time.perf_counter() - started, problem)


def _id(episode: Episode) -> str:
    return f"{episode.task}/{episode.seed}"


def _row(run: Run) -> Row:
    return {**run._asdict(), "seconds": round(run.seconds, 1), "answer": run.answer[:200]}


async def measure(name: str, out: Path, split: str | None, seconds: float) -> None:
    """Does what the ledger does not hold yet, a line for each task."""
    done = {line["id"] for line in _lines(out) if line["set"] == name}
    models = Models(read_settings({}))
    try:
        model = models.for_role(Role.BROWSER)

        async def ask(messages: Sequence[Message], **options: Any) -> Completion:
            return await model.complete(Request(messages, **options))

        runs = site_runs(ask, split, done, seconds) if name == "site" else wob_runs(ask, done, seconds)
        async for row in runs:
            with out.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"set": name, **row}, ensure_ascii=False) + "\n")
            result = "done" if row["done"] else "not done"
            print(f"{row['id']:26} {result:8} {row['seconds']:6.1f} s", file=sys.stderr, flush=True)
    finally:
        await models.aclose()


def report(lines: list[Row]) -> list[Figure]:
    """Shares of tasks that were done."""
    figures = []
    for name in SETS:
        mine = [line for line in lines if line["set"] == name]
        for part in ("all", "test", "dev") if name == "site" else ("all",):
            some = [line for line in mine if part in ("all", line.get("split"))]
            if some:
                percent = 100 * sum(line["done"] for line in some) / len(some)
                figures.append(Figure("", f"{name}, {part}: {len(some)} tasks done, %", percent))
        if mine:
            seconds = sorted(line["seconds"] for line in mine)
            figures.append(Figure("", f"{name}: seconds for a task, median", seconds[len(seconds) // 2]))
    return figures


def _there() -> tuple[str, ...]:
    """The sets that can be done here."""
    if find_spec("miniwob"):
        return SETS
    print("MiniWoB++ is left out; it is in the dependency group bench", file=sys.stderr)
    return SETS[:1]


def _lines(out: Path) -> list[Row]:
    if not out.exists():
        return []
    return [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines() if line.endswith("}")]


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("browser.jsonl"), help="the ledger; what it holds is kept")
    parser.add_argument("--set", choices=SETS, help="one set only")
    parser.add_argument("--split", choices=["dev", "test"], help="a part of the site's tasks")
    parser.add_argument("--seconds", type=float, default=300, help="for one task")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    options = parser.parse_args()
    for name in [] if options.report else [options.set] if options.set else _there():
        asyncio.run(measure(name, options.out, options.split, options.seconds))
    print(as_text(report(_lines(options.out))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
