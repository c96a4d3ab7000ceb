"""What the turns of a session took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.cli.screens.lines import cost_text, time_text
from agent.models.protocol import Usage
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.cli.interactive.terminal import Terminal


async def cost(terminal: Terminal, argument: str) -> None:
    """Shows tokens, money and time of each turn and of all; an unknown price makes the sum unknown."""
    turns = terminal.session.turns
    if not turns:
        terminal.screen.note("Nothing was asked yet.")
        return
    rows = [(f"{n}", *_took(turn.usage, turn.seconds), one_line(turn.question, 60)) for n, turn in enumerate(turns, 1)]
    total = sum((turn.usage for turn in turns), Usage())
    rows.append(("all", *_took(total, sum(turn.seconds for turn in turns)), ""))
    terminal.screen.rows(rows)


def _took(usage: Usage, seconds: float) -> tuple[str, str, str]:
    tokens = usage.input_tokens + usage.output_tokens
    return f"{tokens:,} tokens", cost_text(usage) if usage.calls else "no cost", time_text(seconds)
