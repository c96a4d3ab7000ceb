"""Compares two runs: facts about each run, and a diff of their steps."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass

from agent.traces.render import FORM_LABELS, trace_facts
from agent.traces.trace import Trace
from mcp_tools.text import one_line, printable

_LINE_CHARS = 200


@dataclass(frozen=True, slots=True)
class RunComparison:
    """The comparison of two runs."""

    facts: tuple[tuple[str, str, str], ...]
    """Facts about the runs as tuples: the name, then the value in each run."""
    steps: str
    """Unified diff of the steps and calls, without times; an empty string if there are no differences."""


def compare(one: Trace, other: Trace) -> RunComparison:
    """Compare two runs."""
    first, second = _joined(one), _joined(other)
    facts = tuple((name, first.get(name, ""), second.get(name, "")) for name in dict.fromkeys([*first, *second]))
    lines = difflib.unified_diff(
        [*_outline(one)], [*_outline(other)], one.run.run_id, other.run.run_id, lineterm="", n=3
    )
    return RunComparison(facts, "\n".join(lines))


def _joined(trace: Trace) -> dict[str, str]:
    """Return the facts by name. Facts with the same name, such as files, are joined."""
    found: dict[str, str] = {}
    for name, value in trace_facts(trace):
        found[name] = f"{found[name]}\n{value}" if name in found else value
    return found


def _outline(trace: Trace) -> Iterator[str]:
    for step in trace.steps:
        yield one_line(f"step {step.number}: {step.action}{step.why and f' — {step.why}'}", _LINE_CHARS)
        for call in step.calls:
            yield "  " + one_line(f"{call.kind}{'' if call.ok else ' ✗'} {call.title}", _LINE_CHARS)
            given = [passage for passage in call.given if passage.label not in FORM_LABELS]
            for sign, passage in (*(("◂", one) for one in given[-1:]), *(("▸", one) for one in call.came[:1])):
                yield f"    {sign} " + one_line(f"{passage.label}: {printable(passage.text)}", _LINE_CHARS)
