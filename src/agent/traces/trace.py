"""A run as a tree: its steps, the calls of each, and what went in and came out."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from agent.learning.planner import brief_text
from agent.models.protocol import Usage
from agent.store.runs import Run
from mcp_tools.text import count_of, duration, one_line
from mcp_tools.tool import Json

SCHEMA = 1
FORMS = {"schema", "tools"}
"""Labels of the form of a reply, which says little of a call."""


@dataclass(frozen=True, slots=True)
class Passage:
    """One text that went into a call or came out of it, whole."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One call that stands in the journal."""

    number: int
    kind: str
    title: str
    given: tuple[Passage, ...]
    """What went in, the main text last."""
    came: tuple[Passage, ...]
    """What came out, the main text first."""
    ok: bool
    seconds: float
    usage: Usage | None = None
    at: float | None = None
    """When it was made, in seconds since 1970; None where the journal does not say."""


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step with its calls; step 0 is what comes before the first decision."""

    number: int
    action: str
    """What the coordinator chose; empty where the journal does not say."""
    why: str
    calls: tuple[RecordedCall, ...]
    input: str = ""
    found: str = ""
    """What it came to, in short; empty where the run ended before that."""

    @property
    def seconds(self) -> float:
        """Time spent in its calls."""
        return sum(call.seconds for call in self.calls)

    @property
    def usage(self) -> Usage:
        """What its model calls cost together."""
        return _total(self.calls)


@dataclass(frozen=True, slots=True)
class Trace:
    """One run and everything that its journal knows."""

    run: Run
    steps: tuple[TraceStep, ...]
    flaws: tuple[str, ...] = ()
    """What of the journal could not be read, one sentence each."""
    traceback: str = ""

    @property
    def calls(self) -> tuple[RecordedCall, ...]:
        """Every call, oldest first within its step."""
        return tuple(call for step in self.steps for call in step.calls)

    def as_json(self) -> dict[str, Json]:
        """The object that `alita traces show --json` prints."""
        sums = ({"seconds": round(step.seconds, 6), "usage": asdict(step.usage)} for step in self.steps)
        steps: list[Json] = [{**asdict(step), **more} for step, more in zip(self.steps, sums, strict=True)]
        told = {"flaws": list(self.flaws), "traceback": self.traceback}
        return {"schema": SCHEMA, "run": self.run.as_json(), "steps": steps, **told}


def _total(calls: Iterable[RecordedCall]) -> Usage:
    return sum((call.usage for call in calls if call.usage is not None), Usage())


def call_facts(call: RecordedCall) -> str:
    """What one call took."""
    parts = [duration(call.seconds)]
    if call.usage is not None:
        cached = f" ({call.usage.cached_tokens:,} cached)" if call.usage.cached_tokens else ""
        parts.append(f"{call.usage.input_tokens:,}{cached} + {call.usage.output_tokens:,} tokens")
        parts += [call.usage.cost_text] if call.usage.cost != 0 else []
    return " · ".join(parts)


def step_facts(step: TraceStep) -> str:
    """What one step took."""
    tokens, count = step.usage.input_tokens + step.usage.output_tokens, len(step.calls)
    parts = [duration(step.seconds), f"{count} call{'' if count == 1 else 's'}"]
    return " · ".join([*parts, *([f"{tokens:,} tokens"] if tokens else [])])


def trace_facts(trace: Trace) -> list[tuple[str, str]]:
    """Name and value of what is known of the whole run."""
    run, answer = trace.run, trace.run.answer
    plans = answer.plans if answer else ()
    usage = answer.usage if answer else _total(trace.calls)
    models, boxes = (sum(call.kind == kind for call in trace.calls) for kind in ("model", "sandbox"))
    took = duration(answer.seconds if answer else sum(call.seconds for call in trace.calls))
    tokens = f"{usage.input_tokens:,} + {usage.output_tokens:,} tokens"
    quality = answer.quality if answer else None
    found = [
        ("run", f"{run.run_id} ({run.status.replace('_', ' ')})"),
        ("question", run.question),
        ("understood", answer.restated or "" if answer else ""),
        ("answer", (answer.text or answer.error or "") if answer else ""),
        ("quality", f"{quality['confidence']} confidence ({quality['basis']}): {quality['why']}" if quality else ""),
        ("brief", brief_text(answer.brief) if answer and answer.brief else ""),
        *(
            ("new plan", f"after step {plan['step']}, because {plan['why']}: {'; '.join(plan['plan'])}")
            for plan in plans
        ),
        ("model", run.model),
        ("started", time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.started))),
        ("took", f"{took} · {count_of(models, 'model call')} · {boxes} in the sandbox · {tokens} · {usage.cost_text}"),
        *(("file", file.path) for file in run.files),
        ("tools made", ", ".join(answer.tools_created) if answer else ""),
        ("tools used", ", ".join(answer.tools_used) if answer else ""),
        ("set apart", "; ".join(answer.set_apart) if answer else ""),
        ("forked from", run.parent or ""),
    ]
    return [(name, value) for name, value in found if value]


def sized_line(text: str, width: int) -> str:
    """The text on one line; where that cannot hold it, with its size."""
    width = max(width, 20)
    short = one_line(text, width)
    if not short.endswith("…") or len(" ".join(text.split())) <= width:
        return short
    size = f" ({len(text):,} characters)"
    return one_line(text, max(width - len(size), 20)) + size


_WORTH_SHARING = 300


class Seen:
    """Remembers long texts while calls are shown in their order."""

    def __init__(self) -> None:
        self._first: dict[str, int] = {}

    def before(self, call: RecordedCall, text: str) -> int | None:
        """The number of the earlier call that has the same long text; None when there is none."""
        first = self._first.setdefault(text, call.number) if len(text) >= _WORTH_SHARING else call.number
        return None if first == call.number else first
