"""Events that a run sends to its front end: frozen dataclasses, the subclasses of `Event`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from agent.answer import Answer
from agent.models.protocol import Usage
from mcp_tools.tool import Json


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events."""

    kind: ClassVar[str]
    """The class's name in JSON, such as `run_started`."""

    def __init_subclass__(cls) -> None:
        if "kind" not in vars(cls):
            cls.kind = re.sub(r"(?<=.)(?=[A-Z])", "_", cls.__name__).lower()

    def as_json(self) -> dict[str, Json]:
        """Return the object for a line of `--json-stream`."""
        return {"event": self.kind, **asdict(self)}


@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    """A run began or was resumed."""

    run_id: str
    question: str
    model: str
    resumed: bool = False


@dataclass(frozen=True, slots=True)
class ModelStarting(Event):
    """The embedded model is being downloaded or loaded."""

    text: str
    fraction: float | None = None
    """Progress from 0 to 1; None if it is unknown."""
    detail: str = ""
    """Total size and remaining time."""

    @property
    def progress(self) -> str:
        """The progress as text."""
        return self.text if self.fraction is None else f"{self.text} {self.fraction:.0%} {self.detail}".rstrip()


@dataclass(frozen=True, slots=True)
class StepStarted(Event):
    """The coordinator chose an action."""

    step: int
    """Number of the step, from 1. All actions of one reply have the same number."""
    of: int
    action: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ModelCalled(Event):
    """A model answered."""

    role: str
    model: str
    usage: Usage
    seconds: float


@dataclass(frozen=True, slots=True)
class Note(Event):
    """A sentence for the user about something that was refused, retried or not configured."""

    text: str


@dataclass(frozen=True, slots=True)
class Warned(Event):
    """A warning that the user must see, even with `--quiet`."""

    kind: ClassVar[str] = "warning"
    text: str


@dataclass(frozen=True, slots=True)
class Planned(Event):
    """The planner wrote a brief, or a new plan during the run."""

    text: str
    records: Sequence[str] = ()
    """Ids of the gap records that the plan is based on."""


@dataclass(frozen=True, slots=True)
class ToolFound(Event):
    """The library, or an external server, has a tool that may fit."""

    name: str
    server: str = ""
    """The external server that has the tool; empty for the library."""


@dataclass(frozen=True, slots=True)
class SpecWritten(Event):
    """The spec of a new tool is written."""

    signature: str
    purpose: str


@dataclass(frozen=True, slots=True)
class CodeChecked(Event):
    """The code of a proposed tool was checked."""

    ok: bool
    findings: Sequence[str] = ()
    """Findings of the checks, one line each, beginning with the rule."""


@dataclass(frozen=True, slots=True)
class TrialFinished(Event):
    """A proposed tool ran with the question's arguments."""

    ok: bool
    preview: str = ""
    """The shortened result."""
    message: str = ""
    """Reason for the failure."""


@dataclass(frozen=True, slots=True)
class ToolRegistered(Event):
    """A tool was added to the library."""

    name: str
    path: str
    status: str


@dataclass(frozen=True, slots=True)
class ToolRefused(Event):
    """A proved tool was not kept. Its result still answers the question."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class LeakBlocked(Event):
    """A known copy of a benchmark's answers was kept from the agent."""

    address: str
    reason: str


@dataclass(frozen=True, slots=True)
class Restated(Event):
    """A follow-up was restated as an independent question, which the run answers instead."""

    question: str


@dataclass(frozen=True, slots=True)
class ToolCalled(Event):
    """A tool of the library, or a one-off program, ran."""

    name: str
    arguments: dict[str, Json] = field(default_factory=dict)
    ok: bool = True
    preview: str = ""
    """The shortened result or error."""
    seconds: float = 0.0
    server: str = ""
    """The external server of the tool; empty for the library and programs."""


@dataclass(frozen=True, slots=True)
class FileRead(Event):
    """An attached file was inspected, or a part was read."""

    name: str
    type: str
    """Kind of the file by its content, such as `xlsx`, `pdf` or `csv`."""
    where: str
    """The part that was read: `preview`, `page 3 of 12`, or the words that were looked for."""
    lost: Sequence[str] = ()
    """Sentences about content that reading does not show."""
    ok: bool = True
    message: str = ""
    """Why it could not be read."""


@dataclass(frozen=True, slots=True)
class WebSearched(Event):
    """A search engine was asked."""

    query: str
    source: str
    """Name of the search engine."""
    found: Sequence[str] = ()
    """Addresses of the results, best first."""
    ok: bool = True
    message: str = ""
    """Why the engine gave no results; the next engine is then asked."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PageRead(Event):
    """A page of the web was read."""

    url: str
    title: str = ""
    via: str = ""
    """How the page was read: `plain`, `rendered`, `firecrawl`, `archive` or `transcript`."""
    size: int = 0
    """Length of the page's Markdown, in characters."""
    ok: bool = True
    message: str = ""
    """Why it could not be read."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PictureShown(Event):
    """A program showed a picture."""

    path: str
    copy: str
    """Path of the PNG or JPEG copy that models see."""


@dataclass(frozen=True, slots=True)
class BrowserStepped(Event):
    """The browser carried out an action."""

    step: int
    url: str
    action: str
    thought: str = ""
    picture: str = ""
    """Path of the screenshot in the run's folder."""
    ok: bool = True
    message: str = ""


@dataclass(frozen=True, slots=True)
class InstructionFound(Event):
    """A passage contains a possible answer but gives instructions to its reader, so it does not count as evidence."""

    source: str
    """Address, file or tool that the passage is from."""
    excerpt: str

    def __str__(self) -> str:
        return f"{self.source} instructs its reader; that is no evidence: {self.excerpt}"


@dataclass(frozen=True, slots=True)
class ActionRefused(Event):
    """An action was refused because only untrusted text asks for it, or because it would send private data away."""

    action: str
    """The action in short, such as `browse https://…`."""
    reason: str

    def __str__(self) -> str:
        return f"{self.action}: {self.reason}"


@dataclass(frozen=True, slots=True)
class AnswerWritten(Event):
    """The model wrote another piece of the answer's text. The final answer may be formatted differently."""

    text: str


@dataclass(frozen=True, slots=True)
class AnswerFound(Event):
    """The answer is final. The run continues, to turn its program into a tool."""

    text: str


@dataclass(frozen=True, slots=True)
class RunFinished(Event):
    """The run ended with an answer of any status. No event follows. A run that raises an error has no such event."""

    answer: Answer

    def as_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints; it is the last line of the stream."""
        return {"event": self.kind, **self.answer.as_json()}


NOT_LOGGED = {"question", "text", "reason", "arguments", "preview", "thought", "excerpt", "query", "purpose"}
"""Fields with questions, results or answers. They are not logged, so that this content is only in the run's folder."""
Listener = Callable[[Event], None]
