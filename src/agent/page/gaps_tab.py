"""The tab for gap records: read, approve and reject them."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from agent.learning.gap_records import GapRecords
from agent.page.html import bad, text
from mcp_tools.errors import AlitaError
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.configuration.settings import Settings
    from agent.page.visits import Visits

_NONE = '<p class="empty">No record is selected.</p>'


def found(settings: Settings) -> tuple[list[tuple[str, str]], str]:
    """Return the records, newest first, as labels and ids, and a sentence if there are no records."""
    try:
        with closing(GapRecords(settings)) as kept:
            records = kept.all()
    except AlitaError as error:
        return [], f"{error.message} {error.remedy}"
    labels = [(f"{one.status} · {one.kind} · {one_line(one.pattern, 90)}", one.id) for one in records]
    return labels, "" if labels else "There are no gap records. A benchmark with learning writes them."


def described(settings: Settings, record: str | None) -> str:
    """Render a record, and the results of questions planned with it."""
    if not record:
        return _NONE
    try:
        with closing(GapRecords(settings)) as records:
            one = records.get(record)
            known = records.help_of([one.id])[one.id]
    except AlitaError as error:
        return bad(error)
    facts = (
        ("status", one.status),
        ("kind", one.kind),
        ("when", one.situation),
        ("what goes wrong", one.pattern),
        ("instead", one.advice),
        ("found", f"{one.seen} times"),
        ("helped", f"{known.right} of {known.shown} questions planned with it were answered correctly"),
        ("others", f"{known.others_right} of {known.others} other questions of its kind were answered correctly"),
    )
    rows = "".join(f"<tr><th>{text(name)}</th><td>{text(value)}</td></tr>" for name, value in facts)
    return f'<div class="tool"><table>{rows}</table></div>'


def marked(settings: Settings, record: str | None, status: str) -> str:
    """Set a record's status to `approved` or `rejected`, and render it."""
    if not record:
        return _NONE
    try:
        with closing(GapRecords(settings)) as records:
            records.change(records.get(record).id, status=status)
    except AlitaError as error:
        return bad(error)
    return described(settings, record)


def show(gr: Any, visits: Visits, tab: Any) -> None:
    """Add the list, the chosen record and its buttons to the page."""
    message = gr.HTML(padding=False)
    ids = gr.Radio([], label="Gap records", elem_id="gaps")
    chosen = gr.HTML(_NONE, padding=False, elem_id="gap")
    with gr.Row():
        approve, reject = gr.Button("Approve", interactive=False), gr.Button("Reject", interactive=False)

    def listed() -> tuple[Any, str]:
        choices, note = found(visits.settings)
        return gr.update(choices=choices, value=None), f'<p class="empty">{text(note)}</p>'

    def choose(record: str | None) -> tuple[Any, ...]:
        button = gr.update(interactive=bool(record))
        return described(visits.settings, record), button, button

    tab.select(listed, None, [ids, message], show_progress="hidden")
    ids.change(choose, [ids], [chosen, approve, reject], show_progress="hidden")
    approve.click(lambda record: marked(visits.settings, record, "approved"), [ids], [chosen])
    reject.click(lambda record: marked(visits.settings, record, "rejected"), [ids], [chosen])
