"""A small model's decision: a choice among the possible actions, constrained by a grammar."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from agent.actions.read import has_unread_file
from agent.actions.registry import refusal_of
from agent.actions.server_tools import arguments_schema, external_of
from agent.actions.tools import asked_before
from agent.answering.answer_format import answer_text
from agent.answering.final_answer import in_asked_format
from agent.context import Context
from agent.errors import ModelOutputError
from agent.events import Note
from agent.material.attached import TABLES_AND_DATA, readable, unread_files
from agent.models.protocol import Role
from agent.small.evidence import copied_answer, found_steps
from agent.small.program import openable
from agent.state import AttachedFile, Decision, State, Step, ToolRef
from agent.steps import evidence_text, reading_of
from agent.web.address import addresses_in
from agent.web.queries import terms_of
from mcp_tools.library.particulars import without_quotes
from mcp_tools.prompt import DataText, data_block, data_blocks, load_prompt
from mcp_tools.tool import Json, object_schema

_MAX_TOOLS = 3
_MAX_WHY_CHARS = 80
_MAX_TOKENS = 80
_MAX_ARGUMENT_TOKENS = 500
_SHOWN_CHARS = 300
"""Maximum characters of a file or of a tool's description in the choice."""
_LONG_FILE_BYTES = 2_000
_MAX_FIND_WORDS = 6
NEEDS = {
    "compute": Decision("run_code"),
    "fact": Decision("search"),
    "site": Decision("browse"),
    "talk": Decision("answer"),
}
"""Choices that are neither a tool nor a file."""


async def choose(state: State, context: Context) -> Decision:
    """Return the next action, which is a final answer if nothing else is possible.

    Raises:
        ModelOutputError: The model did not reply in the requested form.
    """
    steps = state.get("steps", [])
    if steps and steps[-1]["ok"] and steps[-1]["value"] is not None and (text := _result(steps[-1], state)):
        return Decision("answer", "The last step computed the result.", answer=text)
    known = asked_before(state)
    if known is not None and refusal_of(known, state) is None:
        return known
    if state["purpose"].wants_tool:
        return await _choose_tool(state, context)
    if (needed := _material(state)) is not None:
        return needed
    found = found_steps(state)
    if found and found[-1] is steps[-1]:
        answer = await copied_answer([(s["input"], reading_of(s)) for s in found], state["question"], context)
        if answer:
            return Decision("answer", "It was found.", answer=answer)
    return await _choose(_options(state), state, context)


def _result(step: Step, state: State) -> str:
    text = answer_text(step["value"], state["question"])
    return (in_asked_format(text, state["question"]) if step["action"] == "use_tool" else text).strip()


async def _choose_tool(state: State, context: Context) -> Decision:
    """Return the next action of a run that must make or use a tool."""
    if any(step["action"] == "create_tool" for step in state.get("steps", [])):
        return Decision("answer", "No tool could be created.")
    options = {**_tools(state["tools"]), "compute": Decision("create_tool", "No tool of the library computes this.")}
    return await _choose(options, state, context) if len(options) > 1 else options["compute"]


def _material(state: State) -> Decision | None:
    """Return an action that needs no model: data files get a program, other files and named pages are read first."""
    steps, files = state.get("steps", []), readable(state)
    ran = any(step["action"] == "run_code" for step in steps)
    if files and not ran and all(file["kind"] in TABLES_AND_DATA for file in files):
        return Decision("run_code", "A program computes it over the whole file.")
    shut = [file for file in unread_files(state) if file not in openable(state)]
    if shut:
        return _reading(shut[0], state, "The attached file is read.")
    if not state.get("attached") and has_unread_file(state):
        return Decision("read_file", "The attached file is read.")
    addresses = addresses_in(without_quotes(state["question"]))
    pages = [Decision("read_file", "The question names this page.", file=url) for url in addresses]
    return next((page for page in pages if refusal_of(page, state) is None), None)


def _options(state: State) -> dict[str, Decision]:
    """Return the possible actions, each by the word that chooses it."""
    own = [tool for tool in state["tools"] if not tool.is_external]
    external = sorted(external_of(state), key=lambda tool: tool.rank)
    options = _tools([*own, *external])
    for file in unread_files(state):
        options[f"read {file['name']}"] = _reading(file, state)
    for file in readable(state):
        if file["name"].endswith(".py"):
            options[f"run {file['name']}"] = Decision("run_code", file=file["name"])
    options |= {need: decision for need, decision in NEEDS.items() if _is_open(decision, state)}
    return options


def _is_open(decision: Decision, state: State) -> bool:
    searched = any(step["action"] == "search" for step in state.get("steps", []))
    if decision.action == "browse" and searched:
        return False
    return decision.action == "answer" or refusal_of(decision, state) is None


def _tools(tools: Sequence[ToolRef]) -> dict[str, Decision]:
    return {f"use {tool.name}": Decision("use_tool", tool=tool.name) for tool in tools[:_MAX_TOOLS]}


def _reading(file: AttachedFile, state: State, why: str = "") -> Decision:
    """Read a short file from the beginning, or look for the question's words in a long file."""
    is_long = file["sections"] is None or file["sections"] > 1 or file["size"] > _LONG_FILE_BYTES
    words = terms_of(state["question"]).words[:_MAX_FIND_WORDS] if is_long else []
    return Decision("read_file", why, file=file["name"], find=" ".join(words))


async def _choose(options: dict[str, Decision], state: State, context: Context) -> Decision:
    """Ask the model for one of the options, and for the arguments of a tool."""
    while len(options) > 1:
        form = choice_schema(list(options))
        asked = {"material": _offers(options, state), "question": state["question"]}
        reply = await _filled("choice", form, context, _MAX_TOKENS, **asked)
        decision = replace(options.pop(reply["needs"]), why=str(reply["why"]))
        if decision.action != "use_tool":
            return decision
        use = await _with_arguments(decision, state, context)
        if use is not None and refusal_of(use, state) is None:
            return use
    return next(iter(options.values()))


def choice_schema(options: Sequence[str]) -> dict[str, Any]:
    """Return the JSON Schema of the choice."""
    return object_schema({"why": {"type": "string", "maxLength": _MAX_WHY_CHARS}, "needs": {"enum": list(options)}})


def _offers(options: dict[str, Decision], state: State) -> DataText:
    """Return the tools, files and findings to choose from, marked as data."""
    descriptions = {f"use {tool.name}": tool.description for tool in state["tools"]}
    descriptions |= {f"read {file['name']}": file["beginning"] for file in readable(state)}
    descriptions |= {f"run {file['name']}": file["beginning"] for file in readable(state)}
    blocks = [data_block(name, descriptions[name][:_SHOWN_CHARS]) for name in options if name in descriptions]
    if found := found_steps(state):
        blocks.append(DataText(evidence_text(found).strip()))
    return DataText(f"{data_blocks(blocks)}\n") if blocks else DataText("")


async def _with_arguments(decision: Decision, state: State, context: Context) -> Decision | None:
    tool = next(tool for tool in state["tools"] if tool.name == decision.tool)
    described = data_block(tool.server or "library", tool.description)
    asked = {"question": state["question"], "tool": decision.tool, "description": described}
    try:
        arguments = await _filled("arguments", arguments_schema(tool), context, _MAX_ARGUMENT_TOKENS, **asked)
    except ModelOutputError as problem:
        context.emit(Note(f"no tool was called: {problem.message}"))
        return None
    return replace(decision, arguments=cast(dict[str, Json], arguments))


async def _filled(prompt: str, form: dict[str, Any], context: Context, tokens: int, **values: object) -> Any:
    messages = load_prompt("agent.small", prompt).render(**values)
    completion = await context.complete(Role.COORDINATOR, messages, schema=form, temperature=0, max_tokens=tokens)
    return completion.parsed
