"""A small model's answer is checked against what it read before it is given."""

from __future__ import annotations

from functools import partial

from agent.context import Context
from agent.deciding.extracting import copied_from
from agent.events import Note
from agent.instructions import LOOKS, Texts, without_instructions
from agent.models.protocol import Role
from agent.state import State, Step
from agent.steps import reading_of


async def believed(text: str, state: State, context: Context) -> str:
    """The answer, unless it stands only where a text tells its reader to give it: then another, or none."""
    texts: Texts = [(done["input"], reading_of(done)) for done in state.get("steps", []) if _is_read(done)]
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
