"""Each kind of a journal's records as a call of a trace."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from agent.models.protocol import Usage
from agent.store.journal import Record
from agent.traces.trace import Call, Passage
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
