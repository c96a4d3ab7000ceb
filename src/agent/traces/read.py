"""Reads a run's folder into a trace. Damage is told, and what stands before it is shown."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from agent.errors import RunError
from agent.models.protocol import Usage
from agent.store.journal import Journal, Record
from agent.store.redact import Redactor
from agent.store.runs import TRACEBACK, find_run, journal_path, load_run
from agent.traces.trace import Call, Passage, Trace, TraceStep
from mcp_tools.text import one_line
from mcp_tools.tool import Json, call_text

TITLE = 120


def call_of(record: Record) -> Call:
    """A record as a call. One of an unknown kind, or of an unknown shape, is shown as JSON."""
    describe = _KINDS.get(record.kind, _any)
    try:
        return describe(record)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError):
        return _any(record)


def _call(
    record: Record,
    title: str,
    given: list[Passage],
    came: list[Passage],
    *,
    ok: bool = True,
    usage: Usage | None = None,
) -> Call:
    if record.error is not None:
        came = [Passage("error", "\n".join(filter(None, (record.error["message"], record.error.get("remedy")))))]
        ok = False
    kept = tuple(passage for passage in given if passage.text), tuple(passage for passage in came if passage.text)
    return Call(record.seq, record.kind, one_line(title, TITLE), *kept, ok, record.seconds, usage, record.at)


def _model(record: Record) -> Call:
    request, output = record.request, record.output
    completions = output if isinstance(output, list) else [output] if output else []
    usage = sum((Usage(**c["usage"]) for c in completions), Usage())
    if record.error and record.error.get("usage"):
        usage = Usage(**record.error["usage"])
    first = completions[0] if completions else {}
    title = f"{first.get('role') or ''} {first.get('by') or request.get('model', '')}".strip()
    samples = request.get("samples", 1)
    given = [Passage(str(message["role"]), _content(message)) for message in request["messages"]]
    given += [Passage(name, _text(request[name])) for name in ("tools", "schema") if request.get(name)]
    came = [
        Passage("reply" if len(completions) == 1 else f"reply {n}", _reply(c)) for n, c in enumerate(completions, 1)
    ]
    return _call(record, f"{title} × {samples}" if samples > 1 else title, given, came, usage=usage)


def _content(message: dict[str, Any]) -> str:
    calls = message.get("tool_calls")
    return "\n".join(filter(None, (_text(message.get("content") or ""), _text(calls) if calls else "")))


def _reply(completion: dict[str, Any]) -> str:
    calls = [f"{call['name']}({call['arguments']})" for call in completion.get("tool_calls", ())]
    return "\n".join(filter(None, (completion["text"], *calls)))


def _sandbox(record: Record) -> Call:
    request, output = record.request, record.output or {}
    source = Passage("code", request["source"])
    if "describe" in request:
        return _call(record, f"schema of {request['describe']}", [source], [Passage("schema", _text(output))])
    entry, arguments = request["entry"], request["arguments"]
    problem = output.get("problem")
    given = [
        Passage("arguments", _text(arguments) if arguments else ""),
        source,
        Passage("files", "\n".join(request.get("read", ()))),
        Passage("tools", ", ".join(request.get("modules", ()))),
    ]
    failed = f"{problem['kind']}: {problem['message']}\n{problem['traceback']}".strip() if problem else ""
    came = [
        Passage("result", _text(output.get("value")) if output.get("ok") and entry else ""),
        Passage("problem", failed),
        Passage("stdout", output.get("stdout", "")),
        Passage("stderr", output.get("stderr", "")),
    ]
    title = call_text(entry, arguments, longest=40) if entry else "program"
    return _call(record, title, given, came, ok=bool(output.get("ok")))


def _library(record: Record) -> Call:
    request, output = record.request, record.output
    if "search" in request:
        found = ", ".join(tool["name"] for tool in output or ()) or "nothing"
        return _call(
            record, f"search: {request['search']}", [Passage("query", request["search"])], [Passage("found", found)]
        )
    if "register" in request:
        came = [Passage("kept", output["name"])] if output else []
        return _call(record, f"register {request['register']}", [Passage("code", request["source"])], came)
    if "get" in request:
        came = [Passage("code", output["source"])] if output else []
        return _call(record, f"get {request['get']}", [], came)
    if "flaws" not in request:
        return _any(record)
    return _call(record, "look for damaged tools", [], [Passage("found", "\n".join(output or ()) or "none")])


def _external(record: Record) -> Call:
    """A search among the tools of other people's servers, or a call of one."""
    request, output = record.request, record.output or {}
    if "search" in request:
        found = ", ".join(tool["name"] for tool in output.get("tools", ())) or "nothing"
        return _call(record, f"search: {request['search']}", [], [Passage("found", found)])
    arguments, reply = request["arguments"], output["reply"]
    title = call_text(request["call"], arguments, longest=40)
    given = [Passage("arguments", _text(arguments) if arguments else "")]
    return _call(record, title, given, [Passage("reply", _text(reply))], ok=bool(reply["ok"]))


def _approval(record: Record) -> Call:
    ruling = record.output or {}
    said = "kept" if ruling.get("approved") else f"not kept: {ruling.get('reason', '')}"
    code = Passage("code", record.request["source"])
    return _call(record, f"keep {record.request['tool']}?", [code], [Passage("decision", said)])


def _conversation(record: Record) -> Call:
    message = Passage("message", record.request["message"])
    return _call(record, "earlier turns", [message], [Passage("turns", _text(record.output))])


def _answers(record: Record) -> Call:
    found = record.output["answer"] if record.output else "not answered before"
    return _call(
        record, "answers given before", [Passage("question", record.request["question"])], [Passage("found", found)]
    )


def _file(record: Record) -> Call:
    """A look at an attached file, or the reading of a part of it."""
    request, output = record.request, record.output or {}
    if "script" in request:
        return _call(record, f"script {request['script']}", [], [Passage("code", output.get("text", ""))])
    if problem := output.get("problem"):
        title = f"{request['do']} {request['name']}"
        return _call(record, title, [Passage("request", _text(request))], [Passage("problem", problem)], ok=False)
    if request["do"] == "look":
        came = [Passage("preview", _text(output))]
        return _call(record, f"look at {request['name']}", [Passage("file", request["path"])], came)
    came = [Passage("text", output["text"]), Passage("not shown", "\n".join(output["lost"]))]
    return _call(record, f"read {request['name']}: {output['where']}", [Passage("file", request["path"])], came)


def _web(record: Record) -> Call:
    """A search, or the reading of what stands at an address."""
    request, output = record.request, record.output or {}
    problem = output.get("problem")
    failed = Passage("problem", "\n".join(filter(None, (problem["message"], problem["remedy"]))) if problem else "")
    if "search" in request:
        told = "\n".join(f"{event['source']}: {event['message']}" for event in output.get("told", ()))
        found = "\n\n".join(_hit(result) for result in output.get("results", ()))
        came = [Passage("engines that gave nothing", told), Passage("found", found), failed]
        return _call(record, f"search {request['search']}", [Passage("request", _text(request))], came, ok=not problem)
    came = [Passage("page", output.get("markdown", "")), failed]
    came.insert(0, Passage("title", output.get("title", "")))
    return _call(record, f"read {request['read']}", [Passage("address", request["read"])], came, ok=not problem)


def _hit(result: dict[str, Any]) -> str:
    return f"{result['title']}\n{result['url']}\n{result['snippet']}".strip()


def _browse(record: Record) -> Call:
    """What was done in a browser."""
    request, output = record.request, record.output or {}
    steps = [
        f"{step['step']}. {step['action']} — {step['url']}{' ✗ ' + step['message'] if step['message'] else ''}"
        for step in output.get("steps", ())
    ]
    came = [
        Passage("steps", "\n".join(steps)),
        Passage("result", output.get("text", "")),
        Passage("problem", output.get("problem", "")),
        Passage("downloaded", "\n".join(output.get("files", ()))),
    ]
    title = f"browse {request['url']}: {request['task']}"
    return _call(record, title, [Passage("task", request["task"])], came, ok=bool(output.get("ok")))


def _any(record: Record) -> Call:
    came = [] if record.error else [Passage("output", _text(record.output))]
    return _call(record, record.kind, [Passage("request", _text(record.request))], came)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


_KINDS: dict[str, Callable[[Record], Call]] = {
    "model": _model,
    "sandbox": _sandbox,
    "library": _library,
    "external": _external,
    "approval": _approval,
    "conversation": _conversation,
    "answers": _answers,
    "file": _file,
    "browse": _browse,
    "web": _web,
}


def read_trace(runs: Path, run_id: str | None = None) -> Trace:
    """The trace of a run, named by its id or the beginning or end of it; without one, of the newest.

    Raises:
        RunError: There is no such run, or its `run.json` is damaged.
    """
    return trace_of(runs, find_run(runs, run_id))


def trace_of(runs: Path, run_id: str) -> Trace:
    """The trace of the run with exactly this id.

    Raises:
        RunError: There is no such run, or its `run.json` is damaged.
    """
    run = load_run(runs, run_id)
    lines, flaws = _whole_lines(journal_path(runs, run.run_id))
    journal, records = _recorded(journal_path(runs, run.run_id), lines, flaws)
    by_step: dict[int, list[Record]] = defaultdict(list)
    for record in records:
        by_step[record.step].append(record)
    marks = journal.marks if journal else {}
    steps = []
    for number in sorted({*by_step, *marks}):
        mark = marks.get(number)
        action = mark.action if mark else "plan" if number == 0 else ""
        calls = tuple(call_of(record) for record in by_step[number])
        steps.append(TraceStep(number, action, mark.why if mark else "", calls))
    return Trace(run, tuple(steps), tuple(flaws), _traceback(runs / run.run_id / TRACEBACK))


def _whole_lines(path: Path) -> tuple[list[dict[str, Json]], list[str]]:
    """The lines of a journal up to the first that is damaged, and what is wrong with the rest."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return [], ["the run has no journal"]
    except OSError as error:
        return [], [f"the journal cannot be read: {error.strerror}"]
    whole, _, rest = raw.rpartition(b"\n")
    flaws = ["the journal ends within a line: the run was stopped while it wrote"] if rest else []
    lines: list[dict[str, Json]] = []
    for number, line in enumerate(whole.split(b"\n") if whole else [], start=1):
        try:
            value = json.loads(line.decode("utf-8", "surrogatepass"))
            if not isinstance(value, dict):
                raise ValueError("no object")
        except (ValueError, RecursionError):
            after = whole.count(b"\n") + 1 - number
            also = f", nor the {after} lines behind it" if after else ""
            return lines, [f"line {number} of the journal is damaged: neither it is shown{also}"]
        lines.append(value)
    return lines, flaws


def _recorded(path: Path, lines: list[dict[str, Json]], flaws: list[str]) -> tuple[Journal | None, list[Record]]:
    """The calls of as many lines as make a journal."""
    for count in _counts(len(lines)):
        try:
            journal = Journal(path, Redactor(), lines[:count])
            records = list(journal.records())
        except RunError as error:
            flaws.append(error.message)
            return None, []
        except (KeyError, TypeError, AttributeError, ValueError, IndexError):
            continue
        if count < len(lines):
            flaws.append(f"the last {len(lines) - count} lines of the journal do not fit together: they are not shown")
        return journal, records
    return None, []


def _counts(lines: int) -> Iterable[int]:
    """All lines, and where these do not fit together, ever fewer."""
    step = max(1, lines // 50)
    return [*range(lines, 0, -step), 0]


def _traceback(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
