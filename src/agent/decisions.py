"""Deciding the next action: one structured call, and rules as a second opinion beside a weak model."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, cast

from agent.context import Context
from agent.errors import ModelOutputError
from agent.models.protocol import Message, Role
from agent.rules import possible_actions, second_opinion, unread
from agent.state import ACTIONS, Action, Decision, State, Step
from agent.steps import evidence_text, preview, value_text
from mcp_tools.prompt import data_block, load_prompt
from mcp_tools.tool import Json

ATTEMPTS = 3
"""How often a decision that cannot be carried out is asked again, each time with the reason."""
_WHY_LENGTH = 160
_TOKENS = 500
_HINT_LENGTH = 200
_WITHOUT_ARGUMENTS: tuple[Action, ...] = ("create_tool", "run_code", "search", "browse", "read_file")


async def choose(state: State, context: Context) -> Decision:
    """The next action.

    Raises:
        ModelOutputError: The model gave no decision that can be carried out, in several attempts.
    """
    steps = state.get("steps", [])
    if context.is_weak(Role.COORDINATOR) and (finished := _finished(steps)) is not None:
        return finished
    refusal: str | None = None
    for _ in range(ATTEMPTS):
        try:
            decision = await _ask(state, context, f"\nYour last decision was refused: {refusal}" if refusal else "")
            if context.is_weak(Role.COORDINATOR):
                decision = await _second_opinion(decision, state, context)
        except ModelOutputError as problem:
            refusal = problem.message
            continue
        refusal = refusal_of(decision, state)
        if refusal is None:
            return decision
    raise ModelOutputError(f"the model chose nothing that can be done, {ATTEMPTS} times: {refusal}")


def decision_messages(
    question: str, files: Sequence[str], tools: Sequence[dict[str, Json]], evidence: str, hint: str = ""
) -> list[Message]:
    """The prompt of a decision; the question first, then only what there is of tools, files and evidence."""
    lines = [question]
    if tools:
        lines += ["Tools:", *(f"- {tool['name']}: {tool['description']}" for tool in tools)]
    if files:
        lines.append(f"Files: {', '.join(files)}")
    if evidence:
        lines.append(f"Evidence: {evidence}")
    return load_prompt("agent", "decide").render(situation="\n".join(lines) + hint)


def decision_schema(tools: Sequence[dict[str, Json]], possible: Collection[Action] = ACTIONS) -> dict[str, Any]:
    """The form of a decision: the reason first, then one of the possible actions with what it needs."""
    listed = [action for action in _WITHOUT_ARGUMENTS if action in possible]
    plain = {"properties": {"action": {"enum": listed}}, "required": ["action"]}
    answer = {
        "properties": {"action": {"const": "answer"}, "answer": {"type": "string"}},
        "required": ["action", "answer"],
    }
    uses = [
        {
            "properties": {
                "action": {"const": "use_tool"},
                "tool": {"const": tool["name"]},
                "arguments": tool.get("inputSchema") or {"type": "object"},
            },
            "required": ["action", "tool", "arguments"],
        }
        for tool in tools
    ]
    wanted = [plain, *(uses if "use_tool" in possible else []), *([answer] if "answer" in possible else [])]
    branches = [{"type": "object", "additionalProperties": False, **branch} for branch in wanted]
    return {
        "type": "object",
        "properties": {"why": {"type": "string", "maxLength": _WHY_LENGTH}, "next": {"anyOf": branches}},
        "required": ["why", "next"],
        "additionalProperties": False,
    }


async def _second_opinion(decision: Decision, state: State, context: Context) -> Decision:
    """The decision of a weak model after the rules."""
    files, steps = state.get("files", []), state.get("steps", [])
    decision = second_opinion(decision, state["question"], files, state["tools"], steps)
    known = {tool["name"] for tool in state["tools"]}
    if decision.action == "use_tool" and not decision.arguments and decision.tool in known:
        return await _filled(decision, state, context)
    return decision


async def _filled(decision: Decision, state: State, context: Context) -> Decision:
    """A use of the tool that a rule chose, with the arguments that the model reads in the question."""
    only = [tool for tool in state["tools"] if tool["name"] == decision.tool]
    asked = cast(State, {**state, "tools": only})
    form = decision_schema(only)
    form["properties"]["next"] = form["properties"]["next"]["anyOf"][1]
    return await _ask(asked, context, "", form)


async def _ask(state: State, context: Context, hint: str, schema: dict[str, Any] | None = None) -> Decision:
    tools = state["tools"]
    schema = schema or decision_schema(tools, _possible(state, context))
    completion = await context.complete(
        Role.COORDINATOR,
        decision_messages(state["question"], state.get("files", []), tools, _evidence(state), hint),
        schema=schema,
        temperature=0,
        max_tokens=_TOKENS,
    )
    return Decision.from_json(completion.parsed)


def _possible(state: State, context: Context) -> Collection[Action]:
    """What a model may choose: a weak one only what makes sense."""
    if not context.is_weak(Role.COORDINATOR):
        return ACTIONS
    return possible_actions(state["question"], state.get("files", []), state["tools"], state.get("steps", []))


def _evidence(state: State) -> str:
    steps = state.get("steps", [])
    return evidence_text(steps) if steps else ""


def refusal_of(decision: Decision, state: State) -> str | None:
    """Why a decision cannot be carried out; None when it can."""
    if decision.action == "use_tool" and decision.tool not in {tool["name"] for tool in state["tools"]}:
        known = ", ".join(str(tool["name"]) for tool in state["tools"]) or "none"
        return f"there is no tool {decision.tool!r}; the tools are: {known}."
    if decision.action == "answer":
        return None if decision.answer.strip() else "an answer needs text."
    steps = state.get("steps", [])
    repeated = [step for step in steps if step["action"] == decision.action and step["input"] == decision.input]
    if repeated and not _knows_more(state.get("files", []), steps, repeated[-1], decision):
        finding = data_block("its result", preview(repeated[-1]["finding"], _HINT_LENGTH))
        done = preview(decision.input, _HINT_LENGTH)
        return f"{done} was already done and gave {finding}\nChoose another action, or answer."
    return None


def _knows_more(files: Sequence[str], steps: Sequence[Step], last: Step, decision: Decision) -> bool:
    """Whether an action may be done again: code when something was found since, reading while a file is left."""
    if decision.action == "read_file":
        return unread(files, steps)
    if decision.action not in {"create_tool", "run_code"}:
        return False
    return any(step["ok"] and step["number"] > last["number"] and step["action"] != decision.action for step in steps)


def _finished(steps: Sequence[Step]) -> Decision | None:
    """With a weak model, a computed result ends the run: it answers the question it was made for."""
    if not steps or not steps[-1]["ok"] or steps[-1]["value"] is None:
        return None
    text = value_text(steps[-1]["value"])
    return Decision("answer", "The evidence holds the result.", answer=text) if text.strip() else None
