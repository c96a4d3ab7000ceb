"""A second implementation vouches for a tool: whoever writes it knows the tool by its definition alone.

A small model works out results badly in its head, and writes code well. So its tests are what another implementation
gives, which it writes from signature and docstring. Where that and the tool disagree, a third one decides.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.small.programs.program import code_in
from mcp_tools.create.bench import misfits
from mcp_tools.create.interfaces import Test
from mcp_tools.create.unused import alternatives
from mcp_tools.create.variations import variations
from mcp_tools.prompt import load_prompt
from mcp_tools.sandbox.protocol import Job, Limits, Outcome, Sandbox
from mcp_tools.tool import Json, Tool

Write = Callable[[list[dict[str, Any]], int], Awaitable[str]]
"""Asks a model for code, with a seed."""

_LIMITS = Limits(wall_seconds=5, cpu_seconds=5)
_MOST_IMPLEMENTATIONS = 2
_IMPORTS = """from __future__ import annotations

import calendar, itertools, math, re, statistics, string
from collections import Counter, defaultdict, deque
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import *
"""
"""What code uses that forgets to import it."""


class SecondImplementation:
    """An examiner whose tests are the results of an implementation of its own.

    Args:
        write: Asks the examiner's model.
        name: The model's name, for the provenance.
        sandbox: Where its implementations run.
        arguments: A call of the tool; others are drawn near it.
    """

    def __init__(self, write: Write, name: str, sandbox: Sandbox, arguments: dict[str, Json]) -> None:
        self.name = name
        self._write = write
        self._sandbox = sandbox
        self._arguments = arguments
        self._written = 0

    async def tests(self, definition: str, tool: Tool, files: Sequence[Path] = ()) -> list[Test]:
        """What the first implementation that gives any results gives for drawn arguments."""
        drawn = [arguments for arguments in drawn_near(self._arguments, tool) if not misfits(tool, arguments)]
        found: list[Test] = []
        while not found and self._written < _MOST_IMPLEMENTATIONS:
            outcomes = await self._outcomes(definition, tool, drawn)
            found = [
                Test(arguments, outcome.value, "agreement", because="a second implementation")
                for arguments, outcome in zip(drawn, outcomes, strict=True)
                if outcome.ok and outcome.value is not None
            ]
        return found

    async def look_again(
        self, definition: str, tool: Tool, disputed: Sequence[Test], objection: str
    ) -> list[Test | None]:
        """What a further implementation gives: a test stands where it is the same, and falls where it is another."""
        if self._written >= _MOST_IMPLEMENTATIONS:
            return list(disputed)
        outcomes = await self._outcomes(definition, tool, [test.arguments for test in disputed])
        return [
            replace(test, expected=outcome.value) if outcome.ok else None
            for test, outcome in zip(disputed, outcomes, strict=True)
        ]

    async def _outcomes(self, definition: str, tool: Tool, drawn: Sequence[dict[str, Json]]) -> list[Outcome]:
        """Runs an implementation that is written now."""
        self._written += 1
        messages = load_prompt("agent.small", "second").render(definition=definition)
        types = definition[: definition.rindex(f"def {tool.name}(")]
        source = f"{_IMPORTS}\n{types}\n{code_in(await self._write(messages, self._written))}"
        return [await self._sandbox.run(Job(source, tool.name, arguments, limits=_LIMITS)) for arguments in drawn]


def drawn_near(arguments: dict[str, Json], tool: Tool) -> list[dict[str, Json]]:
    """Other arguments like the given ones: of a text shorter pieces, of a choice each."""
    drawn = variations(arguments, count=6)
    for name, value in arguments.items():
        schema = tool.input_schema["properties"].get(name, {})
        if isinstance(value, str) and len(value) > 1:
            drawn += [{**arguments, name: piece} for piece in (value[:-1], value[1:], value[: len(value) // 2])]
        elif "enum" in schema or schema.get("type") == "boolean":
            drawn += [{**arguments, name: other} for other in alternatives(value, schema)]
    return [new for place, new in enumerate(drawn) if new not in drawn[:place]]
