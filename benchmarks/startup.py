"""Start-up time of commands (P5), and time of a whole question without the model (P6).

    python benchmarks/startup.py [--json] [--repeat 9]
    python benchmarks/startup.py --embedded [--json]       # a few minutes, on an otherwise idle machine

`--embedded` measures the embedded model (P15): its first answer after a server start, without and with stored prompt
prefixes, and its answer to another question of the same kind. The time ends with the answer, before a tool is made from
it. The weights must already be downloaded.

Every command runs in a new process with a scripted model. The baselines run in the same environment and alternate with
the commands: `python -c pass` for help and version, `python -c "import langgraph.graph, openai"` for questions. The
figures are medians of wall time.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from overhead_processes import the_tool
from table import Figure, as_text, at_most, ratio_at_most

from agent.configuration.paths import find_folders
from agent.models.embedded.prefixes import FOLDER, StoredPrefixes
from mcp_tools.library.library import Library

FIRST = ("How many prime numbers lie between 1000 and 2000?", "135")
AGAIN = ("How many prime numbers lie between 3000 and 5000?", "239")
ALITA = str(Path(sys.executable).with_name("alita"))
PYTHON = sys.executable
DIRECT = [{"text": "Good morning!"}]
WITH_TOOL: list[Any] = [
    {"tool": "multiply_modulo", "arguments": {"number": 1000, "factor": 7, "modulus": 97}},
    {"text": "16"},
]


def commands(home: Path) -> dict[str, tuple[list[str], str]]:
    """Return the commands by name, each with the text that it must print."""
    for name, script in (("direct", DIRECT), ("tool", WITH_TOOL)):
        lines = "".join(json.dumps(line) + "\n" for line in script)
        (home / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    Library(home / "tools", find_folders({"ALITA_HOME": str(home)}).data).register(the_tool())

    def ask(name: str, question: str) -> list[str]:
        return [ALITA, "ask", "-q", "--no-cache", "--model", f"scripted:{home / name}.jsonl", question]

    return {
        "python": ([PYTHON, "-c", "pass"], ""),
        "help": ([ALITA, "--help"], "Usage: alita"),
        "version": ([ALITA, "--version"], "alita"),
        "imports": ([PYTHON, "-c", "import langgraph.graph, openai"], ""),
        "direct": (ask("direct", "Good morning, dear machine!"), "Good morning!"),
        "tool": (ask("tool", "Multiply 1000 by the factor 7: what remains for the modulus 97?"), "16"),
    }


def seconds(command: list[str], expected: str, home: Path, **more: str) -> float:
    """Return the wall time of one process, which must print `expected`."""
    started = time.perf_counter()
    done = subprocess.run(
        command,
        env=surroundings(home, more),
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    taken = time.perf_counter() - started
    if done.returncode or not done.stdout.startswith(expected):
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return taken


def seconds_to(command: list[str], expected: str, home: Path, **more: str) -> float:
    """Return the wall time until a process prints `expected`. It may continue, for example to make a tool."""
    started, taken, lines = time.perf_counter(), 0.0, []
    with subprocess.Popen(
        command,
        env=surroundings(home, more),
        cwd=home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        for line in process.stdout or ():
            lines.append(line)
            if not taken and expected in re.findall(r"\w+", line):
                taken = time.perf_counter() - started
    if process.returncode or lines[-1].strip() != expected:
        raise SystemExit(f"{' '.join(command)} failed:\n{''.join(lines)}")
    return taken


def surroundings(home: Path, more: dict[str, str]) -> dict[str, str]:
    """Return an environment with its own home, without the user's settings."""
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL", "TMPDIR")}
    return {**kept, "ALITA_HOME": str(home), "ALITA_TOOLS_DIR": str(home / "tools"), **more}


def measure(repeat: int) -> dict[str, float]:
    """Return median milliseconds by command.

    Each round runs every command once; the first round warms the disk cache.
    """
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        found = commands(home)
        taken: dict[str, list[float]] = {name: [] for name in found}
        for turn in range(repeat + 1):
            for name, (command, expected) in found.items():
                one = seconds(command, expected, home)
                if turn:
                    taken[name].append(1000 * one)
    return {name: statistics.median(values) for name, values in taken.items()}


def table(found: dict[str, float]) -> list[Figure]:
    """Return the figures with their baselines and targets."""
    return [
        ratio_at_most("P5", "alita --help, ms (python -c pass)", found["help"], found["python"], 12),
        ratio_at_most("P5", "alita --version, ms (python -c pass)", found["version"], found["python"], 12),
        ratio_at_most("P6", "a question answered directly, ms (bare imports)", found["direct"], found["imports"], 1.15),
        ratio_at_most("P6", "a question with a library tool, ms (bare imports)", found["tool"], found["imports"], 1.15),
    ]


def first_answers() -> list[Figure]:
    """Measure the embedded model's first answer without and with stored prefixes, and its next answer."""
    with tempfile.TemporaryDirectory() as folder:
        home, models = Path(folder), str(find_folders(os.environ).data / "models")

        def ask(question: tuple[str, str], tools: str) -> float:
            command = [ALITA, "ask", "--no-cache", "--model", "embedded", question[0]]
            return seconds_to(command, question[1], home, ALITA_MODELS_DIR=models, ALITA_TOOLS_DIR=str(home / tools))

        def end_server() -> None:
            seconds([ALITA, "model", "serve", "--stop"], "", home)

        try:
            without = ask(FIRST, "one")
            [kept] = (home / "cache" / FOLDER).iterdir()
            while StoredPrefixes(kept).missing():
                time.sleep(1)
            end_server()
            first, again = ask(FIRST, "two"), ask(AGAIN, "two")
        finally:
            end_server()
    return [
        at_most("P15", "first answer, no prefix kept, s", without, 30),
        at_most("P15", "first answer, prefixes kept, s", first, 30),
        at_most("P15", "the next of its kind, s", again, 5),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--repeat", type=int, default=9, help="processes of each kind")
    parser.add_argument("--embedded", action="store_true", help="measure the embedded model's first answers instead")
    options = parser.parse_args()
    found = {} if options.embedded else measure(options.repeat)
    rows = first_answers() if options.embedded else table(found)
    if options.json:
        print(json.dumps({"benchmark": "startup", "rows": [row._asdict() for row in rows], "figures": found}))
        return
    print(as_text(rows))


if __name__ == "__main__":
    main()
