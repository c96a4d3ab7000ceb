"""A small model's answer from what was read: copied from it, checked to be there, and not because a text orders it."""

from __future__ import annotations

from functools import partial
from typing import Any

from agent.answering.grounding import stands_there
from agent.context import Context
from agent.events import Note
from agent.material.attached import readable, was_read
from agent.models.protocol import Role
from agent.small.instructions import LOOKS, Texts, without_instructions, without_labels
from agent.state import Decision, State, Step
from agent.steps import reading_of
from mcp_tools.prompt import data_block, data_blocks, load_prompt
from mcp_tools.text import printable

_TOKENS = 60
_FORM: dict[str, Any] = {"type": "string", "maxLength": 200}
_LONGEST = 4_000
"""Characters of what is shown: readings, and what is said around them."""


async def from_reading(state: State, context: Context) -> Decision | None:
    """The answer, if a reading states it that was not asked about before."""
    steps = _not_asked_about(state)
    answer = await copied_from([(step["input"], reading_of(step)) for step in steps], state["question"], context)
    return Decision("answer", "It stands in the file.", answer=answer) if answer else None


async def copied_from(texts: Texts, question: str, context: Context) -> str:
    """The answer that the model copies from texts; empty where they do not state it."""
    if not texts:
        return ""
    room = _LONGEST // len(texts)
    shown = [(source, printable(text)[:room]) for source, text in texts]
    evidence = data_blocks(data_block(source, text) for source, text in shown)
    messages = load_prompt("agent.small", "extract").render(question=question, evidence=evidence)
    completion = await context.complete(Role.COORDINATOR, messages, schema=_FORM, temperature=0, max_tokens=_TOKENS)
    answer = str(completion.parsed).strip()
    return answer if any(stands_there(answer, text, question) for _, text in texts) else ""


def _not_asked_about(state: State) -> list[Step]:
    """The newest reading; while each file was read once at most, those of all: nothing was asked between them."""
    steps = state["steps"]
    if steps[-1]["action"] != "read_file" or not steps[-1]["ok"]:
        return []
    counts = [sum(was_read(file, [step]) for step in steps) for file in readable(state)]
    return [step for step in steps if step["ok"]] if sum(counts) == len(steps) and max(counts) == 1 else steps[-1:]


async def believed(text: str, state: State, context: Context) -> str:
    """The answer, unless it stands only where a text tells its reader to give it: then another, or none.

    What stands only in the name of a link or a picture gives way to what the text itself says.
    """
    texts: Texts = [(done["input"], reading_of(done)) for done in state.get("steps", []) if _is_read(done)]
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
    context.emit(Note("what only an instruction in a text says is no answer, and nothing else was found"))
    return ""


def _is_read(done: Step) -> bool:
    """Whether a step brought a text of others as it is: the browser has judged its own, and a value is no text."""
    is_text = done["action"] in {"read_file", "search"} or done["value"] is None
    return done["ok"] and is_text and done["action"] in {"read_file", "search", "browse", "use_tool"}
