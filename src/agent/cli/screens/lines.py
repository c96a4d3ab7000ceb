"""Each event as one line for people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from agent import events as e
from agent.answering.answer import Answer
from agent.models.protocol import Usage
from mcp_tools.text import one_line
from mcp_tools.tool import call_text

LONGEST_NOTE = 2_000
LONGEST_SPOKEN = 400
_SPOKEN = {" → ": " gives ", " ✗ ": " failed: ", " — ": ", because: ", " · ": ", "}
"""What the signs of a line say, so that a reader does not say their names."""


class Line(NamedTuple):
    """One line of the account that a run gives on stderr."""

    label: str
    text: str
    mark: str = " "
    style: str = ""
    """A rich style; plain output leaves it out."""
    whole: bool = False
    """Never shortened: it says what went wrong, and where."""

    def plain(self, width: int) -> str:
        """The line as text of at most `width` characters, unless it must be whole."""
        head = f"{self.mark} {self.label:<7} "
        return head + one_line(self.text, max((LONGEST_NOTE if self.whole else width) - len(head), 10))

    @property
    def spoken(self) -> str:
        """The line as a sentence for those who hear it: no signs."""
        text = one_line(self.text, LONGEST_SPOKEN)
        for sign, words in _SPOKEN.items():
            text = text.replace(sign, words)
        return ended(f"{self.label.capitalize()}: {text}" if self.label else text[:1].upper() + text[1:])


def ended(text: str) -> str:
    """The text with a full stop, unless it ends otherwise."""
    return text if text.endswith((".", "!", "?", "…", ":")) else f"{text}."


def line_of(event: e.Event, *, verbose: bool = False) -> Line | None:
    """The line of an event, or None when it has none."""
    if isinstance(event, e.ModelCalled):
        tokens = f"{event.usage.input_tokens} + {event.usage.output_tokens} tokens"
        text = f"{event.role}: {event.model}, {tokens} ({time_text(event.seconds)})"
        return Line("model", text, style="dim") if verbose else None
    describe = _LINES.get(type(event))
    return describe(event) if describe else None


def _step(event: e.StepStarted) -> Line:
    reason = f" — {event.reason}" if event.reason else ""
    return Line("decide", f"{event.action}{reason}", "●", "bold")


def _checked(event: e.CandidateChecked) -> Line:
    if event.ok:
        return Line("check", f"candidate {event.number} ok")
    found = "; ".join(event.findings)
    return Line("check", f"candidate {event.number} ✗ {found}", style="yellow")


def _trial(event: e.TrialFinished) -> Line:
    if event.ok:
        return Line("trial", f"candidate {event.candidate} → {event.preview}")
    return Line("trial", f"candidate {event.candidate} ✗ {event.message}", style="yellow")


def _registered(event: e.ToolRegistered) -> Line:
    path = Path(event.path)
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return Line("saved", f"{shown} ({event.status})", style="green")


def _called(event: e.ToolCalled) -> Line:
    sign, style = ("→", "") if event.ok else ("✗", "yellow")
    call = one_line(call_text(event.name, event.arguments), 60)
    return Line("call", f"{call} {sign} {one_line(event.preview, 60)} ({time_text(event.seconds)})", style=style)


def _file(event: e.FileRead) -> Line:
    if not event.ok:
        return Line("file", f"{event.name} ✗ {event.message}", style="yellow", whole=True)
    lost = f"; not shown: {' '.join(event.lost)}" if event.lost else ""
    return Line("file", f"{event.name}, {event.type}: {event.where}{lost}")


def _searched(event: e.WebSearched) -> Line:
    if not event.ok:
        return Line("search", f"{event.source} ✗ {event.message}", style="yellow", whole=True)
    return Line("search", f"{event.source}: {event.query} → {count_of(len(event.found), 'hit')}")


def _page(event: e.PageRead) -> Line:
    if not event.ok:
        return Line("page", f"{event.url} ✗ {event.message}", style="yellow")
    via = "" if event.via == "plain" else f", {event.via}"
    return Line("page", f"{event.title or event.url} ({event.size:,} characters{via})")


def _browser(event: e.BrowserStepped) -> Line:
    text = f"{event.step}. {event.action}"
    if not event.ok:
        return Line("browser", f"{text} ✗ {event.message}", style="yellow")
    return Line("browser", f"{text} at {event.url}")


_LINES: dict[type, Callable[[Any], Line | None]] = {
    e.RunFinished: lambda event: summary(event.answer),
    e.RunStarted: lambda event: Line("resume", f"{event.run_id}: {event.question}", "●") if event.resumed else None,
    e.StepStarted: _step,
    e.ToolFound: lambda event: Line(
        "found", f"{event.name} {f'at the server {event.server}' if event.server else 'in the library'}"
    ),
    e.SpecWritten: lambda event: Line("spec", event.signature.removeprefix("def ").rstrip(":")),
    e.CandidateChecked: _checked,
    e.TrialFinished: _trial,
    e.ToolRegistered: _registered,
    e.ToolRefused: lambda event: Line(
        "refused", f"{event.name} is not kept: {event.reason}", style="yellow", whole=True
    ),
    e.Restated: lambda event: Line("asked", event.question, "●", whole=True),
    e.ToolCalled: _called,
    e.FileRead: _file,
    e.WebSearched: _searched,
    e.PageRead: _page,
    e.BrowserStepped: _browser,
    e.InstructionFound: lambda event: Line("warning", str(event), style="bold yellow"),
    e.ActionRefused: lambda event: Line("refused", str(event), style="bold yellow", whole=True),
    e.LeakBlocked: lambda event: Line("blocked", f"{event.address}: {event.reason}", style="yellow"),
    e.Warned: lambda event: Line("warning", event.text, style="bold yellow", whole=True),
    e.Note: lambda event: Line("note", event.text, style="yellow", whole=True),
}


def summary(answer: Answer) -> Line:
    """The last line of a run: how it ended and what it took."""
    usage = answer.usage
    tokens = usage.input_tokens + usage.output_tokens
    counts = ((answer.steps, "step"), (usage.calls, "model call"), (tokens, "token"))
    parts = [
        answer.status.replace("_", " ") + (f" ({answer.limit})" if answer.limit else ""),
        *(count_of(n, noun) for n, noun in counts if n),
        time_text(answer.seconds),
    ]
    if usage.cost != 0:
        parts.append(cost_text(usage))
    if answer.run_id:
        parts.append(f"run {answer.run_id}")
    return Line("done", " · ".join(parts), "●", "bold", whole=True)


def count_of(number: int, noun: str) -> str:
    """The number with its noun."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def cost_text(usage: Usage) -> str:
    """Money in words; an unknown price is shown as unknown, never as nothing."""
    if usage.cost is None:
        return "cost unknown"
    return f"${usage.cost:.4f}" if usage.cost else "no cost"


def time_text(seconds: float) -> str:
    """A duration as people say it."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60)} s"
