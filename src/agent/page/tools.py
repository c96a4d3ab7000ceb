"""The tools of the library on the page: found by words, each shown with all that is known of it."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

from agent.page.shown import text
from mcp_tools.approve import tests_of
from mcp_tools.errors import AlitaError
from mcp_tools.library.library import Library
from mcp_tools.text import count_of, one_line
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
    with closing(_library(settings)) as library:
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
    with closing(_library(settings)) as library:
        try:
            tool = library.get(name)
        except AlitaError as error:
            return f'<p class="bad">{text(f"{error.message} {error.remedy}")}</p>'
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


def _library(settings: Settings) -> Library:
    return Library(settings.tools_dir, settings.data_dir)


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


def show(gr: Any, settings: Settings, tab: Any) -> None:
    """Add the list, its search and the chosen tool to the page."""
    words = gr.Textbox(label="Search", placeholder="What should the tool do?", max_lines=1)
    told = gr.HTML(padding=False)
    names = gr.Radio([], label="Tools", elem_id="tools")
    chosen = gr.HTML(_NONE, padding=False, elem_id="tool")

    def listed(asked: str) -> tuple[Any, str]:
        choices, note = found(settings, asked)
        return gr.update(choices=choices, value=None), f'<p class="empty">{text(note)}</p>'

    for happens in (tab.select, words.submit):
        happens(listed, [words], [names, told], show_progress="hidden")
    names.change(lambda name: described(settings, name), [names], [chosen], show_progress="hidden")
