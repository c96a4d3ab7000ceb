"""What a rule is: an id, one sentence, and a function that finds where a source breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from mcp_tools.checks.source import Source


class Remark(NamedTuple):
    """One place where a source breaks a rule."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the checks."""

    id: str
    """Kebab-case; stands in every finding."""
    description: str
    """One sentence that says what the rule asks for."""
    find: Callable[[Source], Iterator[Remark]]
