"""Renders a trace as a tree of steps and calls for the terminal, or as an HTML page."""

from __future__ import annotations

import time
from collections.abc import Iterator

from agent.errors import UsageError
from agent.learning.planner import brief_text
from agent.models.protocol import Usage
from agent.steps import preview
from agent.traces.page import Fold, Item, PageSection, StaticPage
from agent.traces.trace import RecordedCall, Trace, TraceStep
from mcp_tools.text import count_of, duration, one_line, printable

_PREVIEWED = 1_500
_LABEL = 12
_WORTH_SHARING = 300
LONGEST_TEXT = 20_000
FORM_LABELS = {"schema", "tools"}
"""Labels of texts that are not informative about a call."""


def render(trace: Trace, *, width: int, step: int | None = None, full: bool = False) -> str:
    """Render a trace as text.

    Args:
        trace: The trace.
        width: Maximum width of shortened lines, in columns.
        step: Number of the only step to show, with the beginning and the size of its inputs and outputs.
        full: True to show all texts unshortened.

    Raises:
        UsageError: There is no such step.
    """
    shown = [each for each in trace.steps if step is None or each.number == step]
    if step is not None and not shown:
        numbers = ", ".join(str(each.number) for each in trace.steps) or "none"
        raise UsageError(f"The run {trace.run.run_id} has no step {step}.", remedy=f"It has: {numbers}")
    lines = []
    for name, value in trace_facts(trace) if step is None else ():
        first, *more = printable(value).split("\n") if full else [_sized_line(value, width - _LABEL)]
        lines += [f"{name:<{_LABEL}}{first}", *(f"{'':{_LABEL}}{line}" for line in more)]
    lines += [f"! {printable(flaw)}" for flaw in trace.flaws]
    seen = _Seen()
    for each in shown:
        lines += ["", *_step_lines(each, width, seen, is_outline=step is None and not full, full=full)]
    if trace.traceback and step is None:
        lines += ["", "Where it failed:", *_block(trace.traceback, full=full)]
    return "\n".join(lines)


def _step_lines(step: TraceStep, width: int, seen: _Seen, *, is_outline: bool, full: bool) -> Iterator[str]:
    facts = f"  ({_step_facts(step)})"
    name = f"step {step.number}{step.action and f': {one_line(step.action)}'}{step.why and f' — {step.why}'}"
    yield f"● {one_line(name, max(width - len(facts) - 2, 30))}{facts}"
    for call in step.calls:
        branch, margin = ("└─", "   ") if call is step.calls[-1] else ("├─", "│  ")
        facts = f"  {_call_facts(call)}"
        head = f"{branch} {call.number} {call.kind}{'' if call.ok else ' ✗'}  "
        yield head + one_line(call.title, max(width - len(head) - len(facts), 20)) + facts
        given, came = call.given, call.came
        if is_outline:
            given, came = tuple(p for p in given if p.label not in FORM_LABELS)[-1:], came[:1]
        for sign, passage in [*(("◂", p) for p in given), *(("▸", p) for p in came)]:
            head = f"{margin}  {sign} {one_line(passage.label)}"
            before = None if full else seen.before(call, passage.text)
            if before is not None:
                yield f"{head}: the same as in call {before}"
            elif is_outline:
                yield f"{head}: {_sized_line(passage.text, width - len(head) - 2)}"
            else:
                yield f"{head} ({len(passage.text):,} characters)"
                yield from (f"{margin}    {line}".rstrip() for line in _block(passage.text, full=full))


def _call_facts(call: RecordedCall) -> str:
    parts = [duration(call.seconds)]
    if call.usage is not None:
        cached = f" ({call.usage.cached_tokens:,} cached)" if call.usage.cached_tokens else ""
        parts.append(f"{call.usage.input_tokens:,}{cached} + {call.usage.output_tokens:,} tokens")
        parts += [call.usage.cost_text] if call.usage.cost != 0 else []
    return " · ".join(parts)


def _step_facts(step: TraceStep) -> str:
    tokens = step.usage.input_tokens + step.usage.output_tokens
    parts = [duration(step.seconds), count_of(len(step.calls), "call")]
    return " · ".join([*parts, *([f"{tokens:,} tokens"] if tokens else [])])


def trace_facts(trace: Trace) -> list[tuple[str, str]]:
    """Return facts about the whole run as (name, value) pairs."""
    run, answer = trace.run, trace.run.answer
    usage = answer.usage if answer else sum((step.usage for step in trace.steps), Usage())
    models, boxes = (sum(call.kind == kind for call in trace.calls) for kind in ("model", "sandbox"))
    took = duration(answer.seconds if answer else sum(call.seconds for call in trace.calls))
    tokens = f"{usage.input_tokens:,} + {usage.output_tokens:,} tokens"
    found = [("run", f"{run.run_id} ({run.status.replace('_', ' ')})"), ("question", run.question)]
    if answer:
        quality = answer.quality
        found += [
            ("understood", answer.restated or ""),
            ("answer", answer.text or answer.error or ""),
            (
                "quality",
                f"{quality['confidence']} confidence ({quality['basis']}): {quality['why']}" if quality else "",
            ),
            ("brief", brief_text(answer.brief) if answer.brief else ""),
        ]
        found += [
            ("new plan", f"after step {plan['step']}, because {plan['why']}: {'; '.join(plan['plan'])}")
            for plan in answer.plans
        ]
    found += [
        ("model", run.model),
        ("started", time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.started))),
        ("took", f"{took} · {count_of(models, 'model call')} · {boxes} in the sandbox · {tokens} · {usage.cost_text}"),
        *(("file", file.path) for file in run.files),
    ]
    if answer:
        found += [("tools made", ", ".join(answer.tools_created)), ("tools used", ", ".join(answer.tools_used))]
        found.append(("set apart", "; ".join(answer.set_apart)))
        found += [("output", f"{file.path} ({file.size:,} bytes)") for file in answer.outputs]
    found.append(("forked from", run.parent or ""))
    return [(name, value) for name, value in found if value]


def _sized_line(text: str, width: int) -> str:
    """Return a text on one line. If the text is cut, its size is appended."""
    width = max(width, 20)
    short = one_line(text, width)
    if not short.endswith("…") or len(" ".join(text.split())) <= width:
        return short
    size = f" ({len(text):,} characters)"
    return one_line(text, max(width - len(size), 20)) + size


class _Seen:
    """Remembers long texts, so that a repeated text is shown only once."""

    def __init__(self) -> None:
        self._first: dict[str, int] = {}

    def before(self, call: RecordedCall, text: str) -> int | None:
        """Return the number of the earlier call that has the same long text, or None."""
        first = self._first.setdefault(text, call.number) if len(text) >= _WORTH_SHARING else call.number
        return None if first == call.number else first


def _block(text: str, *, full: bool) -> list[str]:
    return (printable(text) if full else preview(text, _PREVIEWED)).rstrip().split("\n")


def render_page(trace: Trace, *, full: bool = False) -> str:
    """Render a trace as a page. If `full` is true, no text is shortened."""
    seen = _Seen()

    def sized(text: str) -> str:
        if full or len(text) <= LONGEST_TEXT:
            return text
        return f"{preview(text, LONGEST_TEXT)}\n\n(alita traces open {trace.run.run_id} --full shows all of it)"

    def section(step: TraceStep) -> PageSection:
        return PageSection(f"Step {step.number} {step.action} {step.why}", _step_facts(step), [*map(item, step.calls)])

    def item(call: RecordedCall) -> Item:
        folds = []
        for passage in (*call.given, *call.came):
            before, came = seen.before(call, passage.text), passage in call.came
            is_open, same = came or len(call.given) == 1, f"call-{before}" if before else ""
            folds.append(
                Fold(one_line(passage.label, 60), sized(passage.text), len(passage.text), "came" * came, is_open, same)
            )
        brief = _sized_line(call.came[0].text, 110) if call.came else ""
        mood = "" if call.ok else "bad"
        return Item(call.kind, call.title, _call_facts(call), brief, mood, f"call-{call.number}", passages=folds)

    sections = [*map(section, trace.steps)] or [PageSection("The journal of this run contains no calls.")]
    if trace.traceback:
        sections.append(PageSection("Where it failed", texts=[trace.traceback]))
    facts = [(name, sized(value)) for name, value in trace_facts(trace)]
    return StaticPage(trace.run.question, facts, sections, notices=trace.flaws).as_html()
