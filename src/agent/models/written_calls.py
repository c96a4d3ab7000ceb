"""Function calls that a model wrote into its text, in the formats that models are trained on.

Servers often fail to parse such calls, so that they arrive as text.
"""

from __future__ import annotations

import ast
import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from agent.models.json_text import DECODER
from agent.models.protocol import ToolCall
from agent.models.thoughts import code_spans, is_within

Functions = Mapping[str, dict[str, Any]]

_MARK = re.compile(
    r"<\|?/?(?:antml:|minimax:)?(?:tool_?calls?|function_?calls?|tool|function|invoke|call)\b[^<>\n]*>"
    r"|<function=|<tool_call>|\[TOOL_CALLS\]|<\|python_tag\|>|functools(?=\[)|<\|START_ACTION\|>|<[｜|]DSML[｜|]\w+[^<>\n]*>"
    r"|<[｜|]tool[▁_][\w▁]+[｜|]>|<\|tool_calls?_\w+\|>",
    re.IGNORECASE,
)
_NAME_KEYS, _ARGUMENT_KEYS = ("name", "function", "tool", "tool_name", "action", "recipient_name"), (
    "arguments", "parameters", "args", "input", "action_input", "params", "parameter",
)  # fmt: skip
_TALK = re.compile(
    r"example|look like|looks like|format|syntax|template|such as|e\.g\.|for instance|markup", re.IGNORECASE
)
_ABOUT_CALLS = re.compile(r"(tool|function)[ _-]?call|markup|<tool|<function|json call", re.IGNORECASE)
_FENCED = re.compile(r"```[\w+-]*[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
_INVOKED = re.compile(
    r"<(?:antml:|[｜|]DSML[｜|])?(?:function|invoke|tool_call)(?:\s*=\s*|\s+name\s*=\s*)[\"']?([\w.:-]+)[\"']?[^<>]*>(.*?)"
    r"(?=</(?:antml:|[｜|]DSML[｜|])?(?:function|invoke|tool_call)\s*>|<(?:antml:|[｜|]DSML[｜|])?(?:function=|invoke\s)|\Z)",
    re.DOTALL,
)
_PARAMETER = re.compile(
    r"<(?:antml:|[｜|]DSML[｜|])?param(?:eter)?(?:\s*=\s*|\s+name\s*=\s*)[\"']?([^\"'<>\s]+)[\"']?[^<>]*>(.*?)"
    r"(?:</(?:antml:|[｜|]DSML[｜|])?param(?:eter)?\s*>|(?=<(?:antml:|[｜|]DSML[｜|])?param(?:eter)?[\s=])|\Z)",
    re.DOTALL,
)
_KEYED = re.compile(r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)
_KEYED_NAME = re.compile(r"<tool_call>\s*([\w.-]+)\s*(?=<arg_key>)(.*?)(?:</tool_call>|\Z)", re.DOTALL)


class UnreadCallError(ValueError):
    """The text contains a call that cannot be parsed."""


def written_calls(text: str, functions: Functions, question: str = "") -> tuple[list[ToolCall], str]:
    """Return the calls in a text, and the text before them.

    Args:
        text: The reply, without reasoning.
        functions: Definitions of the available functions, by name.
        question: The user's question. If it is about function calls, calls in the text are probably examples.

    Raises:
        UnreadCallError: There is a call, but its function cannot be recognised.
    """
    code = code_spans(text)
    mark = next((m for m in _MARK.finditer(text) if _is_real(text, m, code, question)), None)
    if mark is not None:
        if calls := list(_marked_calls(text[mark.start() :], functions)):
            return calls, text[: mark.start()].strip()
        raise UnreadCallError("the call cannot be read")
    if not any(f'"{key}"' in text for key in _ARGUMENT_KEYS) and not any(f"{name}(" in text for name in functions):
        return [], text
    before, body = text, text.strip()
    if len(fenced := list(_FENCED.finditer(text))) >= 1:
        before, after = text[: fenced[0].start()].strip(), text[fenced[-1].end() :].strip()
        if after or _TALK.search(before) or _ABOUT_CALLS.search(question):
            return [], text
        body = "\n".join(found[1] for found in fenced).strip()
    elif (start := re.search(r"^\s*[\[{]", text, re.MULTILINE)) is not None and not text[: start.start()].count("`"):
        before, body = text[: start.start()].strip(), text[start.start() :].strip()
        if _TALK.search(before) and _ABOUT_CALLS.search(question):
            return [], text
    else:
        before = ""
    calls = [call for call in (*_json_calls(body), *_python_calls(body, functions)) if call.name in functions]
    return (calls, before if before != text else "") if calls else ([], text)


def _is_real(text: str, mark: re.Match[str], code: list[tuple[int, int]], question: str) -> bool:
    """Return True if a mark starts a real call: at the beginning of a line, or in a block that ends the text.

    Elsewhere the text only mentions it.
    """
    before = text[: mark.start()]
    is_first = not before.strip(" \n`")
    if is_within(mark.start(), code) and (_ABOUT_CALLS.search(question) or not is_first):
        return False
    if re.match(r"<(tool|function|call|invoke)>", mark[0]) and '"name"' not in text[mark.end() : mark.end() + 200]:
        return False
    begins = not before.rpartition("\n")[2].strip(" `")
    ends = text.rstrip().endswith((">", "]", "}", "```"))
    return begins if _ABOUT_CALLS.search(question) else (begins or ends)


def _marked_calls(text: str, functions: Functions) -> Iterator[ToolCall]:
    """Yield the calls in a text that begins with a mark such as `<tool_call>`."""
    found = False
    for keyed in _KEYED_NAME.finditer(text):
        found = True
        values = {key.strip(): value for key, value in _KEYED.findall(keyed[2])}
        yield _call(keyed[1], _typed(values, functions.get(keyed[1], {})))
    for invoked in _INVOKED.finditer(text) if not found else ():
        name, inner = invoked[1], invoked[2]
        if parameters := _PARAMETER.findall(inner):
            found = True
            yield _call(name, _typed(dict(parameters), functions.get(name, {})))
        elif (value := _object_in(inner)) is not None or not inner.strip():
            found = True
            yield _call(name, value or {})
    if found:
        return
    if calls := list(_json_calls(text)):
        yield from calls
        return
    names = "|".join(map(re.escape, sorted(functions, key=len, reverse=True)))
    between = r"(?::\d+)?(?:\s|<[^<>{]{1,40}>|\[ARGS\]|```(?:json)?|json|>)*"
    for named in re.finditer(rf"(?<![\w.])(?:functions?\.)?({names}){between}(?=\{{)", text) if names else ():
        if (value := _object_in(text[named.end() :])) is not None:
            found = True
            yield _call(named[1], value)
    if not found:
        yield from _python_calls(_MARK.sub("", text).strip(), functions)


def _object_in(text: str) -> dict[str, Any] | None:
    start = text.find("{")
    with contextlib.suppress(ValueError, RecursionError):
        value = DECODER.raw_decode(text, start)[0] if start >= 0 else None
        return value if isinstance(value, dict) else None
    return None


def _json_calls(text: str) -> Iterator[ToolCall]:
    """Yield the calls in all JSON objects and lists of the text."""
    position = 0
    for _ in range(50):
        if (found := re.compile(r"[\[{]").search(text, position)) is None:
            return
        try:
            value, position = DECODER.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            position = found.end()
            continue
        yield from _calls_in(value)


def _calls_in(value: Any, depth: int = 0) -> Iterator[ToolCall]:
    if isinstance(value, list) and depth < 3:
        for each in value[:50]:
            yield from _calls_in(each, depth + 1)
    if not isinstance(value, dict) or depth > 3:
        return
    for key in ("tool_calls", "calls", "function_call", "tool_uses", "function"):
        if isinstance(value.get(key), list | dict):
            yield from _calls_in(value[key], depth + 1)
            return
    name = next((value[key] for key in _NAME_KEYS if isinstance(value.get(key), str)), None)
    arguments = next((value[key] for key in _ARGUMENT_KEYS if isinstance(value.get(key), dict | str)), None)
    if name and arguments is not None:
        yield _call(name, arguments)


def _python_calls(text: str, functions: Functions) -> Iterator[ToolCall]:
    """Yield calls in Python syntax, if the whole text is `name(key=value)` or a list of such calls."""
    if not re.match(r"\[?\s*(print\()?[\w.]+\(", text) or len(text) > 100_000:
        return
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in tree.elts if isinstance(tree, ast.List) else [tree]:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print" and node.args:
            node = node.args[0]
        if not isinstance(node, ast.Call):
            return
        name = ast.unparse(node.func).rpartition(".")[2] if isinstance(node.func, ast.Name | ast.Attribute) else ""
        if name == "call" and isinstance(node.func, ast.Attribute):  # NAME.call(…)
            name = ast.unparse(node.func.value)
        names = list((functions.get(name, {}).get("parameters") or {}).get("properties") or {})
        try:
            values = {key: ast.literal_eval(value) for key, value in zip(names, node.args, strict=False)}
            values |= {each.arg: ast.literal_eval(each.value) for each in node.keywords if each.arg}
        except (ValueError, TypeError, RecursionError):
            return
        if name in functions:
            yield _call(name, values)


def _typed(values: Mapping[str, str], function: dict[str, Any]) -> dict[str, Any]:
    """Convert arguments from text: parameters of type string keep the text, others are parsed as JSON."""
    properties = (function.get("parameters") or {}).get("properties") or {}
    typed: dict[str, Any] = {}
    for key, value in values.items():
        text = re.sub(r"\A[ \t]*\n|\n[ \t]*\Z", "", value)
        typed[key] = text
        kinds = (properties.get(key) or {}).get("type")
        if kinds != "string":
            with contextlib.suppress(ValueError, RecursionError):
                typed[key] = DECODER.decode(text.strip())
    return typed


def _call(name: str, arguments: Any) -> ToolCall:
    name = name.strip().removeprefix("functions.").removeprefix("default_api.").split(":")[0]
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall("", name, text)
