"""What the live line says: a fold over the events of a turn."""

from __future__ import annotations

import time
from collections.abc import Callable

from agent import events as e
from agent.cli.lines import cost_text, time_text
from agent.models.protocol import Usage
from mcp_tools.text import one_line


class Activity:
    """What a turn is doing, since when, and what it has used.

    Args:
        clock: Seconds, for tests.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._step = self._of = 0
        self._route = ""
        self._doing = "thinking"
        self.usage = Usage()

    @property
    def seconds(self) -> float:
        """Since the turn began."""
        return self._clock() - self._started

    def see(self, event: e.Event) -> None:
        """Takes an event into account."""
        match event:
            case e.StepStarted():
                self._step, self._of = event.step, event.of
                self._route = self._doing = event.action
            case e.ModelStarting():
                self._doing = event.text if event.fraction is None else f"{event.text} {event.fraction:.0%}"
            case e.ModelCalled():
                self.usage = self.usage + event.usage
                self._doing = self._route or "thinking"
            case e.SpecWritten():
                self._doing = f"writing {event.signature.removeprefix('def ').partition('(')[0]}"
            case e.CandidateChecked() | e.TrialFinished():
                number = event.number if isinstance(event, e.CandidateChecked) else event.candidate
                self._doing = f"{self._route or 'create_tool'}, candidate {number}"
            case e.ToolCalled():
                self._doing = f"called {event.name}"
            case e.FileRead():
                self._doing = f"read {event.name}"
            case e.WebSearched():
                self._doing = f"searched with {event.source}"
            case e.PageRead():
                self._doing = f"read {event.title or event.url}"
            case e.BrowserStepped():
                self._doing = f"browser, {event.action}"
            case _:
                pass

    def text(self, width: int) -> str:
        """One line of at most `width` characters; what matters least goes first."""
        tokens = self.usage.input_tokens + self.usage.output_tokens
        step = f"step {self._step} of {self._of}" if self._of else ""
        parts = [step, self._doing, time_text(self.seconds), f"{tokens:,} tokens" if tokens else "", self._cost()]
        long = " · ".join(part for part in parts if part)
        if len(long) <= width:
            return one_line(long, width)
        step = f"{self._step}/{self._of}" if self._of else ""
        rest = [f"{self.seconds:.0f} s", f"{tokens / 1000:.1f}k tokens" if tokens else "", self._cost()]
        room = max(width - len(" · ".join(part for part in (step, *rest, "") if part)) - 3, 8)
        parts = [step, one_line(self._doing, room), *rest]
        return one_line(" · ".join(part for part in parts if part), width)

    def _cost(self) -> str:
        return cost_text(self.usage) if self.usage.calls else ""
