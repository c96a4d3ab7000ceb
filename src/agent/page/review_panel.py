"""The review of a tool on the page: its buttons and what they show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent.page.shown import with_request

if TYPE_CHECKING:
    from agent.page.visits import Visits


def show(gr: Any, visits: Visits, names: Any) -> None:
    """Add the review of the chosen tool to the page."""
    with gr.Row():
        look, bugs = gr.Button("Review"), gr.Button("Try deliberate bugs")
        accept, reject = gr.Button("Approve"), gr.Button("Reject")
    told = gr.HTML(padding=False, elem_id="review")

    async def looked(name: str | None, request: Any) -> str:
        return await (await visits.of(request.session_hash)).desk.look(name)

    async def tried(name: str | None, request: Any) -> str:
        return await (await visits.of(request.session_hash)).desk.bugs(name)

    async def accepted(name: str | None, request: Any) -> str:
        return (await visits.of(request.session_hash)).desk.accept(name)

    async def rejected(name: str | None, request: Any) -> str:
        return (await visits.of(request.session_hash)).desk.reject(name)

    for button, handler in ((look, looked), (bugs, tried), (accept, accepted), (reject, rejected)):
        button.click(with_request(gr, handler), [names], [told])
