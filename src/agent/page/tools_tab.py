"""The tools of the library on the page: found by words, shown with their proof and use, and run."""

from __future__ import annotations

import json
from contextlib import aclosing, closing
from functools import partial
from typing import TYPE_CHECKING, Any

from agent.page.shown import bad, text
from agent.recorders.journaled_hosts import call_consent, carried
from agent.resources import open_for
from agent.store.tool_records import open_library
from mcp_tools.approve import needed_by, tests_of
from mcp_tools.errors import AlitaError
from mcp_tools.run import run_kept
from mcp_tools.text import count_of, duration, one_line
from mcp_tools.tool import WRAPS, call_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent.configuration.settings import Settings
    from mcp_tools.tool import Tool

MOST = 50
"""Tools of one list; words narrow it down."""
_NONE = '<p class="empty">No tool is chosen.</p>'


def found(settings: Settings, words: str) -> tuple[list[tuple[str, str]], str]:
    """The tools that words find, or all, as labels and names; and a sentence about those that are not shown."""
    with closing(open_library(settings)) as library:
        tools = [hit.tool for hit in library.search(words, MOST)] if words.strip() else library.list()
        waiting = len(library.withheld())
    told = [f"{count_of(len(tools) - MOST, 'more tool')} are not listed: search for one."] if len(tools) > MOST else []
    told += [f"{count_of(waiting, 'tool')} withheld from MCP clients."] if waiting else []
    told += [] if tools else ["No tool fits." if words.strip() else "There are no tools yet."]
    return [(f"{tool.name} — {one_line(tool.description, 90)}", tool.name) for tool in tools[:MOST]], " ".join(told)


def described(settings: Settings, name: str | None) -> str:
    """A tool: what it does, what it may use, how it was proved and used, its code, its tests, its versions."""
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
        facts += [("withheld", f"{withheld.reason} {withheld.remedy}")] if withheld else []
        versions = library.versions(tool.name)
    rows = "".join(f"<tr><th>{text(label)}</th><td>{text(value)}</td></tr>" for label, value in facts if value)
    folds = [("Code", tool.source), ("Arguments", _json(tool.input_schema)), ("Tests", "\n".join(_tests(tool)))]
    folds += [(f"Version {version.source_hash[:8]}", version.source) for version in versions]
    return (
        f'<div class="tool"><h3>{text(tool.name)}</h3><p class="described">{text(tool.description)}</p>'
        f"<table>{rows}</table>{_folded(folds)}</div>"
    )


def _facts(tool: Tool) -> Iterator[tuple[str, str]]:
    may, evidence = tool.capabilities, tool.provenance.get("evidence")
    yield "made by", str(tool.provenance.get("model", ""))
    if isinstance(evidence, dict) and isinstance(evidence.get("mutants"), int):
        yield "proof", f"its tests caught {evidence.get('killed')} of {evidence['mutants']} deliberate bugs"
    yield "reaches", ", ".join(may.hosts)
    yield "keys", ", ".join(may.keys)
    yield "packages", ", ".join(may.packages)
    yield "calls tools", ", ".join(may.tools)
    yield "files", " and ".join(word for word, granted in (("reads", may.read), ("writes", may.write)) if granted)
    yield "wraps", str(tool.provenance.get(WRAPS, ""))
    yield "also", ", ".join(tool.aliases)


def _tests(tool: Tool) -> Iterator[str]:
    for test in tests_of(tool):
        arguments: Any = test["arguments"]
        yield one_line(f"{call_text(tool.name, arguments)} → {json.dumps(test['expected'], ensure_ascii=False)}", 400)


def _json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False)


def _folded(parts: Sequence[tuple[str, str]]) -> str:
    return "".join(
        f"<details><summary>{text(title)}</summary><pre>{text(words)}</pre></details>"
        for title, words in parts
        if words
    )


def template(settings: Settings, name: str | None) -> str:
    """Arguments of a tool to fill in, as JSON; empty without one."""
    if not name:
        return ""
    with closing(open_library(settings)) as library:
        try:
            properties: Any = library.get(name).input_schema.get("properties")
        except AlitaError:
            return ""
    fields = properties.items() if isinstance(properties, dict) else ()
    return _json({field: _example(schema) for field, schema in fields})


def _example(schema: Any) -> Any:
    """A value to begin with: the default, the first choice, or an empty value of the type."""
    if not isinstance(schema, dict):
        return None
    if "default" in schema:
        return schema["default"]
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    kinds = schema.get("type")
    kind = kinds[0] if isinstance(kinds, list) and kinds else kinds
    empty = {"string": "", "integer": 0, "number": 0, "boolean": False, "array": [], "object": {}}
    return empty.get(kind) if isinstance(kind, str) else None


async def run(settings: Settings, name: str | None, arguments: str) -> str:
    """A call of a tool in the sandbox. It gets no files, and nobody is asked: what is not allowed yet is refused."""
    if not name:
        return _NONE
    try:
        given = json.loads(arguments or "{}")
    except (ValueError, RecursionError) as error:
        return _bad(f"The arguments are no JSON: {error}.")
    if not isinstance(given, dict):
        return _bad("The arguments are no JSON object.")
    try:
        with closing(open_library(settings)) as library:
            tool = library.get(name)
            needs = await needed_by(library, tool)
            carrying = partial(carried, settings, call_consent(settings, None, lambda _: None))
            async with aclosing(await open_for(settings)) as sandbox:
                outcome = await run_kept(library, tool, given, sandbox, needs=needs, carried=carrying)
    except AlitaError as error:
        return bad(error)
    if outcome.problem is not None:
        return _bad(f"{outcome.problem.kind}: {outcome.problem.message}")
    value = outcome.value if isinstance(outcome.value, str) else _json(outcome.value)
    return f'<div class="tool"><pre>{text(value)}</pre><p class="took">{text(duration(outcome.seconds))}</p></div>'


def _bad(words: str) -> str:
    return f'<p class="bad">{text(words)}</p>'


def show(gr: Any, settings: Settings, tab: Any) -> Any:
    """Add the list, its search and the chosen tool to the page; returns what holds the chosen name."""
    words = gr.Textbox(label="Search", placeholder="What should the tool do?", max_lines=1)
    told = gr.HTML(padding=False)
    names = gr.Radio([], label="Tools", elem_id="tools")
    chosen = gr.HTML(_NONE, padding=False, elem_id="tool")
    with gr.Group(visible=False) as calling:
        arguments = gr.Textbox(label="Arguments, as JSON", lines=4, max_lines=20)
        call = gr.Button("Run")
    result = gr.HTML(padding=False, elem_id="result")

    def listed(asked: str) -> tuple[Any, str]:
        choices, note = found(settings, asked)
        return gr.update(choices=choices, value=None), f'<p class="empty">{text(note)}</p>'

    for happens in (tab.select, words.submit):
        happens(listed, [words], [names, told], show_progress="hidden")

    def choose(name: str | None) -> tuple[str, Any, str, str]:
        return described(settings, name), gr.update(visible=bool(name)), template(settings, name), ""

    async def called(name: str | None, given: str) -> str:
        return await run(settings, name, given)

    names.change(choose, [names], [chosen, calling, arguments, result], show_progress="hidden")
    call.click(called, [names, arguments], [result])
    return names
