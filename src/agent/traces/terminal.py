"""A trace as lines for the terminal: the run as a tree of steps and their calls."""

from __future__ import annotations

from collections.abc import Iterator

from agent.errors import UsageError
from agent.steps import preview
from agent.traces.facts import call_facts, sized_line, step_facts, trace_facts
from agent.traces.trace import Call, Passage, Trace, TraceStep, View
from mcp_tools.text import one_line, printable

PREVIEWED = 1_500
"""Characters of each text that one step shows."""
_LABEL = 12


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
    for each in shown:
        lines += ["", *_step(each, view, width)]
    if trace.traceback and step is None:
        lines += ["", "Where it broke:", *_block(trace.traceback, view)]
    return "\n".join(lines)


def _head(trace: Trace, width: int, *, full: bool) -> Iterator[str]:
    for name, value in trace_facts(trace):
        if value:
            first, *more = printable(value).split("\n") if full else [sized_line(value, width - _LABEL)]
            yield f"{name:<{_LABEL}}{first}"
            yield from (f"{'':{_LABEL}}{line}" for line in more)


def _step(step: TraceStep, view: View, width: int) -> Iterator[str]:
    name = f"step {step.number}" + (f"  {one_line(step.action)}" if step.action else "")
    facts = f"  ({step_facts(step)})"
    why = f" — {step.why}" if step.why else ""
    yield f"● {one_line(name + why, max(width - len(facts) - 2, 30))}{facts}"
    for call in step.calls:
        last = call is step.calls[-1]
        yield from _call(call, view, width, "└─" if last else "├─", "   " if last else "│  ")


def _call(call: Call, view: View, width: int, branch: str, margin: str) -> Iterator[str]:
    facts = f"  {call_facts(call)}"
    head = f"{branch} {call.number} {call.kind}{'' if call.ok else ' ✗'}  "
    yield head + one_line(call.title, max(width - len(head) - len(facts), 20)) + facts
    if view == "outline":
        for sign, passages in (("◂", call.given[-1:]), ("▸", call.came[:1])):
            for passage in passages:
                yield _brief(passage, f"{margin}  {sign} ", width)
        return
    for sign, passages in (("◂", call.given), ("▸", call.came)):
        for passage in passages:
            yield f"{margin}  {sign} {one_line(passage.label)} ({len(passage.text):,} characters)"
            yield from (f"{margin}    {line}".rstrip() for line in _block(passage.text, view))


def _brief(passage: Passage, head: str, width: int) -> str:
    named = f"{head}{one_line(passage.label)}: "
    return named + sized_line(passage.text, width - len(named))


def _block(text: str, view: View) -> list[str]:
    return (printable(text) if view == "full" else preview(text, PREVIEWED)).rstrip().split("\n")
