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
    """The class's name as JSON has it: `run_started`."""

    def __init_subclass__(cls) -> None:
        if "kind" not in vars(cls):
            cls.kind = re.sub(r"(?<=.)(?=[A-Z])", "_", cls.__name__).lower()

    def as_json(self) -> dict[str, Json]:
        """One line of `--json-stream`."""
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
    """The embedded model is fetched or loaded."""

    text: str
    fraction: float | None = None
    """From 0 to 1; None if it is unknown."""
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
    """From 1 on; the same for all actions of one reply."""
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
    """One sentence for the user: what was refused, retried or is not configured."""

    text: str


@dataclass(frozen=True, slots=True)
class Warned(Event):
    """One sentence that a user must see, even with `--quiet`."""

    kind: ClassVar[str] = "warning"
    text: str


@dataclass(frozen=True, slots=True)
class Planned(Event):
    """The planner wrote a brief, or a new plan on the way."""

    text: str
    records: Sequence[str] = ()
    """Ids of the gap records that it was made from."""


@dataclass(frozen=True, slots=True)
class ToolFound(Event):
    """The library, or an external server, has a tool that may fit."""

    name: str
    server: str = ""
    """The external server that has it; empty for the library."""


@dataclass(frozen=True, slots=True)
class SpecWritten(Event):
    """The spec of a new tool is written."""

    signature: str
    purpose: str


@dataclass(frozen=True, slots=True)
class CodeChecked(Event):
    """The checks looked at the code of a proposed tool."""

    ok: bool
    findings: Sequence[str] = ()
    """One line each, the rule first."""


@dataclass(frozen=True, slots=True)
class TrialFinished(Event):
    """A proposed tool ran with the question's arguments."""

    ok: bool
    preview: str = ""
    """Its result, shortened."""
    message: str = ""
    """Why it failed."""


@dataclass(frozen=True, slots=True)
class ToolRegistered(Event):
    """A tool is in the library from now on."""

    name: str
    path: str
    status: str


@dataclass(frozen=True, slots=True)
class ToolRefused(Event):
    """A proved tool is not kept; its result still answers the question."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class LeakBlocked(Event):
    """A known copy of a benchmark's answers was kept from the agent."""

    address: str
    reason: str


@dataclass(frozen=True, slots=True)
class Restated(Event):
    """A follow-up was restated as an independent question, which the run answers."""

    question: str


@dataclass(frozen=True, slots=True)
class ToolCalled(Event):
    """A tool of the library, or a one-off program, ran."""

    name: str
    arguments: dict[str, Json] = field(default_factory=dict)
    ok: bool = True
    preview: str = ""
    """Its result or its error, shortened."""
    seconds: float = 0.0
    server: str = ""
    """The external server of the tool; empty for the library and programs."""


@dataclass(frozen=True, slots=True)
class FileRead(Event):
    """An attached file was inspected, or a part was read."""

    name: str
    type: str
    """Its kind, by content: `xlsx`, `pdf`, `csv`."""
    where: str
    """`preview`, `page 3 of 12`, or what was looked for."""
    lost: Sequence[str] = ()
    """Contents that reading does not show, one sentence each."""
    ok: bool = True
    message: str = ""
    """Why it could not be read."""


@dataclass(frozen=True, slots=True)
class WebSearched(Event):
    """A search engine was asked."""

    query: str
    source: str
    """The engine."""
    found: Sequence[str] = ()
    """Addresses, best first."""
    ok: bool = True
    message: str = ""
    """Why it gave nothing; the next engine is asked."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PageRead(Event):
    """A page of the web was read."""

    url: str
    title: str = ""
    via: str = ""
    """`plain`, `rendered`, `firecrawl`, `archive`, `transcript`."""
    size: int = 0
    """Characters of its Markdown."""
    ok: bool = True
    message: str = ""
    """Why it could not be read."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PictureShown(Event):
    """A program showed a picture."""

    path: str
    copy: str
    """Path of a safe copy, as models see it: PNG or JPEG."""


@dataclass(frozen=True, slots=True)
class BrowserStepped(Event):
    """The browser did something."""

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
    """A passage instructs its reader and contains the possible answer, so it is no evidence."""

    source: str
    """Address, file or tool."""
    excerpt: str

    def __str__(self) -> str:
        return f"{self.source} instructs its reader; that is no evidence: {self.excerpt}"


@dataclass(frozen=True, slots=True)
class ActionRefused(Event):
    """An action was refused: only foreign text asks for it, or it would send private data away."""

    action: str
    """`browse https://…`, in short."""
    reason: str

    def __str__(self) -> str:
        return f"{self.action}: {self.reason}"


@dataclass(frozen=True, slots=True)
class AnswerWritten(Event):
    """A further piece of the answer's text arrived from the model. The final answer may have another form."""

    text: str


@dataclass(frozen=True, slots=True)
class AnswerFound(Event):
    """The answer is final. The run continues: its program becomes a tool."""

    text: str


@dataclass(frozen=True, slots=True)
class RunFinished(Event):
    """The run ended with an answer of any status; no event follows. A run that raises has no such event."""

    answer: Answer

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints, as the stream's last line."""
        return {"event": self.kind, **self.answer.as_json()}


NOT_LOGGED = {"question", "text", "reason", "arguments", "preview", "thought", "excerpt", "query", "purpose"}
"""Fields with questions, results or answers. Logs leave them out: this content is only in the run's folder."""
Listener = Callable[[Event], None]
