"""Whether the configured model leaves a good tool behind, and how long that takes after its answer.

    python benchmarks/created_tools.py --out tools.jsonl     # goes on where it was stopped
    python benchmarks/created_tools.py --out tools.jsonl --report

`requests.jsonl` holds twenty small computations that others would ask again, each with a second question of its kind.
Every one begins with an empty library. A tool is good if the second question is answered right, and with it.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from scoring import is_right

ALITA = Path(sys.executable).parent / "alita"
REQUESTS = Path(__file__).parent / "requests.jsonl"
SECONDS = 300


def ask(question: str, tools: Path) -> dict[str, Any]:
    """The last line of a run's stream, with the seconds until its answer was known."""
    command = [str(ALITA), question, "--json-stream", "--tools-dir", str(tools), "--max-seconds", str(SECONDS)]
    started, told, notes = time.monotonic(), 0.0, []
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        event: dict[str, Any] = {}
        for line in process.stdout:
            event = json.loads(line)
            if event["event"] == "step_started" and event["action"] == "answer":
                told = time.monotonic() - started
            if event["event"] == "note":
                notes.append(event["text"])
    return {**event, "told": told, "ended": time.monotonic() - started, "notes": notes}


def measure(row: dict[str, str]) -> dict[str, Any]:
    """A request, and the second question of its kind."""
    with tempfile.TemporaryDirectory() as folder:
        tools = Path(folder) / "tools"
        first = ask(row["question"], tools)
        kept = {path.name: path.read_text("utf-8") for path in sorted(tools.glob("*.py"))}
        second = ask(row["again"], tools) if kept else {}
    return {
        "question": row["question"],
        "right": is_right(first.get("answer", ""), row["answer"]),
        "answer": first.get("answer", ""),
        "told": first["told"],
        "after": first["ended"] - first["told"],
        "kept": kept,
        "again": second.get("answer", ""),
        "good": bool(second.get("tools_used")) and is_right(second.get("answer", ""), row["then"]),
        "reuse": second.get("ended"),
        "notes": first["notes"],
    }


def report(rows: list[dict[str, Any]]) -> None:
    """The figures, and why there is no tool where there is none."""
    kept = [row for row in rows if row["kept"]]
    good = [row for row in rows if row["good"]]
    print(
        f"{len(rows)} requests: {sum(row['right'] for row in rows)} right, {len(kept)} tools, {len(good)} of them good"
    )
    for name, values in {
        "until the answer": [row["told"] for row in rows],
        "after it, where a tool was kept": [row["after"] for row in kept],
        "after it, where none was": [row["after"] for row in rows if not row["kept"]],
        "the second question": [row["reuse"] for row in good],
    }.items():
        if values:
            print(f"{name}: median {statistics.median(values):.1f} s, at most {max(values):.1f} s")
    for row in rows:
        if not row["good"]:
            print(f"- {row['question']} {row['answer']!r} {list(row['kept'])} {row['again']!r} {row['notes'][-1:]}")


def main() -> None:
    """Measures what is not measured yet, and reports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--first", type=int, default=None, help="only so many requests")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    options = parser.parse_args()
    done = [json.loads(line) for line in options.out.read_text("utf-8").splitlines()] if options.out.exists() else []
    known = {row["question"] for row in done}
    for line in REQUESTS.read_text("utf-8").splitlines()[: options.first]:
        row = json.loads(line)
        if options.report or row["question"] in known:
            continue
        done.append(measure(row))
        with options.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(done[-1], ensure_ascii=False) + "\n")
    report(done)


if __name__ == "__main__":
    main()
