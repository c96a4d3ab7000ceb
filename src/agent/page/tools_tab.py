"""The tab for tools, which can be searched, inspected, run, compared, exported and reviewed."""

from __future__ import annotations

import json
import time
from contextlib import aclosing, closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from agent.calls.host_requests import call_consent, carried, uses_of
from agent.page.exports import FORMS
from agent.page.form import WHOLE, Field, arguments_of, fields_of
from agent.page.html import bad, diff, text, with_request
from agent.resources import open_for
from agent.store.tool_records import open_library
from mcp_tools.create.approve import HASH_SHOWN, difference, needed_by, tests_of, version_difference
from mcp_tools.create.interfaces import Test
from mcp_tools.errors import AlitaError
from mcp_tools.exchange.parcel import public_record
from mcp_tools.run import run_kept
from mcp_tools.text import count_of, duration, one_line
from mcp_tools.tool import WRAPS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent.configuration.settings import Settings
    from agent.page.visits import Visits
    from mcp_tools.tool import Tool

MOST = 50
"""Maximum number of listed tools. A search narrows the list."""
_NONE = '<p class="empty">No tool is selected.</p>'


def found(settings: Settings, words: str) -> tuple[list[tuple[str, str]], str]:
    """Return matching tools as labels and names, and a note on tools that are not listed or withheld."""
    with closing(open_library(settings)) as library:
        tools = [hit.tool for hit in library.search(words, MOST)] if words.strip() else library.list()
        waiting = len(library.withheld())
    notes = [f"{count_of(len(tools) - MOST, 'more tool')} are not listed; use the search."] if len(tools) > MOST else []
    notes += [f"{count_of(waiting, 'tool')} withheld from MCP clients."] if waiting else []
    notes += [] if tools else ["No tool matches." if words.strip() else "There are no tools yet."]
    return [(f"{tool.name} — {one_line(tool.summary, 90)}", tool.name) for tool in tools[:MOST]], " ".join(notes)


async def described(settings: Settings, name: str | None) -> str:
    """Render a tool: purpose, capabilities, proof, use, code and tests."""
    if not name:
        return _NONE
    with closing(open_library(settings)) as library:
        try:
            tool = library.get(name)
        except AlitaError as error:
            return bad(error)
        withheld = next((one for one in library.withheld() if one.name == tool.name), None)
        facts = [("status", str(library.trust(tool.name))), *_facts(tool)]
        stats = library.stats(tool.name)
        facts += [("calls", f"{stats.calls} in {count_of(stats.questions, 'question')}, {stats.successes} succeeded")]
        facts += [("failed", ", ".join(f"{count} {kind}" for kind, count in sorted(stats.failures.items())))]
        facts += [("last call", time.strftime("%Y-%m-%d %H:%M", time.localtime(stats.last)) if stats.last else "")]
        try:
            uses = await uses_of(library, tool, call_consent(settings, None, lambda _: None))
        except AlitaError as error:  # the policy file is invalid
            uses = [(error.message, error.remedy)]
        facts += [("may", "\n".join(f"{use} ({decider})" for use, decider in uses))]
        facts += [("withheld", withheld.reason)] if withheld else []
    rows = "".join(f"<tr><th>{text(label)}</th><td>{text(value)}</td></tr>" for label, value in facts if value)
    folds = [("Code", tool.source), ("Arguments", _json(tool.input_schema)), ("Tests", "\n".join(_tests(tool)))]
    return (
        f'<div class="tool"><h3>{text(tool.name)}</h3><p class="described">{text(tool.description)}</p>'
        f"<table>{rows}</table>{_folded(folds)}</div>"
    )


def _facts(tool: Tool) -> Iterator[tuple[str, str]]:
    evidence = tool.provenance.get("evidence")
    yield "made by", str(tool.provenance.get("model", ""))
    if isinstance(evidence, dict) and isinstance(evidence.get("mutants"), int):
        yield "proof", f"its tests caught {evidence.get('killed')} of {evidence['mutants']} deliberate bugs"
    yield "wraps", str(tool.provenance.get(WRAPS, ""))
    yield "also", ", ".join(tool.aliases)


def _tests(tool: Tool) -> Iterator[str]:
    for test in tests_of(tool):
        yield Test.from_json(test).with_result(tool.name)


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False)


def _folded(parts: Sequence[tuple[str, str]]) -> str:
    return "".join(
        f"<details><summary>{text(title)}</summary><pre>{text(words)}</pre></details>"
        for title, words in parts
        if words
    )


def fields(settings: Settings, name: str | None) -> list[Field] | None:
    """Return the fields for a tool's arguments, or None if it takes a single JSON object."""
    with closing(open_library(settings)) as library:
        try:
            return fields_of(library.get(name or "").input_schema)
        except AlitaError:
            return []


async def run(settings: Settings, name: str | None, form: list[Field] | None, texts: Sequence[Any]) -> str:
    """Run a tool in the sandbox without files. Nobody is asked, so capabilities not allowed yet are refused."""
    if not name:
        return _NONE
    try:
        given = arguments_of([WHOLE] if form is None else form, texts)
        with closing(open_library(settings)) as library:
            tool = library.get(name)
            needs = await needed_by(library, tool)
            carrying = partial(carried, settings, call_consent(settings, None, lambda _: None))
            async with aclosing(await open_for(settings)) as sandbox:
                arguments: Any = given[WHOLE.name] if form is None else given
                outcome = await run_kept(library, tool, arguments, sandbox, needs=needs, carried=carrying)
    except AlitaError as error:
        return bad(error)
    if outcome.problem is not None:
        return _bad(f"{outcome.problem.kind}: {outcome.problem.message}")
    value = outcome.value if isinstance(outcome.value, str) else _json(outcome.value)
    return f'<div class="tool"><pre>{text(value)}</pre><p class="took">{text(duration(outcome.seconds))}</p></div>'


def versions(settings: Settings, name: str | None) -> list[tuple[str, str]]:
    """Return the stored versions of a tool as labels and hashes, newest first."""
    if not name:
        return []
    with closing(open_library(settings)) as library:
        try:
            kept = [(version, library.was_approved(version)) for version in reversed(library.versions(name))]
        except AlitaError:
            return []
    return [
        (f"{one.source_hash[:HASH_SHOWN]} {_day(one)}{', approved here' if approved else ''}", one.source_hash)
        for one, approved in kept
    ]


def _day(version: Tool) -> str:
    return one_line(str(version.provenance.get("created", ""))[:16].replace("T", " "))


def compared(
    settings: Settings, name: str | None, old: str | None, new: str | None, *, with_record: bool = True
) -> str:
    """Render the difference between two versions of a tool, by default the current one and the one before.

    With `with_record`, include records about the user, such as the question behind the tool.
    """
    if not name:
        return ""
    try:
        with closing(open_library(settings)) as library:
            before, now, found = version_difference(library, name, old or "", new or "")
        if not with_record and now.input_schema:  # without a schema, the difference has no record to leave out
            labels = before.source_hash[:HASH_SHOWN], now.source_hash[:HASH_SHOWN] if new else "now"
            found = difference(_public(before), _public(now), labels)
    except AlitaError as error:
        return bad(error)
    return diff(found) if found else '<p class="empty">The two versions are the same.</p>'


def _public(tool: Tool) -> Tool:
    return replace(tool, provenance=public_record(tool.provenance))


def _bad(words: str) -> str:
    return f'<p class="bad">{text(words)}</p>'


def show(gr: Any, visits: Visits, tab: Any) -> Any:
    """Add the list, its search and the chosen tool to the page. Return the component that holds the chosen name."""
    words = gr.Textbox(label="Search", placeholder="What should the tool do?", max_lines=1)
    message = gr.HTML(padding=False)
    names = gr.Radio([], label="Tools", elem_id="tools")
    chosen = gr.HTML(_NONE, padding=False, elem_id="tool")
    quiet: dict[str, Any] = {"show_progress": "hidden"}

    def form_of(name: str | None) -> None:
        if name:
            _form(gr, visits, name)

    gr.render(inputs=[names], **quiet)(form_of)
    with gr.Column(visible=False) as more:
        with gr.Accordion("Versions", open=False):
            with gr.Row():
                old, new = (
                    gr.Dropdown(label="From (default: the previous version)"),
                    gr.Dropdown(label="To (default: the current version)"),
                )
            compare = gr.Button("Compare versions")
            difference = gr.HTML(padding=False, elem_id="difference")
        with gr.Accordion("Export", open=False):
            form = gr.Radio([(f"{name}: {about}", name) for name, about in FORMS], value="zip", label="Form")
            export = gr.Button("Export the tool")
            exported = gr.HTML(padding=False, elem_id="exported")

    def listed(asked: str) -> tuple[Any, str]:
        choices, note = found(visits.settings, asked)
        return gr.update(choices=choices, value=None), f'<p class="empty">{text(note)}</p>'

    for happens in (tab.select, words.submit):
        happens(listed, [words], [names, message], **quiet)

    async def choose(name: str | None) -> tuple[Any, ...]:
        kept = gr.update(choices=versions(visits.settings, name), value=None)
        return await described(visits.settings, name), gr.update(visible=bool(name)), kept, kept, "", ""

    def differ(name: str | None, one: str | None, other: str | None) -> str:
        return compared(visits.settings, name, one, other, with_record=visits.is_local)

    async def send(name: str | None, wanted: str, request: Any) -> str:
        return await visits.export(request.session_hash, name, wanted)

    names.change(choose, [names], [chosen, more, old, new, difference, exported], **quiet)
    compare.click(differ, [names, old, new], [difference])
    export.click(with_request(gr, send), [names, form], [exported])
    return names


def show_review(gr: Any, visits: Visits, names: Any) -> None:
    """Add the buttons for a review. They are enabled once a tool is chosen."""
    with gr.Row():
        look, bugs = gr.Button("Review", interactive=False), gr.Button("Try deliberate bugs", interactive=False)
        accept, reject = gr.Button("Approve", interactive=False), gr.Button("Reject", interactive=False)
    result = gr.HTML(padding=False, elem_id="review")

    async def looked(name: str | None, request: Any) -> str:
        return await (await visits.of(request.session_hash)).reviewer.look(name)

    async def tried(name: str | None, request: Any) -> str:
        return await (await visits.of(request.session_hash)).reviewer.bugs(name)

    async def accepted(name: str | None, request: Any) -> str:
        return (await visits.of(request.session_hash)).reviewer.accept(name)

    async def rejected(name: str | None, request: Any) -> str:
        return (await visits.of(request.session_hash)).reviewer.reject(name)

    def chosen(name: str | None) -> list[Any]:
        return [gr.update(interactive=bool(name))] * 4

    for button, handler in ((look, looked), (bugs, tried), (accept, accepted), (reject, rejected)):
        button.click(with_request(gr, handler), [names], [result])
    names.change(chosen, [names], [look, bugs, accept, reject], show_progress="hidden")


def _form(gr: Any, visits: Visits, name: str) -> None:
    """Add a field for each parameter of a tool, and a button that runs it."""
    form = fields(visits.settings, name)
    parts = [_part(gr, field) for field in ([WHOLE] if form is None else form)]
    call = gr.Button("Run")
    result = gr.HTML(padding=False, elem_id="result")

    async def called(*texts: Any) -> str:
        return await run(visits.settings, name, form, texts)

    call.click(called, parts, [result])


def _part(gr: Any, field: Field) -> Any:
    label = f"{one_line(field.name, 60)}: {field.about}"
    if field.choices:
        own = [(json.loads(one) if one.startswith('"') else one, one) for one in field.choices]
        empty = [] if field.is_required else [("(not given)", "")]
        return gr.Dropdown([*empty, *own], value=field.default, label=label, interactive=True)
    lines = {"lines": 3, "max_lines": 20} if field.is_long else {"max_lines": 8}
    return gr.Textbox(field.default, label=label, placeholder=field.example, interactive=True, **lines)
