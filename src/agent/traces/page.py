"""A trace as one HTML page: no network, no script, everything escaped, light and dark."""

from __future__ import annotations

from importlib.resources import files

from agent.steps import preview
from agent.traces.trace import Seen, Trace, call_facts, duration, sized_line, step_facts, trace_facts
from mcp_tools.text import one_line, printable

LONGEST_TEXT = 20_000
"""Characters of one text from which on the page holds a preview of it."""


def render_page(trace: Trace, *, full: bool = False) -> str:
    """The whole page; with `full`, every text whole, whatever its size."""
    from jinja2 import Environment

    def sized(text: str) -> str:
        if full or len(text) <= LONGEST_TEXT:
            return text
        return f"{preview(text, LONGEST_TEXT)}\n\n(alita traces open {trace.run.run_id} --full has it whole)"

    # Nothing in a text is markup, and nothing is invisible: every value that is shown passes through `finalize`.
    page = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, finalize=lambda v: printable(v) if type(v) is str else v
    )
    page.filters |= {"sized": sized, "line": one_line, "sized_line": sized_line, "duration": duration}
    template = files("agent.traces").joinpath("page.html").read_text(encoding="utf-8")
    longest = max((call.seconds for call in trace.calls), default=0.0) or 1.0
    facts = {"facts": trace_facts(trace), "step_facts": step_facts, "call_facts": call_facts}
    return page.from_string(template).render(trace=trace, seen=Seen().before, longest=longest, **facts)
