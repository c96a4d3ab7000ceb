"""A small model's decision: rules where they are sure, else small questions, one at a time.

What is needed: computing, a fact of the world, a site, talk? Does this tool give it? With which arguments? Nothing is
done twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Literal, cast, get_args

from agent.actions.refusals import refusal_of, unread
from agent.actions.server_tools import RANK, external_of
from agent.actions.tools import DRAFT
from agent.answer import stands_there
from agent.answering.answer_format import answer_text
from agent.answering.final_answer import in_asked_format
from agent.consent.external_tools import SERVER, arguments_schema
from agent.context import Context
from agent.errors import ModelOutputError
from agent.events import Note
from agent.material.attached import readable, was_read
from agent.models.protocol import Role
from agent.small.instructions import LOOKS, Texts, without_instructions, without_labels
from agent.small.rules import by_files, has_data, must_operate_a_site, named_page, read_on, shows_code
from agent.state import Action, Decision, State, Step
from agent.steps import evidence_text, reading_of
from agent.strategy import asked_before
from mcp_tools.prompt import DataText, data_block, data_blocks, load_prompt
from mcp_tools.text import printable
from mcp_tools.tool import Json, object_schema

_EXTRACT_TOKENS = 60
_FORM: dict[str, Any] = {"type": "string", "maxLength": 200}
_TEXTS: frozenset[Action] = frozenset({"read_file", "search"})
"""Actions that bring texts of others as they are: the browser has judged its own, and a value is no text."""
_LONGEST = 4_000
"""Characters of what is shown: readings, and what is said around them."""


async def copied_from(texts: Texts, question: str, context: Context) -> str:
    """The answer that the model copies from texts; empty where they do not state it."""
    if not texts:
        return ""
    room = _LONGEST // len(texts)
    shown = [(source, printable(text)[:room]) for source, text in texts]
    evidence = data_blocks(data_block(source, text) for source, text in shown)
    answer = str(await filled("extract", _FORM, context, _EXTRACT_TOKENS, question=question, evidence=evidence)).strip()
    return answer if any(stands_there(answer, text, question) for _, text in texts) else ""


async def from_reading(state: State, context: Context) -> Decision | None:
    """The answer, if a reading states it that was not asked about before.

    That is the newest one; while each file was read once at most, those of all: nothing was asked between them.
    """
    steps = state["steps"]
    read: list[Step] = []
    if steps[-1]["action"] == "read_file" and steps[-1]["ok"]:
        counts = [sum(was_read(file, [step]) for step in steps) for file in readable(state)]
        each_once = sum(counts) == len(steps) and max(counts) == 1
        read = [step for step in steps if step["ok"]] if each_once else steps[-1:]
    answer = await copied_from([(step["input"], reading_of(step)) for step in read], state["question"], context)
    return Decision("answer", "It stands in the file.", answer=answer) if answer else None


async def believed(text: str, state: State, context: Context) -> str:
    """The answer, unless it stands only where a text tells its reader to give it: then another, or none.

    What stands only in the name of a link or a picture gives way to what the text itself says.
    """
    done = [step for step in state.get("steps", []) if step["ok"] and step["action"] in _FINDING]
    texts: Texts = [
        (step["input"], reading_of(step)) for step in done if step["action"] in _TEXTS or step["value"] is None
    ]
    if rest := without_labels(text, texts):
        other = await copied_from(rest, state["question"], context)
        texts, text = (rest, other) if other else (texts, text)
    for _ in range(LOOKS):
        left = await without_instructions(
            text, texts, state["question"], partial(context.complete, Role.COORDINATOR), context.set_apart
        )
        if left is None:
            return text
        texts, text = left, await copied_from(left, state["question"], context)
        if not text:
            break
    context.emit(Note("the only answer found is an instruction in a text, which does not count"))
    return ""


Need = Literal["compute", "fact", "site", "talk"]
NEEDS: tuple[Need, ...] = get_args(Need)
_WHY_LENGTH = 80
_TOKENS = 80
_ARGUMENTS_TOKENS = 500
_MOST_TOOLS = 2
"""External tools that are asked about: each costs a question."""
_FINDING: frozenset[Action] = frozenset({"search", "browse", "read_file", "use_tool"})
"""Actions that bring text from outside, in which an answer may be written."""


async def choose(state: State, context: Context) -> Decision:
    """The next action; the best-effort answer when all that makes sense was already done.

    Raises:
        ModelOutputError: The model did not answer in the form that was asked for.
    """
    same = asked_before(state)
    if same is not None and refusal_of(same, state) is None:
        return same
    if state.get("wish") == "create":
        return await _choose_tool(state, context)
    decision = _sure(state) or await _from_evidence(state, context) or _by_site(state)
    decision = decision or await _by_need(state, context)
    if decision is not None and decision.action != "answer" and refusal_of(decision, state) is not None:
        search = Decision("search", "No site could be operated; what it says may be found.")
        if decision.action == "browse" and not _did("search", state) and refusal_of(search, state) is None:
            return search
        decision = None
        if has_data(state["question"]):
            decision = await _computing(state, context, "It was tried already, but the question holds data.")
    return decision or Decision("answer", "All that makes sense was already done.")


def _did(action: Action, state: State) -> bool:
    return any(step["action"] == action for step in state.get("steps", []))


async def _choose_tool(state: State, context: Context) -> Decision:
    """The next action of a run that is for a tool: one of the library that fits, else a new one, tried once."""
    steps = state.get("steps", [])
    if steps and steps[-1]["ok"]:
        return Decision("answer", "The result is there.", answer=answer_text(steps[-1]["value"], state["question"]))
    if _did("create_tool", state):
        return Decision("answer", "No tool could be created.")
    use = await _use_of_fitting(state["tools"], state, context)
    return use or Decision("create_tool", "A tool is wanted, and none of the library computes this.")


def _sure(state: State) -> Decision | None:
    """What needs no model: a computed result is the answer, a file must be read, code run."""
    steps = state.get("steps", [])
    if steps and steps[-1]["ok"] and steps[-1]["value"] is not None:
        text = answer_text(steps[-1]["value"], state["question"])
        if steps[-1]["action"] == "use_tool":
            text = in_asked_format(text, state["question"])
        if text.strip():
            return Decision("answer", "The last step computed the result.", answer=text)
    if (over_files := by_files(state)) is not None:
        return over_files
    if not state.get("attached") and unread(state.get("files", []), steps):
        return Decision("read_file", "A file is attached that has not been read.")
    return None


def _by_site(state: State) -> Decision | None:
    """A page or a site that the question names: it is read, else operated once."""
    if not must_operate_a_site(state["question"]) or _did("browse", state):
        return None
    return named_page(state) or Decision("browse", "A web site must be operated.")


async def _from_evidence(state: State, context: Context) -> Decision | None:
    """The answer, where what was found last states it; else the next part of a file that is being read."""
    found = _found(state)
    if not found or found[-1] is not state["steps"][-1]:
        return None
    if state.get("attached") and found[-1]["action"] == "read_file":
        return await from_reading(state, context) or read_on(state)
    texts = [(step["input"], reading_of(step)) for step in found]
    answer = await copied_from(texts, state["question"], context)
    return Decision("answer", "It was found.", answer=answer) if answer else None


async def _by_need(state: State, context: Context) -> Decision | None:
    """The action that gives what the question needs; None when computing was tried already."""
    found = _found(state)
    read = [step["finding"] for step in found if step["action"] == "read_file"]
    if any(map(shows_code, [state["question"], *read])):
        return Decision("run_code", "There is code to run.")
    form = need_schema(NEEDS[:-1] if found else NEEDS)
    parsed = await filled("needs", form, context, question=state["question"], evidence=evidence_text(found))
    need, why = parsed["needs"], str(parsed["why"])
    if need == "compute":
        return await _computing(state, context, why)
    if need == "talk":
        return Decision("answer", why)
    use = await _use_of_fitting(_external(state), state, context)
    return use or Decision("search" if need == "fact" else "browse", why)


async def _computing(state: State, context: Context, why: str) -> Decision | None:
    own = [tool for tool in state["tools"] if SERVER not in tool]
    if (use := await _use_of_fitting([*own, *_external(state)], state, context)) is not None:
        return use
    program = Decision("run_code", why)
    return program if refusal_of(program, state) is None else None


def _external(state: State) -> list[dict[str, Json]]:
    return sorted(external_of(state), key=lambda tool: tool.get(RANK, 0))[:_MOST_TOOLS]


async def _use_of_fitting(tools: Sequence[dict[str, Json]], state: State, context: Context) -> Decision | None:
    """A call of the first tool that gives what is asked; None where none does, or that call was made already."""
    for tool in tools:
        name, said = str(tool["name"]), str(tool["description"])
        described = DataText(said) if tool.get(DRAFT) else data_block(str(tool.get(SERVER, "library")), said)
        given: dict[str, Any] = {"question": state["question"], "tool": name, "description": described}
        if await filled("fits", word_schema(("yes", "part", "no")), context, **given) != "yes":
            continue
        try:
            arguments = await filled("arguments", arguments_schema(tool), context, _ARGUMENTS_TOKENS, **given)
        except ModelOutputError as problem:
            context.emit(Note(f"no tool call: {problem.message}"))
            continue
        use = Decision("use_tool", f"{name} gives it.", name, cast(dict[str, Json], arguments))
        if refusal_of(use, state) is None:
            return use
    return None


def need_schema(needs: Sequence[Need]) -> dict[str, Any]:
    """The form of the answer to what a question needs."""
    return object_schema({"why": {"type": "string", "maxLength": _WHY_LENGTH}, "needs": {"enum": list(needs)}})


def word_schema(words: Sequence[str]) -> dict[str, Any]:
    """The form of an answer in one word."""
    return {"type": "string", "enum": list(words)}


async def filled(prompt: str, form: dict[str, Any], context: Context, tokens: int = _TOKENS, **values: object) -> Any:
    """What the coordinator's model answers to a small question, in a form.

    Raises:
        ModelOutputError: It did not answer in this form.
    """
    messages = load_prompt("agent.small", prompt).render(**values)
    return (await context.complete(Role.COORDINATOR, messages, schema=form, temperature=0, max_tokens=tokens)).parsed


def _found(state: State) -> list[Step]:
    """The steps that brought text from outside; an external tool's result that is a single value is computed."""
    external = {tool["name"] for tool in state["tools"] if SERVER in tool}
    told = [
        step
        for step in state.get("steps", [])
        if step["action"] != "use_tool" or (step["value"] is None and step["input"].partition("(")[0] in external)
    ]
    return [step for step in told if step["ok"] and step["action"] in _FINDING]
