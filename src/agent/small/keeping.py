"""Keeps the function that answered a question as a tool, if it is general and a second implementation agrees."""

from __future__ import annotations

import ast
import json
import re
import symtable
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from agent.actions.creation import short_path, show_creation
from agent.answering.answer_format import answer_text
from agent.answering.arithmetic import compute
from agent.answering.final_answer import in_asked_format
from agent.context import Context, Update
from agent.errors import AlitaError
from agent.events import Note, ToolRegistered
from agent.models.protocol import Role
from agent.small.program import code_in
from agent.state import State
from mcp_tools.checks.source import free_names, parameters
from mcp_tools.create.examiner import CRASHES, exception_of
from mcp_tools.create.interfaces import Proposal, Test
from mcp_tools.create.proposal_runner import misfits
from mcp_tools.create.prove import prove
from mcp_tools.create.same_answer import answer_key
from mcp_tools.create.variations import edges, variations, without_parameter
from mcp_tools.library.particulars import numbers_in, quoted_in
from mcp_tools.prompt import load_prompt
from mcp_tools.sandbox.protocol import Job, Limits, Outcome, Sandbox
from mcp_tools.text import one_line
from mcp_tools.tool import Json, Tool, call_text, object_schema

_LIMITS = Limits(wall_seconds=5, cpu_seconds=5)
_MAX_IMPLEMENTATIONS = 2
_MIN_SECONDS = 30.0
"""Minimum remaining seconds to start a proof."""
_MAX_PARAMETERS = 5
_MAX_DESCRIPTION_CHARS = 120
_MAX_DESCRIPTION_TOKENS = 300
_MAX_CODE_TOKENS = 400
_TEMPERATURE = 0.6
"""Sampling temperature, so that the second implementation is not a copy of the first."""
_SMALLEST_PARTICULAR = 3
"""Smallest number to look for, since smaller numbers occur in any code."""
_IMPORTS = """from __future__ import annotations

import calendar, itertools, math, re, statistics, string
from collections import Counter, defaultdict, deque
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import *
"""
"""Imports that models often forget."""


class _NotKeptError(AlitaError):
    """The function cannot become a tool."""


@dataclass(frozen=True, slots=True)
class _Call:
    """A function and a call to it with literal values."""

    source: str
    """Source of the function, with everything that it needs from the program."""
    name: str
    arguments: dict[str, Json]

    @property
    def function(self) -> ast.FunctionDef:
        found = [node for node in ast.parse(self.source).body if isinstance(node, ast.FunctionDef)]
        return next(node for node in reversed(found) if node.name == self.name)


async def keep(program: str, printed: str, state: State, context: Context) -> Update:
    """Keep the function of a program as a tool, after the program has answered.

    Makes at most three model calls: one describes the parameters, two write implementations to compare with.
    """
    call, left = _call_in(program), context.budget.seconds_left
    if call is None or state.get("attached"):
        return {}
    try:
        if left is not None and left < _MIN_SECONDS:
            raise _NotKeptError("there is not enough time left to prove the tool")
        return await _kept(call, printed, state["question"], context)
    except AlitaError as failure:  # a failure must not affect the answer
        context.emit(Note(f"not kept as a tool: {one_line(failure.message, 300)}"))
        return {}


async def _kept(call: _Call, printed: str, question: str, context: Context) -> Update:
    if len(call.arguments) > _MAX_PARAMETERS:
        raise _NotKeptError(f"{call.name} takes {len(call.arguments)} values, which is too many for a tool")
    if found := _particular(call, question):
        raise _NotKeptError(f"{found} of the question is hard-coded")
    outcome = await context.sandbox.run(Job(call.source, call.name, call.arguments))
    answer = in_asked_format(answer_text(outcome.value, question), question) if outcome.ok else ""
    if answer_key(printed) not in {answer_key(outcome.value), answer_key(answer)}:
        raise _NotKeptError(f"{call.name} alone does not return the answer")
    context.emit(Note(f"the answer is {one_line(printed)}; turning {call.name} into a tool"))
    creation = await prove(
        Proposal(
            question=question,
            code=await _described(call, outcome.value, context),
            arguments=call.arguments,
            name=call.name,
            run_id=context.run_id,
            model=context.models.for_role(Role.WRITER).name,
            mends=False,
        ),
        examiner=SecondImplementation(context, call.arguments),
        sandbox=context.sandbox,
        library=context.library,
        notify=partial(show_creation, context),
    )
    tool = creation.tool
    if creation.choice == "refused":
        return {}
    if tool is None:
        raise _NotKeptError(creation.headline)
    if creation.choice == "reuse":
        context.emit(Note(f"the library already has this tool: {tool.name}"))
        return {}
    context.emit(ToolRegistered(tool.name, short_path(context.library.folder / f"{tool.name}.py"), tool.status))
    return {"created": [tool.name]}


def _call_in(program: str) -> _Call | None:
    """Return a program's last call to its own function with literal arguments."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(program)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    statements = list(_statements(tree.body))
    values: dict[str, Json] = {}
    for statement in statements:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                values |= _literals({name: value}, values) or {}
    for node in (node for statement in reversed(statements) for node in ast.walk(statement)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:
            names = [parameter.arg for parameter in parameters(functions[node.func.id])]
            given = {
                **dict(zip(names, node.args, strict=False)),
                **{word.arg or "": word.value for word in node.keywords},
            }
            if len(node.args) <= len(names) and (arguments := _literals(given, values)):
                source = _needed(program, tree, node.func.id)
                for name in list(arguments)[1:]:
                    if (shorter := without_parameter(source, node.func.id, name)) is not None:
                        source = shorter
                        del arguments[name]
                return _Call(source, node.func.id, arguments)
    return None


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the program's statements without definitions. The bodies of `main()` and `if __name__ …` are included."""
    for node in body:
        is_main = isinstance(node, ast.FunctionDef) and node.name == "main" and not parameters(node)
        is_runner = isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
        if isinstance(node, ast.FunctionDef | ast.If) and (is_main or is_runner):
            yield from _statements(node.body)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node


def _literals(nodes: dict[str, ast.expr], values: dict[str, Json]) -> dict[str, Json] | None:
    """Return the JSON values of literals, and of variables with literal values; None if a node is neither."""

    def value(node: ast.expr) -> Json:
        if isinstance(node, ast.Name) and node.id in values:
            return values[node.id]
        if isinstance(node, ast.List | ast.Tuple):
            return [value(element) for element in node.elts]
        if isinstance(node, ast.BinOp) and (exact := compute(ast.unparse(node))) is not None:
            return json.loads(exact)
        return json.loads(json.dumps(ast.literal_eval(node), allow_nan=False))

    try:
        return {name: value(node) for name, node in nodes.items()}
    except (ValueError, TypeError):
        return None


def _needed(program: str, tree: ast.Module, name: str) -> str:
    """Return the source of the statements that a function needs."""
    wanted, kept = {name}, list[ast.stmt]()
    while found := [node for node in tree.body if node not in kept and wanted & _bound(node)]:
        kept += found
        for node in found:
            wanted |= set(free_names(symtable.symtable(ast.unparse(node), "<program>", "exec")))
    lines = program.splitlines(keepends=True)
    parts = (lines[node.lineno - 1 : node.end_lineno] for node in tree.body if node in kept)
    return "".join(line for part in parts for line in [*part, "\n"]).strip() + "\n"


def _bound(node: ast.stmt) -> set[str]:
    """Return the names that a statement binds outside of functions."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return names | {(n.asname or n.name).partition(".")[0] for n in ast.walk(node) if isinstance(n, ast.alias)}


def _particular(call: _Call, question: str) -> str:
    """Return a value from the question that the code or the name contains; empty if there is none."""
    numbers = {number for number in numbers_in(question) if abs(number) >= _SMALLEST_PARTICULAR}
    texts = [text for text in quoted_in(question) if len(text) > _SMALLEST_PARTICULAR]
    given = {str(value) for value in call.arguments.values()}
    for constant in [node.value for node in ast.walk(call.function) if isinstance(node, ast.Constant)]:
        if isinstance(constant, str):
            found: Any = next((text for text in texts if text in constant), "")
        else:
            is_one = type(constant) in (int, float) and str(constant) in given and constant in numbers
            found = constant if is_one else ""
        if found:
            return repr(found) if isinstance(found, str) else str(found)
    return next((digits for digits in re.findall(r"\d+", call.name) if digits in given), "")


async def _described(call: _Call, value: Json, context: Context) -> str:
    """Return the tool's source with a full docstring, complete annotations, and input checks.

    Raises:
        ModelOutputError: The model gave no description.
        StoppedError: The run was stopped, or its budget is exhausted.
    """
    node = call.function
    names = [parameter.arg for parameter in parameters(node)]
    messages = load_prompt("agent.small", "describe").render(
        definition=call.source.strip(),
        call=call_text(call.name, call.arguments, longest=200),
        value=json.dumps(value, ensure_ascii=False)[:200],
    )
    form = description_schema(["summary", *names, "returns"])
    completion = await context.complete(
        Role.WRITER, messages, schema=form, temperature=0, max_tokens=_MAX_DESCRIPTION_TOKENS
    )
    said = {name: one_line(text, _MAX_DESCRIPTION_CHARS) for name, text in completion.parsed.items()}
    refused = await _refused(call, context.sandbox)
    for parameter in parameters(node):
        parameter.annotation = parameter.annotation or _annotation(call.arguments.get(parameter.arg))
    node.returns = node.returns or _annotation(value)
    raised = [*(f"ValueError: {why}." for why in refused.values()), *_raised(node)]
    given = ", ".join(f"{name}={argument!r}" for name, argument in call.arguments.items())
    parts = {
        "Args": [f"{name}: {said[name]}" for name in names],
        "Returns": [said["returns"]],
        "Raises": list(dict.fromkeys(raised)),
        "Example": [f">>> {call.name}({given})", repr(value)],
    }
    sections = ["\n    ".join([f"{title}:", *lines]) for title, lines in parts.items() if lines]
    text = "\n\n".join([said["summary"], *sections]).replace("\\", "\\\\")
    lines = call.source.splitlines()
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    first = (node.body[0].end_lineno or 0) if body is not node.body else node.body[0].lineno - 1
    code = lines[first : node.end_lineno]
    if not body or node.lineno == node.end_lineno:  # the body is on the line of `def`, or is only a docstring
        code = textwrap.indent("\n".join(map(ast.unparse, body)) or "return None", "    ").splitlines()
    head = f"def {call.name}({ast.unparse(node.args)}) -> {ast.unparse(node.returns)}:"
    checks = [f"    if {when}:\n        raise ValueError({why!r})" for when, why in refused.items()]
    docstring = textwrap.indent(f'"""{text}\n"""', "    ")
    return "\n".join([*lines[: node.lineno - 1], head, docstring, *checks, *code, *lines[node.end_lineno :]]) + "\n"


def description_schema(wanted: Sequence[str]) -> dict[str, Json]:
    """Return the JSON Schema for short descriptions of these parts of a function."""
    text = {"type": "string", "minLength": 3, "maxLength": _MAX_DESCRIPTION_CHARS}
    return object_schema(dict.fromkeys(wanted, text))


def _raised(node: ast.FunctionDef) -> Iterator[str]:
    for inner in ast.walk(node):
        match inner:
            case ast.Raise(exc=ast.Call(func=ast.Name(id=name), args=[ast.Constant(value=str(text)), *_])):
                yield f"{name}: {' '.join(text.split())}"
            case ast.Raise(exc=ast.Call(func=ast.Name(id=name)) | ast.Name(id=name)):
                yield f"{name}: The input cannot be used."


def _annotation(value: Json) -> ast.expr:
    return ast.parse(_type_of(value), mode="eval").body


def _type_of(value: Json) -> str:
    if not isinstance(value, list | dict):
        return type(value).__name__ if value is not None else "None"
    inner = {_type_of(each) for each in (value.values() if isinstance(value, dict) else value)}
    one = inner.pop() if len(inner) == 1 else "float" if inner == {"int", "float"} else "object"
    return f"dict[str, {one}]" if isinstance(value, dict) else f"list[{one}]"


async def _refused(call: _Call, sandbox: Sandbox) -> dict[str, str]:
    """Return checks for the parameters that crash the function if they are empty, zero or negative, with the error."""
    crashing: dict[str, list[Json]] = {}
    for arguments in edges(call.arguments):
        problem = (await sandbox.run(Job(call.source, call.name, arguments))).problem
        if problem is not None and (problem.kind == "result" or exception_of(problem) in CRASHES):
            name = next(name for name, value in arguments.items() if value != call.arguments[name])
            crashing.setdefault(name, []).append(arguments[name])
    found = {}
    for name, values in crashing.items():
        if values[0] in ("", [], {}):
            found[f"not {name}"] = f"{name} is empty"
        elif len(values) > 1:
            found[f"{name} <= 0"] = f"{name} is not positive"
        else:
            found[f"{name} {'==' if values == [0] else '<'} 0"] = f"{name} is {'0' if values == [0] else 'negative'}"
    return found


class SecondImplementation:
    """An examiner that gets its tests from an implementation, which the model writes from the definition alone."""

    def __init__(self, context: Context, arguments: dict[str, Json]) -> None:
        self.name = context.models.for_role(Role.EXAMINER).name
        self._context = context
        self._arguments = arguments
        self._written = 0

    async def tests(self, definition: str, tool: Tool, files: Sequence[Path] = ()) -> list[Test]:
        """Return tests with the results of the first implementation that gives any."""
        drawn = variations(self._arguments, count=6)
        for name, value in self._arguments.items():
            if isinstance(value, str) and len(value) > 1:
                drawn += [
                    {**self._arguments, name: piece} for piece in (value[:-1], value[1:], value[: len(value) // 2])
                ]
        drawn = [arguments for arguments in drawn if not misfits(tool, arguments)]
        found: list[Test] = []
        while not found and self._written < _MAX_IMPLEMENTATIONS:
            outcomes = await self._outcomes(definition, tool, drawn)
            found = [
                Test(arguments, outcome.value, "agreement", because="a second implementation")
                for arguments, outcome in zip(drawn, outcomes, strict=True)
                if outcome.ok and outcome.value is not None
            ]
        return found

    def unread(self, definition: str) -> list[str]:
        """Return an empty list, since no tests are parsed from a reply."""
        return []

    def reference(self, definition: str) -> str:
        """Return an empty text, since the tests already come from another implementation."""
        return ""

    async def reconsider(
        self, definition: str, tool: Tool, disputed: Sequence[Test], objection: str
    ) -> list[Test | None]:
        """Return tests with the results of another implementation, None for each call that fails."""
        if self._written >= _MAX_IMPLEMENTATIONS:
            return list(disputed)
        outcomes = await self._outcomes(definition, tool, [test.arguments for test in disputed])
        return [
            replace(test, expected=outcome.value) if outcome.ok else None
            for test, outcome in zip(disputed, outcomes, strict=True)
        ]

    async def _outcomes(self, definition: str, tool: Tool, drawn: Sequence[dict[str, Json]]) -> list[Outcome]:
        self._written += 1
        messages = load_prompt("agent.small", "second").render(definition=definition)
        completion = await self._context.complete(
            Role.EXAMINER,
            messages,
            temperature=_TEMPERATURE,
            seed=self._written,
            max_tokens=_MAX_CODE_TOKENS,
            stop=["\n```"],
        )
        types = definition[: definition.rindex(f"def {tool.name}(")]
        source = f"{_IMPORTS}\n{types}\n{code_in(completion.text)}"
        sandbox = self._context.sandbox
        return [await sandbox.run(Job(source, tool.name, arguments, limits=_LIMITS)) for arguments in drawn]
