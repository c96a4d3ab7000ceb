"""What a weak model's programs over readings are given: the texts themselves, whose numbers they hold."""

from __future__ import annotations

from agent.context import Context
from agent.models.protocol import Message
from agent.small.programs.voting import Printed, vote
from agent.state import Action, State, Step
from agent.steps import preview, reading_of
from mcp_tools.prompt import data_block, data_blocks, load_prompt
from mcp_tools.sandbox.protocol import Job, Outcome

_TEXTS: frozenset[Action] = frozenset({"read_file", "search", "browse"})
_MOST = 6_000
"""Characters of all texts together: a small model reads slowly, and loses itself in more."""


def texts_in(state: State) -> list[Step]:
    """The steps that brought texts from files, pages and searches."""
    return [step for step in state.get("steps", []) if step["ok"] and step["action"] in _TEXTS]


async def vote_on_texts(state: State, context: Context) -> Printed:
    """What most programs print that compute with what the texts say.

    Raises:
        StoppedError: The run was ended, or its budget is spent.
    """

    async def run(source: str) -> Outcome:
        return await context.sandbox.run(Job(source, None))

    return await vote(_prompt(state), run, state["question"], context)


def _prompt(state: State) -> list[Message]:
    texts = texts_in(state)
    room = _MOST // max(len(texts), 1)
    evidence = data_blocks(data_block(step["input"], preview(reading_of(step), room)) for step in texts)
    return load_prompt("agent.small", "text_program").render(evidence=evidence, question=state["question"])
