"""A trace as lines for the terminal: the run as a tree of steps and their calls."""

from __future__ import annotations

from collections.abc import Iterator

from agent.errors import UsageError
from agent.steps import preview
from agent.traces.trace import (
    Call,
    Passage,
    Seen,
    Trace,
    TraceStep,
    View,
    call_facts,
    sized_line,
    step_facts,
    trace_facts,
)
from mcp_tools.text import one_line, printable

PREVIEWED = 1_500
"""Characters of each text that one step shows."""
_LABEL = 12
FORMS = {"schema", "tools"}
"""What an outline leaves out: the form of a reply."""


def render(trace: Trace, *, width: int, step: int | None = None, full: bool = False) -> str:
    """The trace as text.

    Args:
        trace: What is shown.
        width: Columns of a line that is a preview.
        step: Only this step, with sized previews of what went in and came out.
        full: Every text whole.

    Raises:
        UsageError: There is no such step.
    """
    view: View = "full" if full else "outline" if step is None else "step"
    shown = [each for each in trace.steps if step is None or each.number == step]
    if step is not None and not shown:
        numbers = ", ".join(str(each.number) for each in trace.steps) or "none"
        raise UsageError(f"The run {trace.run.run_id} has no step {step}.", remedy=f"It has: {numbers}")
    lines = [] if step is not None else list(_head(trace, width, full=full))
    lines += [f"! {printable(flaw)}" for flaw in trace.flaws]
    tree = _Tree(view, width)
    for each in shown:
        lines += ["", *tree.step(each)]
    if trace.traceback and step is None:
        lines += ["", "Where it broke:", *_block(trace.traceback, view)]
    return "\n".join(lines)


def _head(trace: Trace, width: int, *, full: bool) -> Iterator[str]:
    for name, value in trace_facts(trace):
        if value:
            first, *more = printable(value).split("\n") if full else [sized_line(value, width - _LABEL)]
            yield f"{name:<{_LABEL}}{first}"
            yield from (f"{'':{_LABEL}}{line}" for line in more)


class _Tree:
    """The lines of steps and their calls."""

    def __init__(self, view: View, width: int) -> None:
        self._view = view
        self._width = width
        self._seen = Seen()

    def step(self, step: TraceStep) -> Iterator[str]:
        name = f"step {step.number}" + (f": {one_line(step.action)}" if step.action else "")
        facts = f"  ({step_facts(step)})"
        why = f" — {step.why}" if step.why else ""
        yield f"● {one_line(name + why, max(self._width - len(facts) - 2, 30))}{facts}"
        for call in step.calls:
            last = call is step.calls[-1]
            yield from self._call(call, "└─" if last else "├─", "   " if last else "│  ")

    def _call(self, call: Call, branch: str, margin: str) -> Iterator[str]:
        facts = f"  {call_facts(call)}"
        head = f"{branch} {call.number} {call.kind}{'' if call.ok else ' ✗'}  "
        yield head + one_line(call.title, max(self._width - len(head) - len(facts), 20)) + facts
        given, came = call.given, call.came
        if self._view == "outline":
            given, came = tuple(p for p in given if p.label not in FORMS)[-1:], came[:1]
        for sign, passages in (("◂", given), ("▸", came)):
            for passage in passages:
                yield from self._passage(call, passage, margin, f"{margin}  {sign} {one_line(passage.label)}")

    def _passage(self, call: Call, passage: Passage, margin: str, head: str) -> Iterator[str]:
        before = None if self._view == "full" else self._seen.before(call, passage.text)
        if before is not None:
            yield f"{head}: the same as in call {before}"
        elif self._view == "outline":
            yield f"{head}: {sized_line(passage.text, self._width - len(head) - 2)}"
        else:
            yield f"{head} ({len(passage.text):,} characters)"
            yield from (f"{margin}    {line}".rstrip() for line in _block(passage.text, self._view))


def _block(text: str, view: View) -> list[str]:
    return (printable(text) if view == "full" else preview(text, PREVIEWED)).rstrip().split("\n")
