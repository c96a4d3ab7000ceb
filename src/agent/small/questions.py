"""A small model's decision, asked in small questions: one at a time it answers far better than all in one.

Is the answer already written in what was found? What is needed: computing, a fact of the world, a site, talk? Does this
tool compute it? Rules give a second opinion where they are sure, and nothing is done twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal, cast, get_args

from agent.context import Context
from agent.deciding.refusals import refusal_of, unread
from agent.errors import ModelOutputError
from agent.events import Note
from agent.external import SERVER
from agent.models.protocol import Message, Role
from agent.small.decision import ask
from agent.small.extracting import from_reading
from agent.small.rules import by_files, has_data, must_operate_a_site, read_on, shows_code
from agent.state import Action, Decision, State, Step
from agent.steps import evidence_text, value_text
from mcp_tools.prompt import data_block, load_prompt
from mcp_tools.tool import Json

Need = Literal["compute", "fact", "site", "code", "talk"]
_AT_THE_START: tuple[Need, ...] = get_args(Need)
_WITH_EVIDENCE: tuple[Need, ...] = ("compute", "fact", "site")
_BEYOND_COMPUTING: frozenset[Need] = frozenset({"fact", "site"})
_WHY_LENGTH = 80
_TOKENS = 80
_ASKED_EXTERNAL = 2
_FINDING: frozenset[Action] = frozenset({"search", "browse", "read_file"})
"""Actions that bring text from outside, in which an answer may be written."""


async def ask_in_parts(state: State, context: Context) -> Decision:
    """The next action; the best-effort answer when all that makes sense was already done.

    Raises:
        ModelOutputError: The model did not answer in the form that was asked for.
    """
    decision = _sure(state) or await _from_evidence(state, context) or await _by_need(state, context)
    if decision is not None and decision.action != "answer" and refusal_of(decision, state) is not None:
        decision = _elsewhere(decision, state)
        if decision is None and has_data(state["question"]):
            decision = await _computing(state, context, "It was tried already, but the question holds data.")
    return decision or Decision("answer", "All that makes sense was already done.")


async def ask_which_fits(state: State, context: Context) -> Decision | None:
    """A call of the library's tool that computes what is asked; None when none does.

    Raises:
        ModelOutputError: The model did not answer in the form that was asked for.
    """
    tools = state["tools"]
    verdicts = await asyncio.gather(*(_fits(tool, state["question"], context) for tool in tools))
    fitting = [tool for tool, verdict in zip(tools, verdicts, strict=True) if verdict == "yes"]
    return await _use_of(fitting, state, context) if fitting else None


def _sure(state: State) -> Decision | None:
    """What needs no model: a computed result is the answer, a file must be read, a site must be operated."""
    steps = state.get("steps", [])
    if steps and steps[-1]["ok"] and steps[-1]["value"] is not None:
        text = value_text(steps[-1]["value"])
        if text.strip():
            return Decision("answer", "The evidence holds the result.", answer=text)
    if (over_files := by_files(state)) is not None:
        return over_files
    if not state.get("attached") and unread(state.get("files", []), steps):
        return Decision("read_file", "A file is attached that has not been read.")
    if must_operate_a_site(state["question"]) and not any(step["action"] == "browse" for step in steps):
        return Decision("browse", "A web site must be operated.")
    return None


def _elsewhere(refused: Decision, state: State) -> Decision | None:
    """A search, where a site was to be operated and none could be: its address, or what it says, may be found."""
    search = Decision("search", "No site could be operated; what it says may be found.")
    searched = any(step["action"] == "search" for step in state.get("steps", []))
    return search if refused.action == "browse" and not searched and refusal_of(search, state) is None else None


async def _from_evidence(state: State, context: Context) -> Decision | None:
    """The answer, where what was found states it."""
    found = _found(state)
    if not found:
        return None
    if state.get("attached") and state["steps"][-1]["action"] == "read_file":
        return await from_reading(state, context) or read_on(state)
    messages = _prompt("stated", question=state["question"], evidence=evidence_text(found))
    if await _word(context, messages, ("yes", "no")) == "no":
        return None
    return await ask(state, context, possible={"answer"})


async def _by_need(state: State, context: Context) -> Decision | None:
    """The action that gives what the question needs; None when computing was tried in every way."""
    question, found = state["question"], _found(state)
    if shows_code(question):
        return Decision("run_code", "The question shows code to run.")
    if any(step["action"] == "read_file" and shows_code(step["finding"]) for step in found):
        return Decision("run_code", "The file holds code to run.")
    if found:
        messages = _prompt("lacks", question=question, evidence=evidence_text(found))
    else:
        messages = _prompt("needs", question=question)
    need, why = await _need(context, messages, _WITH_EVIDENCE if found else _AT_THE_START)
    if need in _BEYOND_COMPUTING and (use := await _from_a_server(state, context)) is not None:
        return use
    if need == "fact":
        return Decision("search", why)
    if need == "site":
        return Decision("browse", why)
    if need == "talk":
        return await ask(state, context, possible={"answer"})
    return await _computing(state, context, why)


async def _from_a_server(state: State, context: Context) -> Decision | None:
    """A call of the first external tool that gives what is asked."""
    tools = [tool for tool in _worth_asking(state) if SERVER in tool]
    verdicts = await asyncio.gather(*(_gives(tool, state["question"], context) for tool in tools))
    giving = [tool for tool, verdict in zip(tools, verdicts, strict=True) if verdict == "yes"]
    return await _use_of(giving, state, context) if giving else None


def _worth_asking(state: State) -> list[dict[str, Json]]:
    """The shown tools without the external ones that fit worse than the best two: each costs a question."""
    own = [tool for tool in state["tools"] if SERVER not in tool]
    return own + [tool for tool in state["tools"] if SERVER in tool][:_ASKED_EXTERNAL]


async def _computing(state: State, context: Context, why: str) -> Decision | None:
    """The tool that computes it; else a program over what was found; else a new tool; None when all was done."""
    tools, question = _worth_asking(state), state["question"]
    asked = (_gives if SERVER in tool else _fits for tool in tools)
    verdicts = await asyncio.gather(*(ask_of(t, question, context) for ask_of, t in zip(asked, tools, strict=True)))
    fitting = [tool for tool, verdict in zip(tools, verdicts, strict=True) if verdict == "yes"]
    if fitting and (use := await _use_of(fitting, state, context)) is not None:
        return use
    data = any(has_data(step["finding"]) for step in _found(state))
    order: list[Action] = ["create_tool", "run_code"]
    if data or "part" in verdicts:
        order.reverse()
    left = [action for action in order if refusal_of(Decision(action), state) is None]
    return Decision(left[0], why) if left else None


async def _use_of(tools: list[dict[str, Json]], state: State, context: Context) -> Decision | None:
    """A call of one of the tools; None when its arguments do not come, or when it was made already."""
    try:
        use = await ask(cast(State, {**state, "tools": tools}), context, possible={"use_tool"})
    except ModelOutputError as problem:
        context.emit(Note(f"no call of a tool: {problem.message}"))
        return None
    return use if refusal_of(use, state) is None else None


async def _fits(tool: dict[str, Json], question: str, context: Context) -> str:
    """Whether one call of a tool gives the answer: yes, part, no."""
    messages = _prompt("fits", question=question, tool=tool["name"], description=tool["description"])
    return await _word(context, messages, ("yes", "part", "no"))


async def _gives(tool: dict[str, Json], question: str, context: Context) -> str:
    """Whether one call of an external tool gives what is asked: yes, no. What the tool says of itself is data."""
    told = data_block(str(tool[SERVER]), str(tool["description"]))
    return await _word(context, _prompt("gives", question=question, tool=tool["name"], description=told), ("yes", "no"))


async def _need(context: Context, messages: list[Message], needs: Sequence[Need]) -> tuple[Need, str]:
    parsed = await _complete(context, messages, need_schema(needs))
    return cast(Need, parsed["needs"]), str(parsed["why"])


async def _word(context: Context, messages: list[Message], words: Sequence[str]) -> str:
    return str(await _complete(context, messages, word_schema(words)))


def need_schema(needs: Sequence[Need]) -> dict[str, Any]:
    """The form of the answer to what a question needs."""
    return {
        "type": "object",
        "properties": {"why": {"type": "string", "maxLength": _WHY_LENGTH}, "needs": {"enum": list(needs)}},
        "required": ["why", "needs"],
        "additionalProperties": False,
    }


def word_schema(words: Sequence[str]) -> dict[str, Any]:
    """The form of an answer in one word."""
    return {"type": "string", "enum": list(words)}


async def _complete(context: Context, messages: list[Message], form: dict[str, Any]) -> Any:
    completion = await context.complete(Role.COORDINATOR, messages, schema=form, temperature=0, max_tokens=_TOKENS)
    return completion.parsed


def _found(state: State) -> list[Step]:
    """The steps that brought text from outside; an external tool's result that is a single value is computed."""
    external = {tool["name"] for tool in state["tools"] if SERVER in tool}
    return [step for step in state.get("steps", []) if step["ok"] and _is_finding(step, external)]


def _is_finding(step: Step, external: set[Json]) -> bool:
    if step["action"] == "use_tool":
        return step["value"] is None and step["input"].partition("(")[0] in external
    return step["action"] in _FINDING


def _prompt(name: str, **values: object) -> list[Message]:
    return load_prompt("agent.small", name).render(**values)
