"""The state of the graph, and the decisions of the coordinator."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import Annotated, Any, NotRequired, TypedDict

from agent.question import Purpose
from mcp_tools.tool import Json, call_text

ActionName = str
"""Name of an action in steps, journals and settings; `actions/registry.py` has them all."""
COMPUTING_ACTIONS: frozenset[ActionName] = frozenset({"use_tool", "create_tool", "run_code"})
"""Their results need no source."""
LOOKING_ACTIONS: frozenset[ActionName] = frozenset({"search", "browse", "read_file"})
"""Their results are texts from the web or from files."""


@dataclass(frozen=True, slots=True)
class ToolRef:
    """A tool that a run may call, from the library or a connected server, in the form that prompts and rules use."""

    name: str
    description: str
    input_schema: dict[str, Any]
    server: str = ""
    """The connected server that has the tool; empty for the library."""
    returns: str | None = None
    is_read_only: bool = False
    asked: dict[str, Any] | None = None
    """The question that an approved tool was made for."""
    is_draft: bool = False
    """True if the user has not approved the tool. It may be called, but its description is only data."""
    signature: str = ""
    """The line that shows the tool, if only programs can import it."""
    is_folded: bool = False
    """True if the tool has no function of its own. `server_tool` then shows its definition and calls it."""
    rank: int = 0
    """Rank of the tool among the external tools that fit the question, from 0 for the best."""

    @property
    def is_external(self) -> bool:
        """True if the tool belongs to a connected server."""
        return bool(self.server)

    @property
    def has_function(self) -> bool:
        """True if the model has a function for the tool."""
        return not self.is_folded and not self.signature


class Picture(TypedDict):
    """A picture that can be shown to a model."""

    name: str
    """Name of the picture in the run, by its file, page or screen."""
    path: str
    """Path of the copy that is sent. Its file name is the hash of its content."""
    kind: str
    """Media type of the copy."""
    bytes: int
    note: str
    """Note about details that the copy lacks; empty if it is complete."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Says whether the result of a step is the run's answer, and in which form."""

    form: str = ""
    """The answer, with `{}` for the result; empty if the model wants to see the result first."""

    @property
    def ends_run(self) -> bool:
        """True if the result is the run's answer."""
        return bool(self.form)


LOOK = Ending()
RESULT = Ending("{}")


class Step(TypedDict):
    """One action of a run and its result."""

    number: int
    action: ActionName
    input: str
    """The action's input in short. Steps with the same action and input are repetitions."""
    ok: bool
    finding: str
    """The result for later steps, or the reason for having none."""
    value: Json
    """The result as JSON, when the step computed one."""
    plain: NotRequired[Json]
    """The exact result for `{:json}`, if `value` is a rounded or formatted one."""
    result: NotRequired[str]
    """The finding without the call that it begins with."""
    note: NotRequired[str]
    """alita's note about the finding, which is shown with it. It contains no untrusted text."""
    call: NotRequired[str]
    """Id of the model's function call that asked for the step."""
    ending: Ending
    pictures: NotRequired[list[Picture]]
    """The pictures of the finding for the answering model."""
    outputs: NotRequired[list[dict[str, Any]]]
    """Files that the step's program wrote for the user: `name`, `path` and `size` in bytes."""
    is_private: NotRequired[bool]
    """True if the specialist read the user's private data."""


class Reply(TypedDict):
    """One reply of a model that calls functions."""

    message: dict[str, Any]
    """The message in Chat Completions format."""
    refused: dict[str, str]
    """Reasons why calls were not carried out, by call id."""
    remark: str
    """A message to the model after the reply; empty if the observations are enough."""
    is_free: NotRequired[bool]
    """True if the reply does not count as a step, because a rule made it before the model was asked."""


class NewPlan(TypedDict):
    """A plan that was made during the run."""

    step: int
    """Number of steps before the plan."""
    replies: int
    """Number of model replies before the plan."""
    why: str
    known: list[str]
    to_find: list[str]
    plan: list[str]


class Interjection(TypedDict):
    """A message that the user sent while the run worked."""

    replies: int
    """Number of model replies before the message."""
    text: str


class AttachedFile(TypedDict):
    """An attached file as inspected before the first decision, or a file inside an attached archive."""

    name: str
    path: str
    """Absolute path. Programs in the sandbox can read the file there."""
    kind: str
    """Kind of the file by its content, such as `xlsx`, `pdf` or `csv`; empty if it cannot be read."""
    size: int
    """Size in bytes."""
    summary: str
    """The file's structure, in a few lines."""
    beginning: str
    """The file's first words, for rules."""
    parts: list[str]
    """Beginnings of the file's sheets, tables or texts, as prompts show them."""
    label: str
    """The share that is shown, such as `complete` or `rows 1–10 of 421`; empty if the parts say it."""
    headers: list[str]
    """Names and headers of the file's tables."""
    sections: int | None
    """Number of pages that can be read; None if they are not counted."""
    facts: dict[str, Json]
    lost: list[str]
    """Descriptions of content that reading does not show."""
    notes: NotRequired[list[str]]
    """Other notes about the reading; missing in runs of earlier versions."""
    data: list[str]
    """Paths of extracted content for programs, such as the text, a transcript or archive members."""
    problem: str
    """Why the file cannot be read; empty if it can."""
    given: NotRequired[str]
    """The user's own path, if `path` is a copy."""
    since: NotRequired[int]
    """Number of the step that brought the file; 0 for a file from an earlier turn; missing for a file attached to the
    question."""
    pictures: NotRequired[list[Picture]]
    """The file's pictures, which the answering model sees with the question."""


class CitedSource(TypedDict):
    """A page of the web that evidence and answers cite."""

    number: int
    """Number of the source, from 1. It stays the same during the run."""
    url: str
    title: str
    quotes: list[str]
    """Verbatim quotations, best first."""


def merged(old: list[CitedSource], new: list[CitedSource]) -> list[CitedSource]:
    """Return the sources in order of their numbers. A source keeps its earlier quotations."""
    by_number = {source["number"]: source for source in old}
    for source in new:
        before = by_number.get(source["number"])
        quotes = source["quotes"] + (before["quotes"] if before else [])
        by_number[source["number"]] = {**source, "quotes": list(dict.fromkeys(quotes))}
    return [by_number[number] for number in sorted(by_number)]


class GrantedFolder(TypedDict):
    """The user's folder."""

    path: str
    """Path for programs: that of the copy, if there is one."""
    root: str
    """The user's own path."""
    writes: bool
    """True if `path` is a copy that programs may change."""
    listing: str
    """The first file names with sizes; empty if an earlier turn has shown them."""


class KnownTexts(TypedDict):
    """Texts that the run knew when it handed the question over, by origin; see `agent.consent.rulings`."""

    foreign: list[str]
    private: list[str]


class Wrapped(TypedDict):
    """The package that a tool will wrap."""

    requirement: str
    label: str
    """Name and version of the package; for the user's own code, also its hash."""
    module: str
    """The module to import."""
    offers: str
    """The functions and classes that fit the task best."""


class State(TypedDict, total=False):
    """The state of a run. Models, folders and other collaborators are in the context."""

    question: str
    said: list[str]
    """The user's own words: the message and the questions before it. The `question` may be a model's restatement."""
    files: list[str]
    offered: list[str]
    """Names of the tools that had their own function in earlier turns."""
    remarks: list[str]
    """Notes about changes since the last turn (missing or changed files, lost variables), and about the file of a long
    message."""
    purpose: Purpose
    around: str
    """The package to wrap, as a requirement; missing without one."""
    wraps: Wrapped
    """The package to wrap, after it was inspected."""
    schema: dict[str, Json]
    """JSON Schema of the answer; missing if the answer is text."""
    rules: str
    """A benchmark's rules for the form of the answer; missing without rules."""
    earlier: str
    """An earlier program for the same question with other values; missing without one."""
    attached: list[AttachedFile]
    """The question's files after inspection, and files inside archives."""
    folder: GrantedFolder
    """The user's folder that programs may read; missing without a grant."""
    without: list[str]
    """Actions that are not possible in this run."""
    agent: str
    """The specialist that answers; empty for a specialist without a kind, missing for the coordinator."""
    most_turns: int
    """Step limit of a handed-over question; missing for the run's own question."""
    known: KnownTexts
    """Texts known to the run that handed the question over; missing for the run's own question."""
    tools: list[ToolRef]
    """The tools that may fit the question."""
    brief: dict[str, Any]
    """The planner's brief, with the ids of its gap records; missing if none fit."""
    plans: Annotated[list[NewPlan], operator.add]
    interjections: Annotated[list[Interjection], operator.add]
    decision: Decision
    closing: bool
    """True if the last turn is the answer, which does not count as a step."""
    turns: int
    """Number of decisions. Each counts as one step against the limit, even if it has several actions."""
    pending: list[Decision]
    """Remaining decisions of the current turn."""
    replies: Annotated[list[Reply], operator.add]
    steps: Annotated[list[Step], operator.add]
    created: Annotated[list[str], operator.add]
    used: Annotated[list[str], operator.add]
    program: str
    """The program that printed the last step's result, if it may become a tool."""
    sources: Annotated[list[CitedSource], merged]
    """Web sources found so far."""
    links: Annotated[dict[str, str], operator.or_]
    """Addresses of the links on pages that were read, by their numbers in the run."""
    quality: dict[str, Any]
    """Quality of the answer; see `agent.answering.quality`."""
    again: bool
    """True right after a doubtful answer went back for another attempt; missing before that."""
    cited: list[dict[str, Json]]
    """The sources of the answer, as JSON."""
    limit: str | None
    """The limit that ended the run."""
    text: str
    """The answer's text."""
    status: str


@dataclass(frozen=True, slots=True)
class Decision:
    """The coordinator's choice of the next action."""

    action: ActionName
    why: str = ""
    tool: str = ""
    """The tool to use, for `use_tool`."""
    arguments: dict[str, Json] = field(default_factory=dict)
    answer: str = ""
    """The answer's text, for `answer`."""
    file: str = ""
    """The source for `read_file`: a file (by default, the next unread one), or a page by its address or as
    `link 17`."""
    page: int = 1
    """The page to read."""
    find: str = ""
    """Words to look for in the source, instead of reading a page."""
    query: str = ""
    """The query of `search`, by default the question; or the question of `ask`."""
    source: str = ""
    """The engine to search, `wikipedia` or `arxiv`; empty for the web."""
    agent: str = ""
    """The specialist to ask, for `ask`."""
    url: str = ""
    """The browser's first address, for `browse`."""
    task: str = ""
    """The browser's task; by default the question."""
    code: str = ""
    """The program, or the module of the tool, if the deciding model wrote it."""
    objection: str = ""
    """Why a test that an earlier version of the tool failed is wrong."""
    ending: Ending = LOOK
    call: str = ""
    """Id of the model's function call."""

    @property
    def input(self) -> str:
        """The action's input in short. Steps with equal inputs are repetitions."""
        if self.action == "use_tool":
            return call_text(self.tool, dict(sorted(self.arguments.items())))
        if self.code:
            return " ".join(filter(None, [self.action, self.code, self.objection]))
        if self.action == "read_file" and self.file:
            where = f" find {self.find!r}" if self.find else ""
            return f"read_file {self.file}{where}" + (f" page {self.page}" if self.page > 1 else "")
        if self.action == "search" and self.query:
            return f"search {self.source} for {self.query}" if self.source else f"search {self.query}"
        if self.action == "ask":
            return " ".join(filter(None, ["ask", self.agent, self.query]))
        if self.action == "browse" and (self.url or self.task):
            return " ".join(part for part in ("browse", self.url, self.task) if part)
        return call_text(self.action, dict(sorted(self.arguments.items()))) if self.arguments else self.action
