"""The agent's models as the writer and examiner of a small model's tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agent.context import Context
from agent.models.protocol import Role
from mcp_tools.create.protocol import Part
from mcp_tools.tool import Json

_SPEC_TOKENS = 900
_TEST_TOKENS = 160
_CODE_TOKENS = 600
_END_OF_CODE = "\n```\n"
"""What follows code that the prompt has begun is an explanation that nobody reads; elsewhere, it may open the code."""
_ROLE = {"writer": Role.WRITER, "examiner": Role.EXAMINER}


class ModelWriter:
    """Asks the models of the writer and examiner roles."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @property
    def name(self) -> str:
        """The writer's model."""
        return self._context.models.for_role(Role.WRITER).name

    async def fill(self, messages: Sequence[dict[str, Any]], schema: dict[str, Json], *, part: Part) -> Json:
        """A JSON value that fits the schema."""
        most = _TEST_TOKENS if part == "examiner" else _SPEC_TOKENS
        completion = await self._context.complete(_ROLE[part], messages, schema=schema, temperature=0, max_tokens=most)
        return completion.parsed

    async def write(
        self, messages: Sequence[dict[str, Any]], *, part: Part, count: int, temperature: float, seed: int
    ) -> list[str]:
        """`count` independent texts."""
        begun = messages[-1]["role"] == "assistant"
        completions = await self._context.sample(
            _ROLE[part],
            messages,
            count,
            temperature=temperature,
            seed=seed,
            max_tokens=_CODE_TOKENS,
            stop=[_END_OF_CODE] if begun else None,
        )
        return [completion.text for completion in completions]
