"""Each event as a whole sentence, for those who hear it: no signs, no columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agent import events as e
from agent.answer import Answer
from agent.cli.screens.lines import cost_text, count_of
from mcp_tools.text import one_line
from mcp_tools.tool import call_text

LONGEST = 400
_ACTIONS = {
    "search": "search the web",
    "browse": "open a page",
    "read_file": "read a file",
    "use_tool": "use a tool",
    "create_tool": "write a tool",
    "run_code": "run a program",
    "answer": "answer",
}
_ENDS = {
    "answered": "Done",
    "no_answer": "Done, without an answer",
    "limit": "Ended at the limit",
    "declined": "Declined",
    "failed": "Failed",
    "interrupted": "Interrupted",
}


def sentence_of(event: e.Event, *, verbose: bool = False) -> str | None:
    """The sentence of an event, or None when it has none."""
    describe: Callable[[Any], str] | None = _SENTENCES.get(type(event))
    if describe is None and verbose:
        describe = _VERBOSE.get(type(event))
    return ended(one_line(describe(event), LONGEST)) if describe else None


def ended(text: str) -> str:
    """The text with a full stop, unless it ends otherwise."""
    return text if text.endswith((".", "!", "?", "…", ":")) else f"{text}."


def summary_sentence(answer: Answer) -> str:
    """How a run ended and what it took."""
    usage = answer.usage
    took = [_count(answer.steps, "step"), _count(usage.calls, "model call")]
    took += [_count(usage.input_tokens + usage.output_tokens, "token"), f"{answer.seconds:.1f} seconds"]
    money = f", {cost_text(usage)}" if usage.calls else ""
    end = _ENDS[answer.status] + (f" of {answer.limit}" if answer.limit else "")
    return f"{end}: {', '.join(part for part in took if part)}{money}."


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}" if number else ""


def _step(event: e.StepStarted) -> str:
    reason = f", because: {event.reason}" if event.reason else ""
    if event.action == "answer":
        return f"Answering{reason}"
    return f"Step {event.step} of {event.of}: {_ACTIONS.get(event.action, event.action)}{reason}"


def _starting(event: e.ModelStarting) -> str:
    text = event.text[:1].upper() + event.text[1:]
    return text if event.fraction is None else f"{text}, {event.fraction:.0%}"


def _checked(event: e.CandidateChecked) -> str:
    if event.ok:
        return f"Candidate {event.number} passes the checks"
    return f"Candidate {event.number} fails the checks: {'; '.join(event.findings)}"


def _trial(event: e.TrialFinished) -> str:
    if event.ok:
        return f"Candidate {event.candidate} was tried and gave {event.preview}"
    return f"Candidate {event.candidate} was tried and failed: {event.message}"


def _called(event: e.ToolCalled) -> str:
    end = "gave" if event.ok else "failed:"
    return f"The call {one_line(call_text(event.name, event.arguments), 100)} {end} {event.preview}"


def _file(event: e.FileRead) -> str:
    if not event.ok:
        return f"The file {event.name} was not read: {event.message}"
    lost = f" Not shown: {' '.join(event.lost)}" if event.lost else ""
    return f"The file {event.name}, {event.type}, was read: {event.where}.{lost}"


def _searched(event: e.WebSearched) -> str:
    if not event.ok:
        return f"The search engine {event.source} gave nothing: {event.message}"
    return f"The search engine {event.source} was asked for {event.query} and gave {count_of(len(event.found), 'hit')}"


def _page(event: e.PageRead) -> str:
    if not event.ok:
        return f"The page {event.url} was not read: {event.message}"
    return f"The page {event.title or event.url} was read"


def _browser(event: e.BrowserStepped) -> str:
    end = "" if event.ok else f", which failed: {event.message}"
    return f"Browser, step {event.step}: {event.action}{end}"


def _model(event: e.ModelCalled) -> str:
    tokens = event.usage.input_tokens + event.usage.output_tokens
    return f"The model {event.model} answered as {event.role}, {tokens:,} tokens, {event.seconds:.1f} seconds"


_SENTENCES: dict[type, Callable[[Any], str]] = {
    e.ModelStarting: _starting,
    e.StepStarted: _step,
    e.ToolFound: lambda event: f"The library has {event.name}",
    e.SpecWritten: lambda event: f"The tool wanted is {event.signature.removeprefix('def ').rstrip(':')}",
    e.CandidateChecked: _checked,
    e.TrialFinished: _trial,
    e.ToolRegistered: lambda event: f"The tool {event.name} is kept in {event.path}",
    e.ToolRefused: lambda event: f"The tool {event.name} is not kept: {event.reason}",
    e.Restated: lambda event: f"The question is understood as: {event.question}",
    e.ToolCalled: _called,
    e.FileRead: _file,
    e.WebSearched: _searched,
    e.PageRead: _page,
    e.BrowserStepped: _browser,
    e.InstructionFound: lambda event: f"Warning: {event}",
    e.ActionRefused: lambda event: f"Warning: {event}",
    e.LeakBlocked: lambda event: f"{event.address} is not opened: {event.reason}",
    e.Warned: lambda event: f"Warning: {event.text}",
    e.Note: lambda event: f"Note: {event.text}",
    e.RunFinished: lambda event: summary_sentence(event.answer),
}
_VERBOSE: dict[type, Callable[[Any], str]] = {e.ModelCalled: _model}
