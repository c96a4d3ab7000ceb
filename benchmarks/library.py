"""Cost of a library with 10, 1,000 and 10,000 tools: opening, searching, and a whole run (P8).

    python benchmarks/library.py [--json] [--sizes 10,1000,10000]

The baseline of a search is one pass over all descriptions that counts shared words. A run has one model call, which a
script answers immediately; its cost is compared with that of the smallest library.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agent.alita import Alita
from agent.configuration.settings_sources import read_settings
from agent.store.journal import Journal
from agent.store.runs import journal_path
from mcp_tools.library import tool_files
from mcp_tools.library.library import Library
from mcp_tools.library.vocabulary import search_words
from mcp_tools.tool import Status, Tool

_VERBS = """
    convert count format parse rank encode simulate compare round merge solve schedule
"""
_THINGS = """
    primes temperatures calendar weekdays fractions matrix polynomial anagram palindrome roman
    numerals currency interest loan mortgage triangle circle polygon distance coordinates timezone
    duration leap years binary hexadecimal checksum cipher vowels sentences paragraph inventory
    recipe dice cards chess knight queens maze graph paths tree queue elevator traffic population
    growth decay chemistry molecule isotope voltage resistance orbit planet season rainfall
"""


def make_tool(number: int, generator: random.Random) -> Tool:
    """Return a tool with a distinct name and description."""
    verb, things = generator.choice(_VERBS.split()), generator.sample(_THINGS.split(), 3)
    name = f"{verb}_{things[0]}_{things[1]}_{number}"
    description = f"{verb.capitalize()} the {things[0]} of a given {things[1]} by its {things[2]}, variant{number}."
    parameters = {
        things[1]: {"type": "integer", "description": f"The {things[1]} to {verb}"},
        "limit": {"type": "integer"},
    }
    schema = {"type": "object", "properties": parameters, "required": list(parameters), "additionalProperties": False}
    source = (
        f'def {name}({things[1]}: int, limit: int) -> int:\n    """{description}"""\n    return {things[1]} % limit\n'
    )
    result = {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}
    return Tool(name, description, schema, result, source, status=Status.VERIFIED)


def fill(folder: Path, size: int) -> list[Tool]:
    """Write the files of many tools directly, without registering each one."""
    generator = random.Random(size)
    tools = [make_tool(number, generator) for number in range(size)]
    folder.mkdir(parents=True)
    for tool in tools:
        tool_files.source_path(folder, tool.name).write_bytes(tool.source.encode())
        tool_files.object_path(folder, tool.name).write_bytes(tool_files.encoded(tool))
    time.sleep(0.1)  # so that the folder's modification time differs from later changes
    return tools


def questions(tools: list[Tool], count: int = 200) -> list[tuple[str, str]]:
    """Return questions in the words of a tool, each with the tool's name."""
    generator = random.Random(7)
    chosen = [generator.choice(tools) for _ in range(count)]
    return [
        (f"What do I get when I {tool.description.rstrip('.').lower()} for 57 and 12?", tool.name) for tool in chosen
    ]


def scan(tools: list[Tool], query: str, limit: int = 5) -> list[str]:
    """Search without an index, as the baseline."""
    wanted = set(search_words(query))
    return [
        tool.name
        for tool in sorted(tools, key=lambda tool: -len(wanted & set(tool.description.lower().split())))[:limit]
    ]


def milliseconds(work: Callable[[], Any]) -> float:
    """Return the time of one call in milliseconds."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def measure(size: int) -> dict[str, Any]:
    """Return the figures for one library size."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "tools"
        tools = fill(folder, size)
        library = Library(folder, folder.parent / "data")
        built = milliseconds(lambda: library.search("warm up"))
        library.close()
        library = Library(folder, folder.parent / "data")
        opened = milliseconds(lambda: library.search("warm up"))
        asked = questions(tools)
        recalled = sum(name in [hit.tool.name for hit in library.search(query, 10)] for query, name in asked)
        times = [milliseconds(lambda query=query: library.search(query)) for query, _ in asked]  # type: ignore[misc]
        baseline = [milliseconds(lambda query=query: scan(tools, query)) for query, _ in asked[:20]]  # type: ignore[misc]
        registered = statistics.median(
            milliseconds(lambda n=n: library.register(make_tool(size + n, random.Random(n))))  # type: ignore[misc]
            for n in range(10)
        )
        library.close()
        home = Path(scratch) / "home"
        home.mkdir()
        beside = asyncio.run(run_beside(folder, home))
    return {
        "tools": size,
        **beside,
        "build_ms": round(built, 1),
        "open_ms": round(opened, 1),
        "search_p50_ms": round(statistics.median(times), 3),
        "search_p95_ms": round(statistics.quantiles(times, n=20)[18], 3),
        "scan_p50_ms": round(statistics.median(baseline), 3),
        "recall_at_10": round(recalled / len(asked), 3),
        "register_ms": round(registered, 1),
    }


async def run_beside(folder: Path, home: Path, repeat: int = 9) -> dict[str, float]:
    """Return the bytes of a request, the milliseconds of a run, and the extra time of a process's first run."""
    script = home / "script.jsonl"
    script.write_text(json.dumps({"text": "done", "repeat": True}))
    flags = {"model": f"scripted:{script}", "strategy": "standard", "tools_dir": str(folder), "use_cache": False}
    environment = {"PATH": os.environ["PATH"], "ALITA_HOME": str(home)}
    settings = read_settings(flags, environment=environment, current=home)
    took: list[float] = []
    async with Alita.open(settings) as alita:
        for number in range(repeat + 1):
            started = time.perf_counter()
            answer = await alita.ask(f"What is the weekday of the {number}th polygon in the calendar of rainfall?")
            took.append((time.perf_counter() - started) * 1000)
    [request] = [
        one.request
        for one in Journal.replay(journal_path(settings.runs_dir, answer.run_id)).records()
        if one.kind == "model"
    ]
    later = statistics.median(took[1:])
    return {"request_bytes": len(json.dumps(request)), "run_ms": round(later, 2), "start_ms": round(took[0] - later, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--sizes", default="10,1000,10000", help="numbers of tools")
    options = parser.parse_args()
    measure(1)  # so that one-time imports are not counted
    rows = [measure(int(size)) for size in options.sizes.split(",")]
    if options.json:
        print(json.dumps({"benchmark": "library", "rows": rows}))
        return
    print("  ".join(f"{column:>14}" for column in rows[0]))
    for row in rows:
        print("  ".join(f"{value:>14}" for value in row.values()))


if __name__ == "__main__":
    main()
