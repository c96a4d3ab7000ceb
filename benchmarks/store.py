"""The store (P16): its cost per question, and its speed with a million steps.

python benchmarks/store.py            # makes a store of 100,000 runs with ten steps each in a temporary folder
python benchmarks/store.py --json
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from table import Figure, as_text, at_most, time_at_most

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from agent.alita import Alita
from agent.configuration.settings import Settings
from agent.configuration.settings_sources import read_settings
from agent.store.databases import open_store
from agent.store.run_index import _INSERT, _INSERT_STEP, RunIndex, _number_of
from agent.store.runs import new_id
from support.openai_server import OpenAIServer, Step

RUNS, STEPS = 100_000, 10
_WORDS = [f"{a}{b}{c}" for a in ("ka", "lo", "mi", "ne", "ru") for b in ("ta", "be", "so", "vi") for c in range(100)]
_ASKED = {"in every run": "because", "in one of 2,000 words": "kata7", "two words": "lobe3 mivi", "rare": "needle"}
_IN_A_PROCESS = """
import sys, time
from agent.configuration.settings_sources import read_settings
from agent.answer import Answer
import agent.store.runs, agent.store.signature, mcp_tools.library.question_template
settings = read_settings({})
began = time.perf_counter()
from agent.store.answer_cache import AnswerCache, AnsweredPrograms
from agent.store.run_index import Notes, index_run
cache, programs = AnswerCache(settings), AnsweredPrograms(settings)
cache.get("q", (), {}, lambda names: {})
programs.get("q")
run_id = sys.argv[1]
Notes(settings).add(run_id)
index_run(settings)
cache.put("q", (), {}, Answer("a", "answered"), {})
programs.put("q", "print(1)")
print(1000 * (time.perf_counter() - began))
"""


def fill(settings: Settings) -> None:
    """Write the rows of many runs, as `RunIndex` does for one."""
    chance = random.Random(3)
    settings.runs_dir.mkdir(parents=True)
    with open_store(settings) as database:
        place = RunIndex(settings, database).place
        for begin in range(0, RUNS, 5000):
            runs, steps = [], []
            for number in range(begin, begin + 5000):
                run_id = new_id(1.6e9 + number * 60)
                words = chance.choices(_WORDS, k=14)
                asked = " ".join(words[:8]) + (" needle" if number == 4321 else "")
                record = {"run_id": run_id, "status": "answered", "question": asked, "started": 1.6e9 + number}
                row = {"number": _number_of(run_id), "place": place, "model": "m", "answer": " ".join(words[8:])}
                row |= record | {"seconds": 1.0, "cost": 0.01, "parent": None, "follows": None}
                runs.append(row | {"record": json.dumps(record | {"answer": {"text": row["answer"]}})})
                for step in range(1, STEPS + 1):
                    told = {
                        "action": "search",
                        "why": "because of that",
                        "input": " ".join(chance.choices(_WORDS, k=5)),
                    }
                    told |= {"ok": 1, "found": " ".join(chance.choices(_WORDS, k=25))}
                    steps.append({"run": row["number"], "step": step} | told)
            with database.change():
                database.rows(_INSERT, runs)
                database.rows(_INSERT_STEP, steps)
        database.rows("INSERT INTO run_words (run_words) VALUES ('rebuild')")
        database.rows("INSERT INTO places VALUES (:place, :seen)", {"place": place, "seen": _stamp(settings)})


def _stamp(settings: Settings) -> int:
    return settings.runs_dir.stat().st_mtime_ns


def median_ms(settings: Settings, work: Callable[[RunIndex], object], times: int = 15) -> float:
    """Return the median time of a command, including opening the store."""
    taken = []
    for _ in range(times):
        began = time.perf_counter()
        with open_store(settings) as database:
            index = RunIndex(settings, database)
            index.catch_up()
            work(index)
        taken.append(1000 * (time.perf_counter() - began))
    return statistics.median(taken)


async def share_of_a_run(settings: Settings, questions: int = 8) -> float:
    """Return the percentage of a question's time that the store takes, with a model that takes 200 ms."""
    spent, original = 0.0, Alita._from_store

    def timed(self: Alita, work: Callable[[], Any]) -> Any:
        nonlocal spent
        began = time.perf_counter()
        try:
            return original(self, work)
        finally:
            spent += time.perf_counter() - began

    with OpenAIServer() as server:
        server.default = lambda body: Step(text="Here it is: forty-two.", delay=0.2)
        own = settings.model_copy(update={"model": "gpt-5-mini", "base_url": server.url})
        Alita._from_store = timed  # type: ignore[method-assign, assignment]
        try:
            async with Alita.open(own) as alita:
                await alita.ask("Which harbour is the oldest?")
                spent, began = 0.0, time.perf_counter()
                for number in range(questions):
                    await alita.ask(f"Which harbour is older than harbour {number}?")
                return 100 * spent / (time.perf_counter() - began)
        finally:
            Alita._from_store = original  # type: ignore[method-assign]


def in_a_process(folder: Path, times: int = 7) -> float:
    """Return the milliseconds that a question's process spends on the store: imports, reads and writes."""
    variables = {"ALITA_HOME": str(folder), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-c", _IN_A_PROCESS, new_id()]
    taken = [
        float(subprocess.run(command, env=variables, capture_output=True, text=True, check=True).stdout)
        for _ in range(times)
    ]
    return statistics.median(taken[1:])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="store-") as place:
        folder = Path(place)
        settings = read_settings({}, environment={"ALITA_HOME": str(folder / "home")}, current=folder)
        small = read_settings({}, environment={"ALITA_HOME": str(folder / "small")}, current=folder)
        fill(settings)
        figures = [
            time_at_most("P16", "the last 20 of 100,000 runs, ms", median_ms(settings, lambda i: i.newest(20)), 50),
            *(
                time_at_most(
                    "P16",
                    f"search in 1,000,000 steps, a word {name}, ms",
                    median_ms(settings, lambda index, words=words: index.search(words, 20)),  # type: ignore[misc]
                    200,
                )
                for name, words in _ASKED.items()
            ),
            time_at_most("P16", "what the store costs a question's process, ms", in_a_process(folder / "home"), 60),
            at_most("P16", "the store's share of a run, model 200 ms, %", asyncio.run(share_of_a_run(small)), 5),
            Figure("", "size of that store, MB", (settings.data_dir / "alita.sqlite").stat().st_size / 1e6),
        ]
    print(json.dumps({"rows": [figure._asdict() for figure in figures]}) if options.json else as_text(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
