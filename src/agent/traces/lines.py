"""Renders events of a run as lines of text, for all front ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from agent import events as e
from agent.answer import Answer
from mcp_tools.text import count_of, duration, one_line
from mcp_tools.tool import call_text

LONGEST_NOTE = 2_000
LONGEST_SPOKEN = 400
_SPOKEN = {" → ": " gives ", " ✗ ": " failed: ", " — ": ", because: ", " · ": ", "}
"""Words that replace the symbols in a line, for screen readers."""


class Line(NamedTuple):
    """A line of a run's progress on stderr."""

    label: str
    text: str
    mark: str = " "
    style: str = ""
    whole: bool = False
    """True for a problem, because problems are never shortened."""

    def plain(self, width: int) -> str:
        """Return the line, shortened to `width` characters unless it is `whole`."""
        head = f"{self.mark} {self.label:<7} "
        return head + one_line(self.text, max((LONGEST_NOTE if self.whole else width) - len(head), 10))

    @property
    def spoken(self) -> str:
        """Return the line as a sentence without symbols, for screen readers."""
        text = one_line(self.text, LONGEST_SPOKEN)
        for sign, words in _SPOKEN.items():
            text = text.replace(sign, words)
        return sentence(f"{self.label.capitalize()}: {text}" if self.label else text[:1].upper() + text[1:])


def sentence(text: str) -> str:
    """Return a text that ends with a period."""
    return text if text.endswith((".", "!", "?", "…", ":")) else f"{text}."


def line_of(event: e.Event, *, verbose: bool = False) -> Line | None:
    """Return the line for an event, or None if it has no line. Model calls are shown only if `verbose` is true."""
    if isinstance(event, e.ModelCalled) and not verbose:
        return None
    describe = _LINES.get(type(event))
    return describe(event) if describe else None


def _result(label: str, what: str, event: Any, result: str = "", *, whole: bool = False) -> Line:
    if event.ok:
        return Line(label, what + result, whole=whole)
    return Line(label, f"{what} ✗ {event.message}", style="yellow", whole=whole)


def _file(event: e.FileRead) -> Line:
    lost = f"; not shown: {' '.join(event.lost)}" if event.lost else ""
    return _result("file", event.name, event, f", {event.type}: {event.where}{lost}", whole=True)


def _page(event: e.PageRead) -> Line:
    via = "" if event.via == "plain" else f", {event.via}"
    return _result(
        "page", (event.ok and event.title) or event.url, event, f" ({event.size:,} characters{via})", whole=True
    )


def _called(event: e.ToolCalled) -> Line:
    call, result = one_line(call_text(event.name, event.arguments), 60), one_line(event.preview, 60)
    text = f"{call} {'→' if event.ok else '✗'} {result} ({duration(event.seconds)})"
    return Line("call", text, style="" if event.ok else "yellow", whole=True)


def _registered(event: e.ToolRegistered) -> Line:
    path, here = Path(event.path), Path.cwd()
    shown = path.relative_to(here) if path.is_relative_to(here) else path
    return Line("saved", f"{shown} ({event.status})", style="green", whole=True)


def _model(event: e.ModelCalled) -> Line:
    tokens = f"{event.usage.input_tokens} + {event.usage.output_tokens} tokens"
    return Line("model", f"{event.role}: {event.model}, {tokens} ({duration(event.seconds)})", style="dim")


_LINES: dict[type, Callable[[Any], Line | None]] = {
    e.RunStarted: lambda it: Line("resume", f"{it.run_id}: {it.question}", "●") if it.resumed else None,
    e.Planned: lambda it: Line("plan", it.text),
    e.Restated: lambda it: Line("asked", it.question, "●", whole=True),
    e.StepStarted: lambda it: Line("decide", it.action + (f" — {it.reason}" if it.reason else ""), "●", "bold"),
    e.ModelCalled: _model,
    e.ToolFound: lambda it: None if it.server else Line("found", f"{it.name} in the library", whole=True),
    e.SpecWritten: lambda it: Line("spec", it.signature),
    e.CodeChecked: lambda it: (
        Line("check", "code ok") if it.ok else Line("check", f"code ✗ {'; '.join(it.findings)}", style="yellow")
    ),
    e.TrialFinished: lambda it: _result("trial", "call", it, f" → {it.preview}", whole=True),
    e.ToolRegistered: _registered,
    e.ToolRefused: lambda it: Line("refused", f"{it.name} was not kept: {it.reason}", style="yellow", whole=True),
    e.ToolCalled: _called,
    e.FileRead: _file,
    e.WebSearched: lambda it: _result(
        "search", it.source, it, f": {it.query} → {count_of(len(it.found), 'hit')}", whole=True
    ),
    e.PageRead: _page,
    e.PictureShown: lambda it: Line("picture", it.path, whole=True),
    e.BrowserStepped: lambda it: _result("browser", f"{it.step}. {it.action}", it, f" at {it.url}"),
    e.InstructionFound: lambda it: Line("warning", str(it), style="bold yellow"),
    e.ActionRefused: lambda it: Line("refused", str(it), style="bold yellow", whole=True),
    e.LeakBlocked: lambda it: Line("blocked", f"{it.address}: {it.reason}", style="yellow"),
    e.Warned: lambda it: Line("warning", it.text, style="bold yellow", whole=True),
    e.Note: lambda it: Line("note", it.text, style="yellow", whole=True),
    e.RunFinished: lambda it: summary(it.answer),
}


def summary(answer: Answer) -> Line:
    """Return the last line of a run: its outcome, calls, tokens and time."""
    usage = answer.usage
    tokens = usage.input_tokens + usage.output_tokens
    counts = ((answer.steps, "step"), (usage.calls, "model call"), (tokens, "token"))
    parts = [
        answer.status.replace("_", " ") + (f" ({answer.limit})" if answer.limit else ""),
        *(count_of(n, noun) for n, noun in counts if n),
        duration(answer.seconds),
        usage.cost_text if usage.cost != 0 else "",
        f"run {answer.run_id}" if answer.run_id else "",
    ]
    return Line("done", " · ".join(filter(None, parts)), "●", "bold", whole=True)
