"""Keeps the function that answered a question as a tool, where it is general and somebody else vouches for it."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from pathlib import Path

from agent.actions.creation import short_path, tell_creation
from agent.answering.answer_format import answer_text
from agent.answering.final_answer import in_asked_format
from agent.context import Context
from agent.errors import AlitaError
from agent.events import Note, ToolRegistered
from agent.models.protocol import Role
from agent.small.module import LiteralCall, call_in, documented, particulars
from agent.small.program import code_in
from agent.state import State
from agent.strategy import Update
from mcp_tools.checks.source import parameters
from mcp_tools.create.examiner import CRASHES, exception_of
from mcp_tools.create.interfaces import Proposal, Test
from mcp_tools.create.proposal_runner import leaves, misfits
from mcp_tools.create.prove import prove
from mcp_tools.create.same_answer import answer_key
from mcp_tools.create.variations import alternatives, edges, variations
from mcp_tools.particulars import numbers_in
from mcp_tools.prompt import load_prompt
from mcp_tools.sandbox.protocol import Job, Limits, Outcome, Sandbox
from mcp_tools.text import one_line
from mcp_tools.tool import Json, Tool, call_text, object_schema

_LIMITS = Limits(wall_seconds=5, cpu_seconds=5)
_MOST_IMPLEMENTATIONS = 2
_SECONDS = 30.0
"""What a proof may take: with less time left it is not begun."""
_MOST_PARAMETERS = 5
_DESCRIPTION = 120
_DESCRIBING_TOKENS = 300
_CODE_TOKENS = 400
_TEMPERATURE = 0.6
"""A second implementation that is sampled is no copy of the first one."""
_IMPORTS = """from __future__ import annotations

import calendar, itertools, math, re, statistics, string
from collections import Counter, defaultdict, deque
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import *
"""
"""What code uses that forgets to import it."""


class SecondImplementation:
    """An examiner whose tests are the results of an implementation of its own, for arguments near those of a call."""

    def __init__(self, context: Context, arguments: dict[str, Json]) -> None:
        self.name = context.models.for_role(Role.EXAMINER).name
        self._context = context
        self._arguments = arguments
        self._written = 0

    async def tests(self, definition: str, tool: Tool, files: Sequence[Path] = ()) -> list[Test]:
        """What the first implementation that gives any results gives for drawn arguments."""
        drawn = [arguments for arguments in _drawn_near(self._arguments, tool) if not misfits(tool, arguments)]
        found: list[Test] = []
        while not found and self._written < _MOST_IMPLEMENTATIONS:
            outcomes = await self._outcomes(definition, tool, drawn)
            found = [
                Test(arguments, outcome.value, "agreement", because="a second implementation")
                for arguments, outcome in zip(drawn, outcomes, strict=True)
                if outcome.ok and outcome.value is not None
            ]
        return found

    async def reconsider(
        self, definition: str, tool: Tool, disputed: Sequence[Test], objection: str
    ) -> list[Test | None]:
        """What a further implementation gives: a test stands where it is the same, and falls where it is another."""
        if self._written >= _MOST_IMPLEMENTATIONS:
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
            max_tokens=_CODE_TOKENS,
            stop=["\n```"],
        )
        types = definition[: definition.rindex(f"def {tool.name}(")]
        source = f"{_IMPORTS}\n{types}\n{code_in(completion.text)}"
        sandbox = self._context.sandbox
        return [await sandbox.run(Job(source, tool.name, arguments, limits=_LIMITS)) for arguments in drawn]


def _drawn_near(arguments: dict[str, Json], tool: Tool) -> list[dict[str, Json]]:
    """Other arguments like the given ones: of a text shorter pieces, of a choice each."""
    drawn = variations(arguments, count=6)
    for name, value in arguments.items():
        schema = tool.input_schema["properties"].get(name, {})
        if isinstance(value, str) and len(value) > 1:
            drawn += [{**arguments, name: piece} for piece in (value[:-1], value[1:], value[: len(value) // 2])]
        elif "enum" in schema or schema.get("type") == "boolean":
            drawn += [{**arguments, name: other} for other in alternatives(value, schema)]
    return [new for place, new in enumerate(drawn) if new not in drawn[:place]]


async def keep(source: str, printed: str, state: State, context: Context) -> Update:
    """Keeps the function of a program as a tool, after the program has answered.

    Three model calls at most: one describes the parameters, two write implementations that vouch for the function.
    """
    call, left = call_in(source), context.budget.seconds_left
    if call is None or state.get("attached"):
        return {}
    try:
        if left is not None and left < _SECONDS:
            raise _NotKeptError("too little time is left to prove it")
        return await _kept(call, printed, state["question"], context)
    except AlitaError as failure:  # the answer is there, whatever becomes of the tool
        context.emit(Note(f"not kept as a tool: {one_line(failure.message, 300)}"))
        return {}


class _NotKeptError(AlitaError):
    """Why a function becomes no tool."""


async def _kept(call: LiteralCall, printed: str, question: str, context: Context) -> Update:
    if story := next(_only_here(call, question), ""):
        raise _NotKeptError(story)
    outcome = await context.sandbox.run(Job(call.source, call.name, call.arguments))
    answer = in_asked_format(answer_text(outcome.value, question), question) if outcome.ok else ""
    if answer_key(printed) not in {answer_key(outcome.value), answer_key(answer)}:
        raise _NotKeptError(f"{call.name} alone does not give the answer")
    context.emit(Note(f"the answer is {one_line(printed)}; turning {call.name} into a tool"))
    creation = await prove(
        Proposal(
            question=question,
            code=await _described(call, outcome.value, question, context),
            arguments=call.arguments,
            name=call.name,
            run_id=context.run_id,
            model=context.models.for_role(Role.WRITER).name,
        ),
        examiner=SecondImplementation(context, call.arguments),
        sandbox=context.sandbox,
        library=context.library,
        tell=partial(tell_creation, context),
    )
    tool = creation.tool
    if tool is None:
        if creation.choice == "refused":
            return {}
        raise _NotKeptError(creation.headline)
    if creation.choice == "reuse":
        context.emit(Note(f"the library already has it: {tool.name}"))
        return {}
    context.emit(ToolRegistered(tool.name, short_path(context.library.folder / f"{tool.name}.py"), tool.status))
    return {"created": [tool.name]}


def _only_here(call: LiteralCall, question: str) -> Iterator[str]:
    """Why a function is of no use to another question."""
    if len(call.arguments) > _MOST_PARAMETERS:
        yield f"{call.name} takes {len(call.arguments)} values of one question"
    known, given = particulars(question), list(leaves(call.arguments))
    if not known.numbers.isdisjoint(map(Decimal, re.findall(r"\d+", call.name))):
        yield f"{call.name} is the name of one question"
    for constant in _constants(call.function):
        if found := known.found_in(constant, given):
            yield f"{found} of the question stands in the code"


def _constants(node: ast.AST) -> Iterator[Json]:
    """The constants of a function's code, without tables, and without the decimals to which it rounds."""
    for child in ast.iter_child_nodes(node):
        is_table = isinstance(child, ast.Dict | ast.List | ast.Tuple | ast.Set)
        if isinstance(child, ast.Constant):
            yield child.value
        elif isinstance(child, ast.Call) and isinstance(child.func, ast.Name) and child.func.id == "round":
            yield from _constants(ast.Tuple(child.args[:1]))
        elif not is_table and not (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)):
            yield from _constants(child)


def description_schema(wanted: Sequence[str]) -> dict[str, Json]:
    """A few words on each of some parts of a function."""
    return object_schema({name: {"type": "string", "minLength": 3, "maxLength": _DESCRIPTION} for name in wanted})


async def _described(call: LiteralCall, value: Json, question: str, context: Context) -> str:
    """The tool's file, with a docstring that says what each parameter is.

    Raises:
        ModelOutputError: The model did not say it.
        StoppedError: The run was ended, or its budget is spent.
    """
    node = call.function
    names = [parameter.arg for parameter in parameters(node)]
    summary = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
    if not particulars(question).numbers.isdisjoint(numbers_in(summary)):  # it speaks of one question
        summary = ""
    wanted = ([] if summary else ["summary"]) + names + ["returns"]
    messages = load_prompt("agent.small", "describe").render(
        definition=call.source.strip(),
        call=call_text(call.name, call.arguments, longest=200),
        value=json.dumps(value, ensure_ascii=False)[:200],
    )
    completion = await context.complete(
        Role.WRITER, messages, schema=description_schema(wanted), temperature=0, max_tokens=_DESCRIBING_TOKENS
    )
    said = completion.parsed
    about = {name: one_line(said[name], _DESCRIPTION) for name in names}
    refused = await _refused(call, context.sandbox)
    call = await _wider(call, value, context.sandbox)
    return documented(call, value, summary or said["summary"], about, one_line(said["returns"], _DESCRIPTION), refused)


async def _wider(call: LiteralCall, value: Json, sandbox: Sandbox) -> LiteralCall:
    """The call with numbers for whole numbers, where the function takes them too and its result is a number."""
    arguments = dict(call.arguments)
    for name, given in call.arguments.items():
        whole = given if isinstance(given, list) else [given]
        if isinstance(value, float) and whole and all(type(each) is int for each in whole):
            near: Json = [each + 0.5 for each in whole] if isinstance(given, list) else given + 0.5
            if (await sandbox.run(Job(call.source, call.name, {**arguments, name: near}))).ok:
                arguments[name] = [*map(float, whole)] if isinstance(given, list) else float(given)
    return replace(call, arguments=arguments)


async def _refused(call: LiteralCall, sandbox: Sandbox) -> dict[str, str]:
    """By their conditions the empty, zero and negative values with which the function crashes."""
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
