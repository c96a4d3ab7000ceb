"""The figures of a trace in words: times, tokens, money."""

from __future__ import annotations

import hashlib
import time

from agent.models.protocol import Usage
from agent.traces.trace import Call, Trace, TraceStep, total
from mcp_tools.text import one_line


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
