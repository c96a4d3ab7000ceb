"""What a weak model's programs over attached files are given: the files as variables that are told."""

from __future__ import annotations

from agent.attached import granted
from agent.context import Context
from agent.models.protocol import Message
from agent.programs.scripts import failure_of
from agent.programs.written import LIMITS
from agent.small.programs.examples import nearest
from agent.small.programs.opening import MODULE, modules_for, openable, packages_of, variables_of
from agent.small.programs.voting import Printed, vote
from agent.state import State
from mcp_tools.packages import file_packages
from mcp_tools.prompt import data_block, load_prompt
from mcp_tools.sandbox.protocol import Job, Outcome


async def vote_on_files(state: State, context: Context) -> Printed:
    """What most programs over the files print."""
    files = Files(state, context)
    variables = await files.run(variables_of(state))
    if not variables.ok:
        return Printed("", failure_of(variables))

    async def run(source: str) -> Outcome:
        return await files.run(f"from {MODULE} import *\n{source}")

    return await vote(_prompt(variables.stdout.strip(), state["question"]), run, state["question"], context)


class Files:
    """Runs programs that import the attached files."""

    def __init__(self, state: State, context: Context) -> None:
        self._sandbox = context.sandbox
        self._read = granted(state, context)
        self._modules = modules_for(state)
        installed = file_packages()
        self._packages = tuple(name for name in packages_of(openable(state)) if name in installed)

    async def run(self, source: str) -> Outcome:
        """Runs a program."""
        job = Job(source, None, read=self._read, modules=self._modules, packages=self._packages, limits=LIMITS)
        return await self._sandbox.run(job)


def _prompt(variables: str, question: str) -> list[Message]:
    *before, asked, begun = load_prompt("agent.small", "file_program").render(
        variables=data_block("variables", variables), question=question
    )
    return [*before, *nearest(variables, question), asked, begun]
