"""One question from decision to answer, as a script and as a server's replies: each call is known by what it asks."""

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
    """The function that an action is, and its arguments."""
    if action == "use_tool":
        return more["tool"], more.get("arguments", {})
    if action == "create_tool":
        more = {"code": CODE, "arguments": {"n": 57}, **more}
    if action == "read_file":
        more["source"] = more.pop("file", more.get("source", ""))
    return _FUNCTIONS.get(action, action), more


def decide(action: str, *, when: str = "", answer: str = "", **more: Any) -> Line:
    """A line of a script in which the coordinator chooses an action."""
    line: Line = {"role": "coordinator", **({"when": when} if when else {})}
    if action == "answer":
        return {**line, "text": answer}
    tool, arguments = call_of(action, **more)
    return {**line, "tool": tool, "arguments": arguments}


CREATION: list[Line] = [{"role": "examiner", "json": TESTS}]
"""What the creation of the tool asks besides."""
STORY: list[Line] = [
    decide("answer", answer=ANSWER, when=ANSWER),
    decide("create_tool", when=QUESTION),
    *CREATION,
]
"""The whole run. Lines are told apart by what they answer, so that a resumed run may begin anywhere."""


def write_script(path: Path, lines: list[Line]) -> str:
    """The name of a model that plays these lines."""
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return f"scripted:{path}"


def text_of(body: dict[str, Any]) -> str:
    """Everything that a request's messages say."""
    return "\n".join(str(message["content"]) for message in body["messages"])


def kind_of(body: dict[str, Any]) -> str:
    """What a request asks for: `decide` or `examine`."""
    return "decide" if body.get("tools") else "examine"


def reply(body: dict[str, Any]) -> Step:
    """The server's answer in the same story."""
    if kind_of(body) == "examine":
        return Step(text=json.dumps(TESTS))
    if ANSWER in text_of(body):
        return Step(text=ANSWER)
    return Step(tools=[call_of("create_tool")])
