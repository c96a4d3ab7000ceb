"""One question from decision to answer, as a script and as a server's replies. A call's content selects the reply."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.openai_server import Step

QUESTION = "What is the 57th Fibonacci number?"
ANSWER = "365435296162"
CODE = '''"""Fibonacci numbers."""


def nth_fibonacci(n: int) -> int:
    """Compute a Fibonacci number.

    Args:
        n: Position in the sequence, counted from 1.

    Returns:
        The n-th Fibonacci number; the first two are 1.

    Raises:
        ValueError: If n is below 1.

    Example:
        >>> nth_fibonacci(10)
        55
    """
    if n < 1:
        raise ValueError(f"n must be at least 1, not {n}")
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a
'''
TESTS = {
    "tests": [
        {"call": f"nth_fibonacci({n})", "because": "the sequence", "result": result}
        for n, result in ((1, "1"), (2, "1"), (3, "2"), (10, "55"), (0, "error"))
    ]
}

Line = dict[str, Any]
_FUNCTIONS = {"read_file": "read", "run_code": "run_python"}


def call_of(action: str, **more: Any) -> tuple[str, dict[str, Any]]:
    """Return the function of an action, and its arguments."""
    if action == "use_tool":
        return more["tool"], more.get("arguments", {})
    if action == "create_tool":
        more = {"code": CODE, "arguments": {"n": 57}, **more}
    if action == "read_file":
        more["source"] = more.pop("file", more.get("source", ""))
    return _FUNCTIONS.get(action, action), more


def decide(action: str, *, when: str = "", answer: str = "", **more: Any) -> Line:
    """Return a script line in which the coordinator chooses an action."""
    line: Line = {"role": "coordinator", **({"when": when} if when else {})}
    if action == "answer":
        return {**line, "text": answer}
    tool, arguments = call_of(action, **more)
    return {**line, "tool": tool, "arguments": arguments}


CREATION: list[Line] = [{"role": "examiner", "json": TESTS}]
"""The other replies while the tool is created."""
STORY: list[Line] = [
    decide("answer", answer=ANSWER, when=ANSWER),
    decide("create_tool", when=QUESTION),
    *CREATION,
]
"""The whole run. Each line says which request it answers, so a resumed run may start anywhere."""


def write_script(path: Path, lines: list[Line]) -> str:
    """Write a script, and return the name of the model that plays it."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return f"scripted:{path}"


def text_of(body: dict[str, Any]) -> str:
    """Return the text of all messages in a request."""
    return "\n".join(str(message["content"]) for message in body["messages"])


def kind_of(body: dict[str, Any]) -> str:
    """Return the purpose of a request: `decide` or `examine`."""
    return "decide" if body.get("tools") else "examine"


def reply(body: dict[str, Any]) -> Step:
    """Return the server's reply in the same run."""
    if kind_of(body) == "examine":
        return Step(text=json.dumps(TESTS))
    if ANSWER in text_of(body):
        return Step(text=ANSWER)
    return Step(tools=[call_of("create_tool")])
