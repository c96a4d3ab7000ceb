"""What the server needs of an agent: the seam through which `ask` and `create_tool` reach one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol

from mcp_tools.tool import Json

Tell = Callable[[str], Awaitable[None]]
"""Tells the client one line of what is being done."""


class Agent(Protocol):
    """Answers questions and makes tools. Both raise `AlitaError` for what a person can act on."""

    async def ask(self, question: str, *, files: Sequence[Path] = (), tell: Tell) -> dict[str, Json]:
        """Answers a question.

        Returns:
            `answer`, `status`, `tools_created`, `tools_used` and what it took.
        """
        ...

    async def create_tool(self, question: str, *, files: Sequence[Path] = (), tell: Tell) -> dict[str, Json]:
        """Makes the tool that answers questions of this kind, or finds it in the library.

        Returns:
            `created` and `reused`, names of tools, and the `answer` to the question.
        """
        ...
