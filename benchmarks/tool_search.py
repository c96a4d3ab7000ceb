"""Measure how often the search finds the right tool, with questions and tools by other authors.

    python benchmarks/tool_search.py FOLDER [--sets simple_python,multiple] [--show 10]

FOLDER is `bfcl_eval/data` of the package bfcl-eval (Berkeley Function-Calling Leaderboard). All functions of a set form
a library. A question counts if all functions of its answer are among the first five results. In many sets, more than
five functions would be right.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import time
from pathlib import Path
from typing import Any

from mcp_tools.library.index import Index
from mcp_tools.tool import Tool

_FIRST = 5
_SETS = "simple_python,multiple,parallel,parallel_multiple"


def rows(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def plain(name: str) -> str:
    """Return a function's name as a tool name: `triangle.area` becomes `triangle_area`."""
    return re.sub(r"[^a-z0-9_]", "_", name.lower())


def questions_of(folder: Path, name: str) -> tuple[dict[str, Tool], list[tuple[str, list[str]]]]:
    """Return the tools of a set, and each question with the tools that answer it."""
    tools: dict[str, Tool] = {}
    asked = []
    answers = {one["id"]: one["ground_truth"] for one in rows(folder / "possible_answer" / f"BFCL_v4_{name}.json")}
    for row in rows(folder / f"BFCL_v4_{name}.json"):
        for function in row["function"]:
            called, schema = plain(function["name"]), {"properties": function["parameters"].get("properties", {})}
            tools.setdefault(called, Tool(called, function["description"], schema, {}, ""))
        wanted = dict.fromkeys(plain(called) for calls in answers[row["id"]] for called in calls)
        text = " ".join(message["content"] for message in row["question"][0] if message["role"] == "user")
        asked.append((text, list(wanted)))
    return tools, asked


def measure(folder: Path, name: str, show: int) -> dict[str, Any]:
    """Return the figures of one set, and print up to `show` questions whose tools were not found."""
    tools, asked = questions_of(folder, name)
    index = Index(None)
    index.refresh(dict.fromkeys(tools, ""), tools.get)
    took, found = [], 0
    for question, wanted in asked:
        started = time.process_time()
        names = [match.name for match in index.search(question, _FIRST)]
        took.append(1000 * (time.process_time() - started))
        is_found = set(wanted) <= set(names)
        found += is_found
        if not is_found and show > 0:
            show -= 1
            print(f"{question[:200]!r}\n  wanted {wanted}\n  found  {names}")
    index.close()
    return {
        "set": name,
        "tools": len(tools),
        "questions": len(asked),
        "recall_at_5": round(found / len(asked), 3),
        "cpu_p50_ms": round(statistics.median(took), 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", default=_SETS)
    parser.add_argument(
        "--show", type=int, default=0, help="number of questions per set to print whose tools were not found"
    )
    options = parser.parse_args()
    for name in options.sets.split(","):
        print(json.dumps(measure(options.folder, name, options.show)))


if __name__ == "__main__":
    main()
