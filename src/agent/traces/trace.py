"""A run as a tree: its steps, the calls of each, and what went in and came out."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

from agent.models.protocol import Usage
from agent.store.runs import Run
from mcp_tools.text import one_line
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


def duration(seconds: float) -> str:
    """A time as people read it."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms" if seconds >= 0.001 else f"{seconds * 1000:.1f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60)} s"


def cost(usage: Usage) -> str:
    """Money; unknown is said, and never zero."""
    return "cost unknown" if usage.cost is None else f"${usage.cost:.4f}"


def call_facts(call: Call) -> str:
    """What one call took."""
    parts = [duration(call.seconds)]
    if call.usage is not None:
        cached = f" ({call.usage.cached_tokens:,} cached)" if call.usage.cached_tokens else ""
        parts.append(f"{call.usage.input_tokens:,}{cached} + {call.usage.output_tokens:,} tokens")
        parts += [cost(call.usage)] if call.usage.cost != 0 else []
    return " · ".join(parts)


def step_facts(step: TraceStep) -> str:
    """What one step took."""
    usage = step.usage
    tokens = usage.input_tokens + usage.output_tokens
    count = len(step.calls)
    parts = [duration(step.seconds), f"{count} call{'' if count == 1 else 's'}"]
    return " · ".join([*parts, *([f"{tokens:,} tokens"] if tokens else [])])


def trace_facts(trace: Trace) -> list[tuple[str, str]]:
    """Name and value of what is known of the whole run."""
    run, answer = trace.run, trace.run.answer
    usage = answer.usage if answer else total(trace.calls)
    models = sum(call.kind == "model" for call in trace.calls)
    boxes = sum(call.kind == "sandbox" for call in trace.calls)
    took = duration(answer.seconds if answer else sum(call.seconds for call in trace.calls))
    tokens = f"{usage.input_tokens:,} + {usage.output_tokens:,} tokens"
    return [
        ("run", f"{run.run_id} ({run.status.replace('_', ' ')})"),
        ("question", run.question),
        *([("understood", answer.restated)] if answer and answer.restated else []),
        ("answer", (answer.text or answer.error or "") if answer else ""),
        ("model", run.model),
        ("started", time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.started))),
        ("took", f"{took} · {models} model calls · {boxes} in the sandbox · {tokens} · {cost(usage)}"),
        *(("file", file.path) for file in run.files),
        *([("tools made", ", ".join(answer.tools_created))] if answer and answer.tools_created else []),
        *([("tools used", ", ".join(answer.tools_used))] if answer and answer.tools_used else []),
        *([("set apart", "; ".join(answer.set_apart))] if answer and answer.set_apart else []),
        *([("forked from", run.parent)] if run.parent else []),
    ]


def sized_line(text: str, width: int) -> str:
    """The text on one line; where that cannot hold it, with its size."""
    short = one_line(text, max(width, 20))
    whole = " ".join(text.split())
    if len(whole) <= max(width, 20) or not short.endswith("…"):
        return short
    size = f" ({len(text):,} characters)"
    return one_line(text, max(width - len(size), 20)) + size


WORTH_SHARING = 300
"""Characters from which on a text that came before is referred to."""


class Seen:
    """Remembers long texts while calls are shown in their order."""

    def __init__(self) -> None:
        self._first: dict[bytes, int] = {}

    def before(self, call: Call, text: str) -> int | None:
        """The number of the earlier call that has the same long text; None when there is none."""
        if len(text) < WORTH_SHARING:
            return None
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        first = self._first.setdefault(digest, call.number)
        return None if first == call.number else first
