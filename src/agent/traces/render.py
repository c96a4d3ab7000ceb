"""A trace as lines for the terminal, a tree of steps and their calls; and as one HTML page that needs no network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from typing import Any

from agent.errors import UsageError
from agent.steps import preview
from agent.traces.trace import FORMS, Seen, Trace, TraceStep, call_facts, sized_line, step_facts, trace_facts
from mcp_tools.text import duration, one_line, printable

_PREVIEWED = 1_500
_LABEL = 12
LONGEST_TEXT = 20_000


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
    shown = [each for each in trace.steps if step is None or each.number == step]
    if step is not None and not shown:
        numbers = ", ".join(str(each.number) for each in trace.steps) or "none"
        raise UsageError(f"The run {trace.run.run_id} has no step {step}.", remedy=f"It has: {numbers}")
    lines = []
    for name, value in trace_facts(trace) if step is None else ():
        first, *more = printable(value).split("\n") if full else [sized_line(value, width - _LABEL)]
        lines += [f"{name:<{_LABEL}}{first}", *(f"{'':{_LABEL}}{line}" for line in more)]
    lines += [f"! {printable(flaw)}" for flaw in trace.flaws]
    seen = Seen()
    for each in shown:
        lines += ["", *_step_lines(each, width, seen, is_outline=step is None and not full, full=full)]
    if trace.traceback and step is None:
        lines += ["", "Where it broke:", *_block(trace.traceback, full=full)]
    return "\n".join(lines)


def _step_lines(step: TraceStep, width: int, seen: Seen, *, is_outline: bool, full: bool) -> Iterator[str]:
    facts = f"  ({step_facts(step)})"
    name = f"step {step.number}{step.action and f': {one_line(step.action)}'}{step.why and f' — {step.why}'}"
    yield f"● {one_line(name, max(width - len(facts) - 2, 30))}{facts}"
    for call in step.calls:
        branch, margin = ("└─", "   ") if call is step.calls[-1] else ("├─", "│  ")
        facts = f"  {call_facts(call)}"
        head = f"{branch} {call.number} {call.kind}{'' if call.ok else ' ✗'}  "
        yield head + one_line(call.title, max(width - len(head) - len(facts), 20)) + facts
        given, came = call.given, call.came
        if is_outline:
            given, came = tuple(p for p in given if p.label not in FORMS)[-1:], came[:1]
        for sign, passage in [*(("◂", p) for p in given), *(("▸", p) for p in came)]:
            head = f"{margin}  {sign} {one_line(passage.label)}"
            before = None if full else seen.before(call, passage.text)
            if before is not None:
                yield f"{head}: the same as in call {before}"
            elif is_outline:
                yield f"{head}: {sized_line(passage.text, width - len(head) - 2)}"
            else:
                yield f"{head} ({len(passage.text):,} characters)"
                yield from (f"{margin}    {line}".rstrip() for line in _block(passage.text, full=full))


def _block(text: str, *, full: bool) -> list[str]:
    return (printable(text) if full else preview(text, _PREVIEWED)).rstrip().split("\n")


def render_page(trace: Trace, *, full: bool = False) -> str:
    """The trace as a page without scripts, everything escaped; with `full`, every text whole, whatever its size."""

    def sized(text: str) -> str:
        if full or len(text) <= LONGEST_TEXT:
            return text
        return f"{preview(text, LONGEST_TEXT)}\n\n(alita traces open {trace.run.run_id} --full has it whole)"

    filters: dict[str, Callable[..., Any]] = {"sized": sized, "sized_line": sized_line, "duration": duration}
    longest = max((call.seconds for call in trace.calls), default=0.0) or 1.0
    facts = {"facts": trace_facts(trace), "step_facts": step_facts, "call_facts": call_facts}
    return filled_page("agent.traces", filters, trace=trace, seen=Seen().before, longest=longest, **facts)


def filled_page(package: str, filters: Mapping[str, Callable[..., Any]] | None = None, **values: Any) -> str:
    """The `page.html` of a package with these values; nothing in a text is markup, and nothing is invisible."""
    from jinja2 import Environment

    page = Environment(  # every value that is shown passes through `finalize`, and is escaped after it
        autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=lambda v: printable(v) if type(v) is str else v
    )
    page.filters |= {"line": one_line, **(filters or {})}
    template = files(package).joinpath("page.html").read_text(encoding="utf-8")
    return page.from_string(template).render(**values)
