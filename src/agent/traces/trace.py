"""Reads a run from its folder as a tree of steps, calls, inputs and outputs.

If the journal is damaged, the damage is reported and everything before it is shown.
"""

from __future__ import annotations

import contextlib
import json
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agent.errors import RunError
from agent.models.protocol import Usage
from agent.records import from_plain
from agent.store.journal import Journal, Record
from agent.store.jsonl_log import whole_lines
from agent.store.redact import Redactor
from agent.store.runs import TRACEBACK, Run, find_run, journal_path, load_run
from mcp_tools.small_files import JOURNAL, RECORD, read_small
from mcp_tools.text import one_line
from mcp_tools.tool import Json, call_text

SCHEMA = 1
_TITLE = 120
_MEMBERS = {
    "sandbox": ("read arguments source", "value problem message stdout stderr input_schema output_schema"),
    "session": ("modules code", "value problem stdout stderr"),
    "library": ("search source", "found name source"),
    "external": ("search arguments", "reply tools"),
    "approval": ("source", "approved reason"),
    "conversation": ("message", "found"),
    "answers": ("question", "answer"),
    "file": ("path", "problem text summary beginning lost"),
    "web": ("search read", "problem results title markdown told"),
    "browse": ("task", "text problem steps files"),
}
"""For each kind of call, the members of its request to show (the main one last) and those of its output (the main one
first). Calls of other kinds, or without these members, are shown whole."""
_LABELS = {"source": "code", "value": "result", "results": "found"}
_TITLES = {"conversation": "earlier turns", "answers": "answers given before"}
_SIGNS = str.maketrans("", "", '{}"')
_MISSHAPEN = (KeyError, TypeError, AttributeError, ValueError, IndexError)


@dataclass(frozen=True, slots=True)
class Passage:
    """A labelled text in the input or output of a call."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call in the journal."""

    number: int
    kind: str
    title: str
    given: tuple[Passage, ...]
    """Input texts, the main one last."""
    came: tuple[Passage, ...]
    """Output texts, the main one first."""
    ok: bool
    seconds: float
    usage: Usage | None = None
    at: float | None = None
    """Unix time of the call; None if it is not in the journal."""


@dataclass(frozen=True, slots=True)
class TraceStep:
    """A step with its calls. Step 0 contains the calls before the first decision."""

    number: int
    action: str
    """The chosen action; an empty string if it is not in the journal."""
    why: str
    calls: tuple[RecordedCall, ...]
    input: str = ""
    found: str = ""
    """The shortened result; an empty string if the run ended before there was one."""

    @property
    def seconds(self) -> float:
        """Total duration of the calls, in seconds."""
        return sum(call.seconds for call in self.calls)

    @property
    def usage(self) -> Usage:
        """Total tokens and cost of the model calls."""
        return sum((call.usage for call in self.calls if call.usage), Usage())


@dataclass(frozen=True, slots=True)
class Trace:
    """A run with its steps and calls."""

    run: Run
    steps: tuple[TraceStep, ...]
    flaws: tuple[str, ...] = ()
    """A sentence about each unreadable part of the journal."""
    traceback: str = ""

    @property
    def calls(self) -> tuple[RecordedCall, ...]:
        """All calls, ordered by step and then by time."""
        return tuple(call for step in self.steps for call in step.calls)

    def as_json(self) -> dict[str, Json]:
        """Return the JSON object printed by `alita traces show --json`."""
        sums = ({"seconds": round(step.seconds, 6), "usage": asdict(step.usage)} for step in self.steps)
        steps: list[Json] = [{**asdict(step), **more} for step, more in zip(self.steps, sums, strict=True)]
        rest = {"flaws": list(self.flaws), "traceback": self.traceback}
        return {"schema": SCHEMA, "run": self.run.as_json(), "steps": steps, **rest}


def read_trace(runs: Path, run_id: str | None = None) -> Trace:
    """Read a run's trace, given the beginning or end of the run's id; by default, read that of the newest run.

    Raises:
        RunError: There is no such run, or the run's `run.json` is damaged.
    """
    return trace_of(runs, find_run(runs, run_id))


def trace_of(runs: Path, run_id: str) -> Trace:
    """Read a run's trace, given the run's full id.

    Raises:
        RunError: There is no such run, or the run's `run.json` is damaged.
    """
    run = load_run(runs, run_id)
    path = journal_path(runs, run.run_id)
    lines, flaws = _whole_lines(path)
    steps: list[TraceStep] = []
    try:
        journal = Journal(path, Redactor(), lines)
        by_step: dict[int, list[Record]] = defaultdict(list)
        for record in journal.records():
            by_step[record.step].append(record)
        for number in sorted({*by_step, *journal.marks}):
            mark, found = journal.marks.get(number), journal.found.get(number)
            action = mark.action if mark else "plan" if number == 0 else ""
            came = (found.input, found.found) if found else ()
            steps.append(
                TraceStep(number, action, mark.why if mark else "", tuple(map(call_of, by_step[number])), *came)
            )
    except RunError as error:
        flaws.append(error.message)
    except _MISSHAPEN:
        flaws.append("the lines of the journal are inconsistent and are not shown")
    broke = ""
    with contextlib.suppress(OSError):
        broke = read_small(runs / run.run_id / TRACEBACK, RECORD).decode(errors="replace")
    return Trace(run, tuple(steps), tuple(flaws), broke)


def _whole_lines(path: Path) -> tuple[list[dict[str, Json]], list[str]]:
    """Return a journal's lines before the first damaged one, and a sentence about the damage."""
    if not path.exists():
        return [], ["the run has no journal"]
    try:
        raw = read_small(path, JOURNAL)
    except OSError as error:
        return [], [f"the journal cannot be read: {error.strerror}"]
    lines, damaged = whole_lines(raw)
    if damaged:
        return lines, [f"line {damaged} of the journal is corrupt: this line and the following ones are not shown"]
    is_torn = raw and not raw.endswith(b"\n")
    return lines, ["the last line of the journal is incomplete: the run was stopped during a write"] if is_torn else []


def call_of(record: Record) -> RecordedCall:
    """Convert a record to a call. Calls of an unknown kind or form are shown unchanged."""
    usage, ok = None, True
    try:
        if record.kind == "model":
            title, given, came, usage = _model(record)
        else:
            title, given, came, ok = _other(record)
    except _MISSHAPEN:
        title, given, came = record.kind, _all("request", record.request), _all("output", record.output)
    if record.error is not None:
        came = [Passage("error", "\n".join(filter(None, (record.error["message"], record.error.get("remedy")))))]
        ok = False
    went_in, came_out = (tuple(passage for passage in passages if passage.text) for passages in (given, came))
    title = one_line(title, _TITLE)
    return RecordedCall(record.seq, record.kind, title, went_in, came_out, ok, record.seconds, usage, record.at)


def _model(record: Record) -> tuple[str, list[Passage], list[Passage], Usage]:
    request, output = record.request, record.output
    completions = output if isinstance(output, list) else [output] if output else []
    usage = sum((from_plain(Usage, c["usage"]) for c in completions), Usage())
    if record.error and record.error.get("usage"):
        usage = from_plain(Usage, record.error["usage"])
    first = completions[0] if completions else {}
    title = f"{first.get('role') or ''} {first.get('by') or request.get('model', '')}".strip()
    given = [Passage(str(message["role"]), _message_text(message, "content")) for message in request["messages"]]
    given += [Passage(name, _value_text(request[name])) for name in ("tools", "schema") if request.get(name)]
    return title, given, [Passage("reply", _message_text(completion, "text")) for completion in completions], usage


def _message_text(message: dict[str, Any], content: str) -> str:
    return "\n".join(_value_text(message[name]) for name in (content, "tool_calls") if message.get(name))


def _other(record: Record) -> tuple[str, list[Passage], list[Passage], bool]:
    request, output = record.request, record.output
    if isinstance(output, dict):
        output = output.get("outcome", output)
    elif output is not None:
        output = {"found": [item.get("name", item) if isinstance(item, dict) else item for item in output]}
    result = output or {}
    asked, shown = (names.split() for names in _MEMBERS.get(record.kind, ("", "")))
    given = [Passage(_LABELS.get(name, name), _value_text(request[name])) for name in asked if name in request]
    came = [Passage(_LABELS.get(name, name), _value_text(result[name])) for name in shown if name in result]
    ok = bool(result.get("ok", True) and not result.get("problem") and result.get("reply", {}).get("ok", True))
    given, came = given or _all("request", request), came or _all("output", output)
    return _title(record.kind, request) or one_line(given[0].text.translate(_SIGNS), 100), given, came, ok


def _title(kind: str, request: dict[str, Any]) -> str:
    match request:
        case {"entry": str(name), "arguments": arguments} | {"call": str(name), "arguments": arguments}:
            return call_text(name, arguments, longest=40)
        case {"entry": None} | {"code": _, "modules": _}:
            return "program"
        case {"do": verb, "name": name}:
            return f"{verb} {name}"
        case {"url": url, "task": task}:
            return f"browse {url}: {task}"
        case {"tool": tool, "source": _}:
            return f"keep {tool}?"
        case {"flaws": _}:
            return "look for damaged tools"
    verbs = ("search", "register", "get", "read", "script", "describe")
    return _TITLES.get(kind) or next((f"{verb} {request[verb]}" for verb in verbs if verb in request), "")


def _all(label: str, value: Json) -> list[Passage]:
    return [] if value is None else [Passage(label, _value_text(value))]


def _value_text(value: Json) -> str:
    if value in (None, "", [], {}):
        return ""
    if isinstance(value, dict) and "message" in value:  # the output reports a problem
        return "\n".join(str(member) for member in value.values() if member)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
