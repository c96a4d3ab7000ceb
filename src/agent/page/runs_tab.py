"""The tab for runs, which searches, traces, compares and replays them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from agent.alita import Alita
from agent.page import html
from agent.page.html import text, with_request
from agent.store.redact import Redactor
from agent.store.run_index import indexed
from agent.store.runs import find_run
from agent.traces.render import render
from agent.traces.trace import Trace, trace_of
from agent.traces.two_runs import compare
from mcp_tools.errors import AlitaError
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from collections.abc import Container

    from agent.configuration.settings import Settings
    from agent.page.visits import Visits

MOST = 50
"""Maximum number of listed runs. A search narrows the list."""
_WIDTH = 110
_NONE = '<p class="empty">No run is selected.</p>'


def found(settings: Settings, words: str, own: Container[str] | None) -> tuple[list[tuple[str, str]], str]:
    """Return the newest matching runs as labels and ids, and a note on unreadable runs. `own` restricts the ids."""
    most = MOST if own is None else 20 * MOST
    try:
        with indexed(settings) as (index, problems):
            runs: list[dict[str, Any]] = index.search(words, most) if words.strip() else index.newest(most)
    except AlitaError as error:
        return [], f"{error.message} {error.remedy}"
    runs = Redactor(settings.secrets).values(runs)
    listed = [(_label(run), run["run_id"]) for run in runs if own is None or run["run_id"] in own][:MOST]
    return listed, " ".join(problems if own is None else []) or ("" if listed else "No runs were found.")


def _label(run: dict[str, Any]) -> str:
    began = time.strftime("%Y-%m-%d %H:%M", time.localtime(run["started"]))
    return f"{began} · {run['status']} · {one_line(run['question'], 90)}"


def _trace(settings: Settings, run_id: str) -> Trace:
    return Redactor(settings.secrets).values(trace_of(settings.runs_dir, find_run(settings.runs_dir, run_id)))


def described(settings: Settings, run_id: str | None) -> str:
    """Render a run as a tree of steps and calls."""
    if not run_id:
        return _NONE
    try:
        trace = _trace(settings, run_id)
    except AlitaError as error:
        return html.bad(error)
    answer = trace.run.answer
    return (
        f'<div class="tool">{html.question(trace.run.question)}{html.answer(answer.text) if answer else ""}'
        f"<pre>{text(render(trace, width=_WIDTH))}</pre></div>"
    )


def compared(settings: Settings, one: str | None, other: str | None) -> str:
    """Render two runs side by side, and the differences of their steps."""
    if not one or not other:
        return '<p class="empty">Select the run to compare with.</p>'
    try:
        found = compare(_trace(settings, one), _trace(settings, other))
    except AlitaError as error:
        return html.bad(error)
    rows = "".join(
        f'<tr class="{"" if left == right else "differs"}">'
        f"<th>{text(name)}</th><td>{text(left)}</td><td>{text(right)}</td></tr>"
        for name, left, right in found.facts
    )
    steps = html.diff(found.steps) if found.steps else '<p class="empty">The steps of both runs are the same.</p>'
    return f'<div class="tool"><div class="scrolled"><table>{rows}</table></div><h4>Steps</h4>{steps}</div>'


async def replayed(settings: Settings, run_id: str) -> str:
    """Replay a run from its journal, without calling a model, and render its answer."""
    try:
        async with Alita.open(settings) as alita:
            answer = await alita.replay(run_id)
    except AlitaError as error:
        return html.bad(error)
    return f"<h4>Replayed without a model</h4>{html.answer(answer.text)}{html.ending(answer)}"


def show(gr: Any, visits: Visits, tab: Any) -> None:
    """Add the list, its search, the chosen run and its replay to the page."""
    words = gr.Textbox(label="Search", placeholder="Words in the question, the answer or the steps", max_lines=1)
    message = gr.HTML(padding=False)
    ids = gr.Radio([], label="Runs", elem_id="runs")
    chosen = gr.HTML(_NONE, padding=False, elem_id="run")
    replay = gr.Button("Replay", visible=False)
    again = gr.HTML(padding=False, elem_id="replayed")
    with gr.Row(visible=False) as comparing:
        other, compare_with = gr.Dropdown([], label="Compare with"), gr.Button("Compare")
    both = gr.HTML(padding=False, elem_id="compared")

    def listed(asked: str, request: Any) -> tuple[Any, Any, str]:
        choices, note = found(visits.settings, asked, visits.seen_by(request.session_hash))
        update = gr.update(choices=choices, value=None)
        return update, update, f'<p class="empty">{text(note)}</p>'

    def choose(run_id: str | None, request: Any) -> tuple[str, Any, Any, str, str]:
        run_id = _permitted(run_id, request)
        seen = gr.update(visible=bool(run_id))
        return described(visits.settings, run_id), seen, seen, "", ""

    def differ(run_id: str | None, with_id: str | None, request: Any) -> str:
        return compared(visits.settings, _permitted(run_id, request), _permitted(with_id, request))

    async def repeat(run_id: str | None, request: Any) -> str:
        run_id = _permitted(run_id, request)
        return await replayed(visits.settings, run_id) if run_id else ""

    def _permitted(run_id: str | None, request: Any) -> str | None:
        own = visits.seen_by(request.session_hash)
        return run_id if own is None or run_id in own else None

    for handler in (listed, choose, repeat, differ):
        with_request(gr, handler)
    for happens in (tab.select, words.submit):
        happens(listed, [words], [ids, other, message], show_progress="hidden")
    ids.change(choose, [ids], [chosen, replay, comparing, again, both], show_progress="hidden")
    replay.click(repeat, [ids], [again])
    compare_with.click(differ, [ids, other], [both])
