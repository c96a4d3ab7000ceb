"""The page: its tabs and its server."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.errors import UsageError
from agent.page import gaps_tab, runs_tab, settings_tab, tools_tab
from agent.page.access import MOST_UPLOADED, PageAccess
from agent.page.ask_tab import AskTab
from agent.page.benchmark import course_tab
from agent.page.benchmark import tab as benchmark_tab
from agent.page.benchmark.running import PageBenchmarks
from agent.page.html import with_request
from agent.page.settings_tab import SettingsEditor
from agent.page.visitors import Visitors
from agent.page.visits import Visits
from mcp_tools.serving.http import ListenOptions, run_server

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from agent.configuration.settings import Settings
    from agent.page.settings_tab import Check, Read


async def serve_page(read: Read, check: Check, listen: ListenOptions, listening: Callable[[str], None]) -> None:
    """Serve the page until cancelled.

    Args:
        read: Reads the settings, with overrides.
        check: Runs the checks of `alita doctor`.
        listen: The address to listen on, and who may connect.
        listening: Called with the page's address.

    Raises:
        UsageError: Gradio is not installed, or the address is unavailable.
    """
    settings = read()
    settings.cache_dir.mkdir(parents=True, exist_ok=True)
    await asyncio.to_thread(_sweep, settings.cache_dir)
    uploads = Path(tempfile.mkdtemp(prefix=f"page-{os.getpid()}-", dir=settings.cache_dir))
    os.environ |= {"GRADIO_TEMP_DIR": str(uploads), "GRADIO_ANALYTICS_ENABLED": "False"}
    visitors = Visitors()
    visits, benchmarks = Visits(settings, visitors, uploads, is_local=listen.is_local), PageBenchmarks(settings)
    try:
        page = await asyncio.to_thread(page_of, visits, benchmarks, listen, read, check)
        await run_server(PageAccess(page, listen, visitors, uploads), listen, listening)
    finally:
        await asyncio.gather(visits.aclose(), benchmarks.aclose())
        await asyncio.to_thread(shutil.rmtree, uploads, ignore_errors=True)


def _sweep(folder: Path) -> None:
    """Remove the uploads of pages that were killed."""
    for left in folder.glob("page-*-*"):
        number = left.name.split("-")[1]
        try:
            os.kill(int(number), 0)
        except (ProcessLookupError, ValueError):
            shutil.rmtree(left, ignore_errors=True)
        except (PermissionError, OverflowError):  # the process belongs to another user
            continue


def _apply(visits: Visits, benchmarks: PageBenchmarks, settings: Settings) -> None:
    visits.settings = benchmarks.settings = settings


def page_of(visits: Visits, benchmarks: PageBenchmarks, listen: ListenOptions, read: Read, check: Check) -> ASGIApp:
    """Build the page without access control. A page that is open to others has no tabs that act for its owner."""
    try:
        import gradio as gr
    except ImportError:
        raise UsageError(
            "The page needs Gradio, which is not installed.", remedy='Install it with pip install "alita[web-page]".'
        ) from None
    from fastapi import FastAPI

    with gr.Blocks(title="alita", analytics_enabled=False) as blocks:
        gr.HTML("<h1>alita</h1>")
        with gr.Tab("Ask"):
            AskTab(gr, visits).connect(blocks)
        with gr.Tab("Tools") as tab:
            names = tools_tab.show(gr, visits, tab)
            if listen.is_local:
                tools_tab.show_review(gr, visits, names)
        with gr.Tab("Runs") as tab:
            runs_tab.show(gr, visits, tab)
        if listen.is_local:
            with gr.Tab("Benchmark") as tab:
                benchmark_tab.show(gr, benchmarks, tab)
            with gr.Tab("Course") as tab:
                course_tab.show(gr, benchmarks, tab)
            with gr.Tab("Gap records") as tab:
                gaps_tab.show(gr, visits, tab)
            with gr.Tab("Settings") as tab:
                settings_tab.show(gr, visits, SettingsEditor(read, partial(_apply, visits, benchmarks)), tab)
            with gr.Tab("Doctor"):
                settings_tab.show_doctor(gr, visits, check)

        async def left(request: Any) -> None:
            if request.session_hash:
                visits.leave(request.session_hash)

        blocks.unload(with_request(gr, left))
    for function in blocks.fns.values():  # the page is the only client, and API descriptions would double its size
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
