"""Programs of a small model over what was read, over the attached files, or over the question alone."""

from __future__ import annotations

from agent.attached import granted
from agent.context import Context
from agent.models.protocol import Message
from agent.programs.scripts import failure_of
from agent.small.programs.examples import nearest
from agent.small.programs.opening import MODULE, modules_for, openable, packages_of, variables_of
from agent.small.programs.voting import Printed, vote
from agent.small.programs.written import LIMITS, no_program, run_written
from agent.state import Action, State, Step
from agent.steps import preview, reading_of, step
from agent.strategy import Update
from mcp_tools.errors import StoppedError
from mcp_tools.packages import file_packages
from mcp_tools.prompt import data_block, data_blocks, load_prompt
from mcp_tools.sandbox.protocol import Job, Outcome

_TEXTS: frozenset[Action] = frozenset({"read_file", "search", "browse"})
_MOST = 6_000
"""Characters of all texts together: a small model reads slowly, and loses itself in more."""
_BEGUN: Message = {"role": "assistant", "content": "```python\n"}
"""A small model that is not begun for gives the answer it believes instead of a program."""


async def run_programs(state: State, context: Context) -> Update:
    """The answer that most of several programs over texts or files print; without either, one program's."""
    texts, files = _texts_in(state), openable(state)
    if not texts and not files:
        return await run_written(state, context, [_BEGUN])
    printed, over = Printed(""), "what was read"
    try:
        if texts and (texts[-1] is state["steps"][-1] or not files):
            printed = await vote_on_texts(state, context)
        if not printed.answer and files:
            printed, over = await vote_on_files(state, context), "the files"
    except StoppedError as stopped:
        return no_program(state, context, stopped.message)
    if not printed.answer:
        return no_program(state, context, printed.failure)
    finding = f"A program over {over} printed: {printed.answer}"
    return {"steps": [step(state, ok=True, finding=finding, value=printed.answer)]}


async def vote_on_files(state: State, context: Context) -> Printed:
    """What most programs over the files print; what the files hold are variables of theirs.

    Raises:
        StoppedError: The run was ended, or its budget is spent.
    """
    read, modules, installed = granted(state, context), modules_for(state), file_packages()
    packages = tuple(name for name in packages_of(openable(state)) if name in installed)

    async def run(source: str) -> Outcome:
        job = Job(source, None, read=read, modules=modules, packages=packages, limits=LIMITS)
        return await context.sandbox.run(job)

    async def run_with_variables(source: str) -> Outcome:
        return await run(f"from {MODULE} import *\n{source}")

    told = await run(variables_of(state))
    if not told.ok:
        return Printed("", failure_of(told))
    variables, question = told.stdout.strip(), state["question"]
    *before, asked, begun = load_prompt("agent.small", "file_program").render(
        variables=data_block("variables", variables), question=question
    )
    messages = [*before, *nearest(variables, question), asked, begun]
    return await vote(messages, run_with_variables, question, context)


async def vote_on_texts(state: State, context: Context) -> Printed:
    """What most programs print that compute with what the texts say; they hold its numbers.

    Raises:
        StoppedError: The run was ended, or its budget is spent.
    """

    async def run(source: str) -> Outcome:
        return await context.sandbox.run(Job(source, None))

    texts = _texts_in(state)
    room = _MOST // max(len(texts), 1)
    evidence = data_blocks(data_block(done["input"], preview(reading_of(done), room)) for done in texts)
    messages = load_prompt("agent.small", "text_program").render(evidence=evidence, question=state["question"])
    return await vote(messages, run, state["question"], context)


def _texts_in(state: State) -> list[Step]:
    """The steps that brought texts from files, pages and searches."""
    return [done for done in state.get("steps", []) if done["ok"] and done["action"] in _TEXTS]
