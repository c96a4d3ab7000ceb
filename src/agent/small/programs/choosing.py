"""What a small model's programs are written over: what was just read, the files, or the question alone."""

from __future__ import annotations

from agent.context import Context
from agent.models.protocol import Message
from agent.programs.written import no_program, run_written
from agent.small.programs.opening import openable
from agent.small.programs.over_files import vote_on_files
from agent.small.programs.over_texts import texts_in, vote_on_texts
from agent.small.programs.voting import Printed
from agent.state import State
from agent.steps import step
from agent.strategy import Update
from mcp_tools.errors import StoppedError

_BEGUN: Message = {"role": "assistant", "content": "```python\n"}
"""A small model that is not begun for gives the answer it believes instead of a program."""


async def run_programs(state: State, context: Context) -> Update:
    """The answer that most of several programs over files or texts print; of other questions, one program's."""
    if openable(state) or texts_in(state):
        return await _voted(state, context)
    return await run_written(state, context, [_BEGUN])


async def _voted(state: State, context: Context) -> Update:
    """Programs over what was just read; over the files where nothing was, or where it says too little."""
    printed, over = Printed(""), "what was read"
    try:
        if _is_just_read(state):
            printed = await vote_on_texts(state, context)
        if not printed.answer and openable(state):
            printed, over = await vote_on_files(state, context), "the files"
    except StoppedError as stopped:
        return no_program(state, context, stopped.message)
    if not printed.answer:
        return no_program(state, context, printed.failure)
    finding = f"A program over {over} printed: {printed.answer}"
    return {"steps": [step(state, ok=True, finding=finding, value=printed.answer)]}


def _is_just_read(state: State) -> bool:
    texts, steps = texts_in(state), state.get("steps", [])
    return bool(texts) and (texts[-1] is steps[-1] or not openable(state))
