"""Runs an attached program, by rule, if the question asks what it prints."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Sequence
from pathlib import Path

from agent.context import Context
from agent.events import ToolCalled
from agent.material.attached import granted, paths_by_name
from agent.state import AttachedFile, State
from agent.steps import step
from agent.strategy import Update
from mcp_tools.packages import file_packages, imported
from mcp_tools.sandbox.protocol import Job, Limits, Outcome
from mcp_tools.text import one_line

LIMITS = Limits(wall_seconds=60, cpu_seconds=60, memory_mb=1024)
_OUTPUT = re.compile(
    r"\bprint(?:s|ed|out)?\b|\boutputs?\b|\b(?:run|runs|running|execut\w+)\b|\b(?:ends?|finish\w*) (?:with|at|on)\b"
    r"|\bresult of (?:the |this )?(?:attached )?(?:script|program|code|file)|\breturn(?:s|ed)?\b|\bconsole\b",
    re.IGNORECASE,
)
_LAST = re.compile(
    r"\b(?:final|last|at the (?:very )?end|ends? (?:with|on|at)|finish\w* (?:with|on|at))\b", re.IGNORECASE
)
_FIRST = re.compile(r"\bfirst (?:line|number|value|word|output|thing)\b", re.IGNORECASE)
_NUMERIC = re.compile(r"\b(?:number|numeric|integer|figure)\b", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?(?:[eE][-+]?\d+)?")


def asked_script(state: State) -> AttachedFile | None:
    """The attached Python program whose output is asked for."""
    scripts = [file for file in state.get("attached", []) if not file["problem"] and file["name"].endswith(".py")]
    return scripts[0] if len(scripts) == 1 and _OUTPUT.search(state["question"]) else None


async def _outcome_of(file: AttachedFile, state: State, context: Context) -> Outcome | None:
    """Runs an attached program as it is, its standard input empty; None when it cannot be read."""
    source = await context.reader.script(Path(file["path"]))
    if not source.strip():
        return None
    source = with_paths(source, state.get("attached", []))
    job = Job(source, None, read=granted(state, context), packages=imported(source, file_packages()), limits=LIMITS)
    outcome = await context.sandbox.run(job)
    said = outcome.stdout.strip() or (outcome.problem.message if outcome.problem else "it printed nothing")
    context.emit(ToolCalled(file["name"], {}, outcome.ok, one_line(said), outcome.seconds))
    return outcome


async def run_script(state: State, context: Context) -> Update | None:
    """The step that runs the attached program whose output is asked for; None where there is none, or it was run."""
    file = asked_script(state)
    if file is None or any(done["finding"].startswith(f"Running {file['name']} ") for done in state.get("steps", [])):
        return None
    outcome = await _outcome_of(file, state, context)
    if outcome is None:
        return None
    printed = outcome.stdout.strip()
    said = [f"Running {file['name']} printed:\n{printed}" if printed else ""]
    said += [f"Running {file['name']} ended with {outcome.problem.message}" if outcome.problem else ""]
    finding = "\n".join(filter(None, said)) or f"Running {file['name']} printed nothing."
    value = asked_part(state["question"], printed) if outcome.ok else ""
    return {"steps": [step(state, ok=outcome.ok or bool(printed), finding=finding, value=value or None)]}


def asked_part(question: str, printed: str) -> str:
    """Of what a program printed the part that is asked for: the last or the first line, a number in it, or all."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    if not lines:
        return ""
    part = lines[-1] if _LAST.search(question) else lines[0] if _FIRST.search(question) else "\n".join(lines)
    numbers = _NUMBER.findall(part)
    if _NUMERIC.search(question) and "\n" not in part and numbers:
        return str(numbers[0] if _FIRST.search(question) else numbers[-1])
    return part


def failure_of(outcome: Outcome) -> str:
    """Why a program gave nothing."""
    problem = outcome.problem
    return f"{problem.message}\n{problem.traceback}".strip() if problem else "it printed nothing"


def with_paths(source: str, files: Sequence[AttachedFile]) -> str:
    """The program with the path of a file for each text that is its name; else unchanged, to the last character."""
    places = paths_by_name(files)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    named = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _meant(node.value) in places
    ]
    if not named:
        return source
    for node in named:
        assert isinstance(node.value, str)
        node.value = places[_meant(node.value)]
    return ast.unparse(tree) + "\n"


def _meant(text: str) -> str:
    return text.removeprefix("./")
