"""What may be asked."""

from __future__ import annotations

from typing import Literal

from mcp_tools.errors import UsageError

Wish = Literal["answer", "create"]
"""What a run is for: an answer, by whatever way; or the tool that answers such questions, found or created."""
LONGEST_QUESTION = 100_000
"""Characters. More is data, and belongs into a file."""


def usable(text: str) -> str:
    """The question without blanks around it, its lines ended as on Unix.

    Raises:
        UsageError: It is empty or too long.
    """
    question = text.replace("\r\n", "\n").strip()
    if not question:
        raise UsageError("The question is empty.", remedy='Ask something: alita "What is the 57th Fibonacci number?"')
    if len(question) > LONGEST_QUESTION:
        raise UsageError(
            f"The question has {len(question):,} characters; {LONGEST_QUESTION:,} are the most.",
            remedy='Put the data into a file and attach it: alita --file data.txt "…"',
        )
    return question
