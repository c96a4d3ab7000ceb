"""What the library costs: opening it, and finding tools in it, with 10, 1,000 and 10,000 tools.

    python benchmarks/library.py [--json] [--sizes 10,1000,10000]

The baseline beside each search is one pass over all descriptions that counts shared words.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcp_tools.library import Library, tool_files
from mcp_tools.library.index import search_words
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
    """A tool with words of its own, as a tool for a kind of question has them."""
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
    """Writes the files of many tools, without the care that one registration takes."""
    generator = random.Random(size)
    tools = [make_tool(number, generator) for number in range(size)]
    folder.mkdir(parents=True)
    for tool in tools:
        tool_files.source_path(folder, tool.name).write_bytes(tool.source.encode())
        tool_files.object_path(folder, tool.name).write_bytes(tool_files.encoded(tool))
    time.sleep(0.1)  # until the folder's time stamp has settled
    return tools


def questions(tools: list[Tool], count: int = 200) -> list[tuple[str, str]]:
    """A question in a tool's own words, and the name of that tool."""
    generator = random.Random(7)
    chosen = [generator.choice(tools) for _ in range(count)]
    return [
        (f"What do I get when I {tool.description.rstrip('.').lower()} for 57 and 12?", tool.name) for tool in chosen
    ]


def scan(tools: list[Tool], query: str, limit: int = 5) -> list[str]:
    """The baseline: every description is looked at."""
    wanted = set(search_words(query))
    return [
        tool.name
        for tool in sorted(tools, key=lambda tool: -len(wanted & set(tool.description.lower().split())))[:limit]
    ]


def milliseconds(work: Callable[[], Any]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def measure(size: int) -> dict[str, Any]:
    """The figures for one size."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "tools"
        tools = fill(folder, size)
        library = Library(folder)
        built = milliseconds(lambda: library.search("warm up"))
        library.close()
        library = Library(folder)
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
    return {
        "tools": size,
        "build_ms": round(built, 1),
        "open_ms": round(opened, 1),
        "search_p50_ms": round(statistics.median(times), 3),
        "search_p95_ms": round(statistics.quantiles(times, n=20)[18], 3),
        "scan_p50_ms": round(statistics.median(baseline), 3),
        "recall_at_10": round(recalled / len(asked), 3),
        "register_ms": round(registered, 1),
    }


def main() -> None:
    """Prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--sizes", default="10,1000,10000", help="numbers of tools")
    options = parser.parse_args()
    rows = [measure(int(size)) for size in options.sizes.split(",")]
    if options.json:
        print(json.dumps({"benchmark": "library", "rows": rows}))
        return
    print("  ".join(f"{column:>14}" for column in rows[0]))
    for row in rows:
        print("  ".join(f"{value:>14}" for value in row.values()))


if __name__ == "__main__":
    main()
