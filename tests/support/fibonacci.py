"""One question from decision to answer, as a script and as a server's replies: each call is known by what it asks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from support.openai_server import Step

QUESTION = "What is the 57th Fibonacci number?"
ANSWER = "365435296162"
CODE = """```python
def nth_fibonacci(n: int) -> int:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a
```"""
SPEC = {
    "purpose": "The n-th Fibonacci number.",
    "name": "nth_fibonacci",
    "parameters": [{"name": "n", "type": "int", "value": 57}],
    "returns": "int",
}
TESTS = [{"arguments": {"n": 10}, "expected": 55}, {"arguments": {"n": 2}, "expected": 1}]
CREATE = {"why": "It must be computed.", "next": {"action": "create_tool"}}
DONE = {"why": "The result is there.", "next": {"action": "answer", "answer": ANSWER}}

Line = dict[str, Any]


def decide(action: str, *, when: str = "", why: str = "", **more: Any) -> Line:
    """A line of a script in which the coordinator chooses an action."""
    chosen = {"why": why or f"{action} it is", "next": {"action": action, **more}}
    return {"role": "coordinator", "json": chosen, **({"when": when} if when else {})}


CREATION: list[Line] = [
    {"role": "writer", "when": "def nth_fibonacci", "text": CODE},
    {"role": "writer", "json": SPEC},
    {"role": "examiner", "json": TESTS},
]
"""What the creation of the tool asks, in any order."""
STORY: list[Line] = [
    decide("answer", answer=ANSWER, when="nth_fibonacci(n=57) = "),
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
    """What a request asks for: `decide`, `spec`, `examine` or `write`."""
    form = body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
    if "next" in form:
        return "decide"
    if "purpose" in form:
        return "spec"
    return "examine" if form else "write"


def reply(body: dict[str, Any]) -> Step:
    """The server's answer in the same story."""
    kind = kind_of(body)
    if kind == "write":
        return Step(text=CODE)
    if kind == "decide":
        value: Any = DONE if "nth_fibonacci(n=57) = " in text_of(body) else CREATE
    else:
        value = SPEC if kind == "spec" else {"value": TESTS}
    return Step(text=json.dumps(value))
