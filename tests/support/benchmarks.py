"""Question files, and a model server that answers them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from support.command import Ended, Terminal
from support.forked_command import ForkedCommand
from support.openai_server import Step

ROOT = Path(__file__).parents[2]
CODE = '''def scaled(n: int) -> int:
    """Multiply a number by FACTOR and add one.

    Args:
        n: Any integer that is to be multiplied.

    Returns:
        The product plus one.

    >>> scaled(2)
    EXAMPLE
    """
    return n * FACTOR + 1
'''


def answers(text: str, **more: Any) -> Step:
    """Return a reply that gives this answer."""
    return Step(text=text, **more)


def question_file(folder: Path, count: int, **members: Any) -> Path:
    """Write the questions `t0`, `t1` …; the true answer to each is its number. The levels take turns."""
    path = folder / "questions.jsonl"
    rows = [
        {"task_id": f"t{i}", "Question": f"Which card is number {i}?", "Level": i % 3 + 1, "Final answer": str(i)}
        | members
        for i in range(count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def asked(body: dict[str, Any]) -> str:
    """Return the number of the card in a request."""
    text = "\n".join(str(message["content"]) for message in body["messages"])
    return text.partition("Which card is number ")[2].partition("?")[0]


def command(*arguments: object, folder: Path, url: str, **options: Any) -> subprocess.Popen[str]:
    """Start the benchmark as a process in a folder."""
    environment = {"PATH": os.environ["PATH"], "ALITA_HOME": str(folder / "home"), "LANG": "C.UTF-8"}
    script = str(ROOT / "src" / "gaia_benchmark.py")
    return subprocess.Popen(
        [sys.executable, script, *map(str, arguments), "--model", "m", "--base-url", url],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def forked(*arguments: object, folder: Path, url: str) -> ForkedCommand:
    """Start the benchmark as a process, forked from one that has imported everything."""
    environment = {"PATH": os.environ["PATH"], "ALITA_HOME": str(folder / "home"), "LANG": "C.UTF-8"}
    given = ["gaia", *map(str, arguments), "--model", "m", "--base-url", url]
    return ForkedCommand(given, stdin=False, here=folder, variables=environment)


def called(*arguments: object, folder: Path, url: str) -> Ended:
    """Run the benchmark in this process."""
    return Terminal(folder, folder).call("gaia", *map(str, arguments), "--model", "m", "--base-url", url)


def finished(process: subprocess.Popen[str], timeout: float = 50) -> tuple[int, str, str]:
    """Wait for a process to end; return its exit code, stdout and stderr."""
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err


def creating(body: dict[str, Any]) -> Step:
    """Propose a tool for each question, with the same name but another factor; as the examiner, test it."""
    if not body.get("tools"):
        factor = int(re.findall(r"number by (\d+)", json.dumps(body["messages"]))[-1])
        tests = [
            {"call": f"scaled(n={n})", "because": "plus one", "result": str(n * factor + 1)} for n in (1, 5, 8, -4)
        ]
        return Step(text=json.dumps({"tests": tests}))
    if body["messages"][-1]["role"] == "tool":
        return answers(asked(body))
    factor = 70 + int(asked(body))
    code = CODE.replace("FACTOR", str(factor)).replace("EXAMPLE", str(2 * factor + 1))
    return Step(tools=[("create_tool", {"code": code, "arguments": {"n": int(asked(body)) + 30}})])
