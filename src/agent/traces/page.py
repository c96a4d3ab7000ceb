"""A trace as one HTML page: no network, no script, everything escaped, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from agent.steps import preview
from agent.traces.trace import (
    Call,
    Passage,
    Seen,
    Trace,
    TraceStep,
    call_facts,
    duration,
    sized_line,
    step_facts,
    trace_facts,
)
from mcp_tools.text import one_line, printable

STYLE = """
:root { color-scheme: light dark; --ground: #fff; --text: #1b1f24; --soft: #59636e; --line: #d1d9e0; --box: #f6f8fa;
  --accent: #0969da; --bad: #c0262d; }
@media (prefers-color-scheme: dark) { :root { --ground: #0d1117; --text: #e6edf3; --soft: #9198a1; --line: #3d444d;
  --box: #151b23; --accent: #4493f8; --bad: #ff7b72; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 70rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.35rem; overflow-wrap: anywhere; margin: 0 0 1rem; }
h2 { font-size: 1.05rem; font-weight: 600; margin: 2rem 0 .5rem; display: flex; flex-wrap: wrap; gap: .2rem .6rem;
  align-items: baseline; overflow-wrap: anywhere; }
h2 b { color: var(--accent); } .why { font-weight: 400; color: var(--soft); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; margin: 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap; }
.facts { margin-left: auto; font-weight: 400; font-size: .85rem; color: var(--soft);
  font-variant-numeric: tabular-nums; }
.flaw { border-left: 3px solid var(--bad); padding: .3rem .8rem; background: var(--box); }
details { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0; background: var(--ground); }
section > details > summary { display: grid; grid-template-columns: 6.5rem 1fr auto;
  gap: 0 .6rem; padding: .4rem .7rem; }
summary { cursor: pointer; padding: .3rem .7rem; overflow-wrap: anywhere; }
summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.kind { color: var(--accent); font-weight: 600; } .bad > summary .kind, .bad > summary .brief { color: var(--bad); }
.kind::before { content: "▸ "; } details[open] > summary > .kind::before { content: "▾ "; }
.brief { grid-column: 2 / -1; color: var(--soft); font-size: .87rem; }
.bar { grid-column: 1 / -1; order: 9; height: 2px; min-width: 1px; background: var(--accent); opacity: .55;
  margin-top: .3rem; }
.bad > summary .bar { background: var(--bad); }
details details, .same { margin: .4rem .7rem; } details details.came { border-left: 3px solid var(--accent); }
.bad > details.came, pre.bad { border-left: 3px solid var(--bad); }
small { color: var(--soft); } .same { color: var(--soft); }
a { color: var(--accent); }
pre { margin: 0; padding: .6rem .7rem; background: var(--box); overflow: auto; max-height: 32rem; white-space: pre-wrap;
  overflow-wrap: anywhere; font: 13px/1.45 ui-monospace, monospace; border-top: 1px solid var(--line); }
@media (max-width: 40rem) { section > details > summary { grid-template-columns: 1fr; }
  .facts { margin-left: 0; } .brief { grid-column: 1; } }
@media print { details::details-content { content-visibility: visible; } pre { max-height: none; } }
"""


LONGEST_TEXT = 20_000
"""Characters of one text from which on the page holds a preview of it."""
_SUMMARY = 110

# Were a text ever to break out of its place, the browser would still run and fetch nothing.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def render_page(trace: Trace, *, full: bool = False) -> str:
    """The whole page.

    Args:
        trace: What is shown.
        full: Every text whole, whatever its size.
    """
    return "\n".join(_Page(trace, full=full).lines()) + "\n"


class _Page:
    """One page while it is written."""

    def __init__(self, trace: Trace, *, full: bool) -> None:
        self._trace = trace
        self._full = full
        self._longest = max((call.seconds for call in trace.calls), default=0.0)
        self._seen = Seen()

    def lines(self) -> Iterator[str]:
        run = self._trace.run
        yield "<!DOCTYPE html>"
        yield '<html lang="en">'
        yield f'<head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
        yield '<meta name="color-scheme" content="light dark">'
        yield f"<title>{_line(f'{run.question} · {run.run_id}', 120)}</title>"
        yield f"<style>{STYLE}</style></head>"
        yield f"<body><main><h1>{_line(run.question, 300)}</h1>"
        yield from self._facts()
        yield from (f'<p class="flaw">{_shown(flaw)}</p>' for flaw in self._trace.flaws)
        if not self._trace.steps:
            yield "<p>The journal of this run holds no call.</p>"
        for step in self._trace.steps:
            yield from self._step(step)
        if self._trace.traceback:
            yield f'<section><h2>Where it broke</h2><pre class="bad">{_shown(self._trace.traceback)}</pre></section>'
        yield "</main></body></html>"

    def _facts(self) -> Iterator[str]:
        yield "<dl>"
        for name, value in trace_facts(self._trace):
            if value:
                yield f"<dt>{_shown(name)}</dt><dd>{_shown(self._sized(value))}</dd>"
        yield "</dl>"

    def _step(self, step: TraceStep) -> Iterator[str]:
        why = f' <span class="why">{_line(step.why, 300)}</span>' if step.why else ""
        yield f'<section id="step-{step.number}"><h2>Step {step.number} <b>{_line(step.action, 60)}</b>{why}'
        yield f'<span class="facts">{_shown(step_facts(step))}</span></h2>'
        for call in step.calls:
            yield from self._call(call)
        yield "</section>"

    def _call(self, call: Call) -> Iterator[str]:
        share = 100 * call.seconds / self._longest if self._longest else 0
        state = "" if call.ok else ' class="bad"'
        came = sized_line(call.came[0].text, _SUMMARY) if call.came else ""
        yield f'<details id="call-{call.number}"{state}><summary><span class="kind">{_line(call.kind, 30)}</span>'
        yield f'<span class="title">{_line(call.title, 140)}</span>'
        yield f'<span class="facts">{_shown(call_facts(call))}</span>'
        yield f'<span class="bar" style="width:{share:.1f}%" title="{duration(call.seconds)}"></span>'
        yield f'<span class="brief">{_shown(came)}</span></summary>'
        for passage in call.given:
            yield from self._passage(call, passage, is_open=len(call.given) == 1)
        for passage in call.came:
            yield from self._passage(call, passage, is_open=True, came=True)
        yield "</details>"

    def _passage(self, call: Call, passage: Passage, *, is_open: bool, came: bool = False) -> Iterator[str]:
        sign = "came back" if came else "went in"
        label = f"{_line(passage.label, 60)} <small>{sign}, {len(passage.text):,} characters</small>"
        before = self._seen.before(call, passage.text)
        if before is not None:
            yield f'<p class="same">{label}: the same as in <a href="#call-{before}">call {before}</a></p>'
            return
        yield f'<details class="{"came" if came else "given"}"{" open" if is_open else ""}><summary>{label}</summary>'
        yield f"<pre>{_shown(self._sized(passage.text))}</pre></details>"

    def _sized(self, text: str) -> str:
        if self._full or len(text) <= LONGEST_TEXT:
            return text
        return f"{preview(text, LONGEST_TEXT)}\n\n(alita traces open {self._trace.run.run_id} --full has it whole)"


def _shown(text: str) -> str:
    """Text in its place: nothing in it is markup, and nothing is invisible."""
    return escape(printable(text), quote=True)


def _line(text: str, width: int) -> str:
    return escape(one_line(text, width), quote=True)
