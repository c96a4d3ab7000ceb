"""Renders what the page shows as HTML. All text is untrusted: it is escaped and loads nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from agent import events as e
from agent.traces.lines import line_of
from mcp_tools.text import one_line, printable

if TYPE_CHECKING:
    from agent.answer import Answer, OutputFile
    from agent.configuration.settings import Settings
    from mcp_tools.errors import AlitaError

_TITLE = 160
_COMMAND, _OPTION = re.compile(r"\balita [a-z]"), re.compile(r"(?<![\w-])--[a-z]")
_MOST = 20_000
"""Maximum number of characters shown of a text, unless it must be shown whole."""
_PICTURES = (".png", ".jpg", ".jpeg", ".gif")


def text(words: str, *, whole: bool = False) -> str:
    """Escape a text as HTML, cut to `_MOST` characters unless `whole`."""
    most = len(words) if whole else _MOST
    return escape(printable(words[:most]) + (f"\n… {len(words) - most:,} more characters" if len(words) > most else ""))


def bad(error: AlitaError) -> str:
    """Render an error with its remedy, unless the remedy is an option of the command line."""
    remedy = error.remedy
    if _COMMAND.search(remedy):
        remedy = f"In a terminal: {remedy}"
    elif _OPTION.search(remedy):
        remedy = ""
    return f'<p class="bad">{text(f"{error.message} {remedy}".strip())}</p>'


def answer(words: str) -> str:
    """Render an answer from Markdown, without raw HTML or pictures."""
    from markdown_it import MarkdownIt

    rendered = MarkdownIt("commonmark", {"html": False}).disable("image").enable("table").render(printable(words))
    return f'<div class="answer">{rendered.replace("<a ", REL)}</div>'


REL = '<a target="_blank" rel="noopener noreferrer nofollow" '


def question(words: str, names: Sequence[str] = ()) -> str:
    """Render a question with the names of its files."""
    files = "".join(f'<span class="file">{escape(one_line(name, 80))}</span>' for name in names)
    return f'<div class="question">{text(words)}{files}</div>'


def step(event: e.Event) -> str:
    """Render an event as a line that expands to its details; an empty string if the event has no line."""
    line = line_of(event)
    if line is None or isinstance(event, e.RunFinished):
        return ""
    mood = "bad" if "yellow" in line.style else "good" if "green" in line.style else ""
    head = f'<b>{escape(line.label)}</b> <span class="{mood}">{escape(one_line(line.text, _TITLE))}</span>'
    more = _more(event)
    if not more and len(line.text) > _TITLE:
        more = [("", line.text)]
    if not more:
        return f'<div class="step">{head}</div>'
    body = "".join((f"<h5>{escape(name)}</h5>" if name else "") + f"<pre>{text(words)}</pre>" for name, words in more)
    return f'<details class="step"><summary>{head}</summary>{body}</details>'


def _more(event: e.Event) -> list[tuple[str, str]]:
    """Return the details of an event that do not fit its line."""
    if isinstance(event, e.ToolCalled):
        given = [(name, value if isinstance(value, str) else repr(value)) for name, value in event.arguments.items()]
        return [*given, ("result" if event.ok else "error", event.preview)]
    if isinstance(event, e.WebSearched):
        return [("found", "\n".join(event.found))] if event.found else []
    if isinstance(event, e.TrialFinished):
        return [("result" if event.ok else "error", event.preview or event.message)]
    if isinstance(event, e.CodeChecked) and event.findings:
        return [("findings", "\n".join(event.findings))]
    return []


def diff(words: str) -> str:
    """Render a complete unified diff with its added and removed lines marked."""
    moods = {"+": "good", "-": "bad"}
    lines = (f'<span class="{moods.get(line[:1], "")}">{text(line, whole=True)}</span>' for line in words.split("\n"))
    return f'<pre class="diff">{chr(10).join(lines)}</pre>'


def outputs(files: Sequence[OutputFile], addresses: Sequence[str]) -> str:
    """Render links to the files of a run; pictures are shown."""
    parts = []
    for file, address in zip(files, addresses, strict=True):
        name, at = escape(one_line(file.name, 120)), escape(address)
        if file.name.lower().endswith(_PICTURES):
            parts.append(f'<a href="{at}" target="_blank"><img src="{at}" alt="{name}"></a>')
        parts.append(f'<a class="file" href="{at}" download>{name} <small>{file.size:,} bytes</small></a>')
    return f'<div class="outputs">{"".join(parts)}</div>' if parts else ""


def ending(found: Answer) -> str:
    """Render the end of a run: status, cost and sources."""
    line = line_of(e.RunFinished(found))
    sources = "".join(
        f'<li>{REL}href="{escape(one.url)}">{escape(one.title or one.url)}</a></li>'
        for one in found.sources
        if one.url.startswith(("http://", "https://"))
    )
    problem = f'<p class="bad">{text(found.error)}</p>' if found.error else ""
    warned = "".join(f'<p class="bad">{text(one)}</p>' for one in found.warnings)
    listed = f"<ol>{sources}</ol>" if sources else ""
    return f'{problem}{warned}{listed}<p class="took">{escape(line.text if line else "")}</p>'


def settings_table(settings: Settings) -> str:
    """Render each setting with its value and source. Keys are masked."""
    rows = "".join(
        f"<tr><th>{text(line.name)}</th><td>{text(line.value)}</td><td>{text(line.source)}</td></tr>"
        for line in settings.explain()
    )
    hint = "In a terminal, change others with <code>alita config set</code>, and keys with <code>alita keys set</code>."
    return f'<div class="tool"><p>{hint}</p><table>{rows}</table></div>'


def with_request(gr: Any, handler: Any) -> Any:
    """Annotate a handler so that Gradio passes it the request of its tab."""
    handler.__annotations__["request"] = gr.Request
    return handler
