"""The page itself: its tabs, and the server that shows it."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.configuration.specialists import SPECIALISTS
from agent.errors import UsageError
from agent.page import gaps_tab, review, runs_tab, tools_tab
from agent.page.approvals import described
from agent.page.benchmark import course_tab
from agent.page.benchmark import tab as benchmark_tab
from agent.page.benchmark.running import Benches
from agent.page.door import MOST_UPLOADED, PageDoor
from agent.page.shown import settings_table
from agent.page.visitors import Visitors
from agent.page.visits import Visit, Visits
from mcp_tools.serving.http import Door, run_server

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from agent.configuration.settings import Settings

_EMPTY = '<p class="empty">Ask a question, with files if you like. Steps are shown while they happen.</p>'


async def serve_page(settings: Settings, door: Door, listening: Callable[[str], None]) -> None:
    """Serve the page until it is cancelled; `listening` gets its address.

    Raises:
        UsageError: Gradio is not installed, or the address cannot be had.
    """
    settings.cache_dir.mkdir(parents=True, exist_ok=True)
    await asyncio.to_thread(_sweep, settings.cache_dir)
    uploads = Path(tempfile.mkdtemp(prefix=f"page-{os.getpid()}-", dir=settings.cache_dir))
    os.environ |= {"GRADIO_TEMP_DIR": str(uploads), "GRADIO_ANALYTICS_ENABLED": "False"}
    visitors = Visitors()
    visits, benches = Visits(settings, visitors, shares_runs=door.is_local), Benches(settings)
    try:
        page = await asyncio.to_thread(page_of, visits, benches, door)
        await run_server(PageDoor(page, door, visitors, uploads), door, listening)
    finally:
        await asyncio.gather(visits.aclose(), benches.aclose())
        await asyncio.to_thread(shutil.rmtree, uploads, ignore_errors=True)


def _sweep(folder: Path) -> None:
    """Remove the uploads of pages that were killed."""
    for left in folder.glob("page-*-*"):
        number = left.name.split("-")[1]
        try:
            os.kill(int(number), 0)
        except (ProcessLookupError, ValueError):
            shutil.rmtree(left, ignore_errors=True)
        except (PermissionError, OverflowError):  # somebody else's
            continue


def page_of(visits: Visits, benches: Benches, door: Door) -> ASGIApp:
    """The page without its door."""
    try:
        import gradio as gr
    except ImportError:
        raise UsageError(
            "The page needs Gradio, which is not installed.", remedy='pip install "alita[web-page]"'
        ) from None
    from fastapi import FastAPI

    with gr.Blocks(title="alita", analytics_enabled=False) as blocks:
        gr.HTML("<h1>alita</h1>")
        with gr.Tab("Ask"):
            _ask(gr, visits)
        with gr.Tab("Tools") as tab:
            names = tools_tab.show(gr, visits.settings, tab)
            if door.is_local:
                review.show(gr, lambda request: visits.of(request.session_hash).desk, names)
        with gr.Tab("Runs") as tab:
            runs_tab.show(gr, visits, tab)
        if door.is_local:
            with gr.Tab("Benchmark") as tab:
                benchmark_tab.show(gr, benches, tab)
            with gr.Tab("Course") as tab:
                course_tab.show(gr, benches, tab)
            with gr.Tab("Gap records") as tab:
                gaps_tab.show(gr, visits.settings, tab)
            with gr.Tab("Settings"):
                gr.HTML(settings_table(visits.settings), padding=False)

        async def left(request: Any) -> None:
            if request.session_hash:
                visits.leave(request.session_hash)

        left.__annotations__["request"] = gr.Request
        blocks.unload(left)
    for function in blocks.fns.values():  # there are no other clients, and a description for them doubles the page
        function.api_visibility = "private"
    blocks.queue(default_concurrency_limit=None, max_size=200)
    page: ASGIApp = gr.mount_gradio_app(
        FastAPI(docs_url=None, redoc_url=None, openapi_url=None),
        blocks,
        path="",
        footer_links=[],
        run_history=False,
        show_error=False,
        max_file_size=MOST_UPLOADED,
        ssr_mode=False,
        enable_monitoring=False,
        mcp_server=False,
        theme=gr.themes.Default(font=["system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]),
        css=files("agent.page").joinpath("style.css").read_text("utf-8"),
    )
    return page


def _ask(gr: Any, visits: Visits) -> None:
    """Question, files, live steps, answer and outputs; what a run wants to know; model and specialist."""
    settings = visits.settings
    shown = gr.HTML(_EMPTY, elem_id="conversation", padding=False)
    with gr.Column(visible=False) as asking:
        question = gr.HTML(padding=False)
        reason = gr.Textbox(label="If not, why? The model is told.", max_lines=3)
        with gr.Row():
            yes = gr.Button("Allow", variant="primary")
            no = gr.Button("Do not allow")
    message = gr.MultimodalTextbox(
        label="Question", show_label=False, placeholder="Ask a question", file_count="multiple", sources=["upload"]
    )
    stop = gr.Button("Stop", variant="stop", size="sm", visible=False)
    with gr.Accordion("Model and specialist", open=False), gr.Row():
        names = [name for name in dict.fromkeys([settings.model, *settings.fallback, *settings.models]) if name]
        model = gr.Dropdown(names, value=settings.model or None, label="Model", allow_custom_value=True)
        agent = gr.Dropdown(
            [("alita", ""), *((f"{name}: {one.summary}", name) for name, one in SPECIALISTS.items())],
            value=settings.agent,
            label="Specialist",
        )

    def view(visit: Visit, *, busy: bool) -> dict[Any, Any]:
        asked = visit.asked
        return {
            shown: visit.html or _EMPTY,
            asking: gr.update(visible=asked is not None),
            question: described(asked) if asked is not None else "",
            stop: gr.update(visible=busy),
        }

    async def ask(said: dict[str, Any], model: str | None, agent: str, request: Any) -> AsyncIterator[dict[Any, Any]]:
        words, sent = (said.get("text") or "").strip(), [Path(path) for path in said.get("files") or ()]
        visit = visits.of(request.session_hash)
        if not words or visit.is_busy:
            yield {message: gr.update()}
            return
        yield {message: gr.update(value={"text": "", "files": []}, interactive=False)}
        async for _ in visit.ask(words, sent, model=model or "", agent=agent):
            yield view(visit, busy=visit.is_busy)
        yield view(visit, busy=False) | {message: gr.update(interactive=True), reason: ""}

    def allow(request: Any) -> None:
        visits.of(request.session_hash).reply(allowed=True)

    def refuse(why: str, request: Any) -> None:
        visits.of(request.session_hash).reply(allowed=False, reason=why)

    async def end(request: Any) -> None:
        await visits.of(request.session_hash).stop()

    for handler in (ask, allow, refuse, end):  # Gradio looks for its Request among the module's names
        handler.__annotations__["request"] = gr.Request
    message.submit(
        ask, [message, model, agent], [shown, asking, question, stop, message, reason], show_progress="hidden"
    )
    yes.click(allow, show_progress="hidden")
    no.click(refuse, [reason], show_progress="hidden")
    stop.click(end, show_progress="hidden")
