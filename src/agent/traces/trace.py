"""A run as a tree: its steps, the calls of each, and what went in and came out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

from agent.models.protocol import Usage
from agent.store.runs import Run
from mcp_tools.tool import Json

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Passage:
    """One text that went into a call or came out of it, whole."""

    label: str
    """`system`, `user`, `code`, `arguments`, `result`, `stdout` …"""
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """One call that stands in the journal."""

    number: int
    """Its place in the journal, from 1."""
    kind: str
    """`model`, `sandbox`, `library`, `approval` …"""
    title: str
    """Who or what was called, on one line."""
    given: tuple[Passage, ...]
    """What went in, in the order in which it is read."""
    came: tuple[Passage, ...]
    """What came out: results, printed text, or what went wrong."""
    ok: bool
    seconds: float
    usage: Usage | None = None
    """What a model call cost; None for all others."""
    at: float | None = None
    """When it was made, in seconds since 1970; None where the journal does not say."""


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step with its calls; step 0 is what comes before the first decision."""

    number: int
    action: str
    """What the coordinator chose; empty where the journal does not say."""
    why: str
    calls: tuple[Call, ...]

    @property
    def seconds(self) -> float:
        """Time spent in its calls."""
        return sum(call.seconds for call in self.calls)

    @property
    def usage(self) -> Usage:
        """What its model calls cost together."""
        return total(self.calls)


@dataclass(frozen=True, slots=True)
class Trace:
    """One run and everything that its journal knows."""

    run: Run
    steps: tuple[TraceStep, ...]
    flaws: tuple[str, ...] = ()
    """What of the journal could not be read, one sentence each."""
    traceback: str = ""
    """Where a bug struck, when one ended the run."""

    @property
    def calls(self) -> tuple[Call, ...]:
        """Every call, oldest first within its step."""
        return tuple(call for step in self.steps for call in step.calls)

    def as_json(self) -> dict[str, Json]:
        """The object that `alita traces show --json` prints."""
        steps = [
            {**asdict(step), "seconds": round(step.seconds, 6), "usage": asdict(step.usage)} for step in self.steps
        ]
        return {
            "schema": SCHEMA,
            "run": self.run.as_json(),
            "steps": steps,
            "flaws": list(self.flaws),
            "traceback": self.traceback,
        }


def total(calls: Iterable[Call]) -> Usage:
    """What the model calls among these cost together."""
    return sum((call.usage for call in calls if call.usage is not None), Usage())


View = Literal["outline", "step", "full"]
"""How much of each text is shown: a line, a sized preview, or all of it."""
