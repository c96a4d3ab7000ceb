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
    """A tool that a run may call, as prompts and rules see it: from the library or from a connected server."""

    name: str
    description: str
    input_schema: dict[str, Any]
    server: str = ""
    """The connected server that has it; empty for the library."""
    returns: str | None = None
    is_read_only: bool = False
    asked: dict[str, Any] | None = None
    """The question that an approved tool was made for."""
    is_draft: bool = False
    """True if the user has not approved it: it may be called, and its description is data."""
    signature: str = ""
    """The line that shows it, if only programs can import it."""
    is_folded: bool = False
    """True if it has no function: `server_tool` shows its definition and calls it."""
    rank: int = 0
    """Its place among the external tools that fit the question, 0 for the best."""

    @property
    def is_external(self) -> bool:
        """True if a connected server has it."""
        return bool(self.server)

    @property
    def has_function(self) -> bool:
        """True if the model has a function for it."""
        return not self.is_folded and not self.signature


class Picture(TypedDict):
    """A picture that a model can be shown."""

    name: str
    """The run's name for it: a file, a page, a screen."""
    path: str
    """Path of the copy that is sent, with its content's hash as the name."""
    kind: str
    """Its media type."""
    bytes: int
    note: str
    """Details that the copy lacks; empty if it is complete."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Decides whether the result of a step ends the run as its answer, and in which form."""

    form: str = ""
    """The answer, with `{}` for the result; empty if the model wants to see the result first."""

    @property
    def ends_run(self) -> bool:
        """True if the result is the answer."""
        return bool(self.form)


LOOK = Ending()
RESULT = Ending("{}")


class Step(TypedDict):
    """One action of a run and its result."""

    number: int
    action: ActionName
    input: str
    """The action's input in short; a step repeats another one if action and input are equal."""
    ok: bool
    finding: str
    """The result for later steps, or the reason for having none."""
    value: Json
    """The result as JSON, when the step computed one."""
    plain: NotRequired[Json]
    """The exact result for `{:json}`, if `value` is a rounded or formatted one."""
    result: NotRequired[str]
    """The finding without the call that it repeats."""
    note: NotRequired[str]
    """alita's note about the finding, shown with it; it has no foreign text."""
    call: NotRequired[str]
    """The id of the model's function call that asked for it."""
    ending: Ending
    pictures: NotRequired[list[Picture]]
    """The pictures of the finding for the answering model."""
    outputs: NotRequired[list[dict[str, Any]]]
    """Files that its program wrote for the user: `name`, `path` and `size` in bytes."""
    is_private: NotRequired[bool]
    """True if the specialist read private data of the user."""


class Reply(TypedDict):
    """One reply of a model that calls functions."""

    message: dict[str, Any]
    """The message in Chat Completions form, for the conversation."""
    refused: dict[str, str]
    """Why a call was not carried out, by its id."""
    remark: str
    """A message to the model after it; empty if the observations are enough."""
    is_free: NotRequired[bool]
    """True if it counts against no limit of steps: a rule made it before the model was asked."""


class NewPlan(TypedDict):
    """A plan that was made during the run."""

    step: int
    """Number of steps before it."""
    replies: int
    """Number of the model's replies before it."""
    why: str
    known: list[str]
    to_find: list[str]
    plan: list[str]


class Interjection(TypedDict):
    """A message that the user sent while the run worked."""

    replies: int
    """Number of replies of the model before it."""
    text: str


class AttachedFile(TypedDict):
    """An attached file as inspected before the first decision, or a file inside an attached archive."""

    name: str
    path: str
    """Absolute; programs in the sandbox find it there, read-only."""
    kind: str
    """By content: `xlsx`, `pdf`, `csv`; empty if it cannot be read."""
    size: int
    """Bytes."""
    summary: str
    """Its structure, in a few lines."""
    beginning: str
    """Its first words, for rules."""
    parts: list[str]
    """Beginnings of its sheets, tables or texts, as prompts show them."""
    label: str
    """The shown share: `complete`, `rows 1–10 of 421`; empty if the parts say it."""
    headers: list[str]
    """The names and headers of its tables."""
    sections: int | None
    """Pages that can be read; None if they are not counted."""
    facts: dict[str, Json]
    lost: list[str]
    """Contents that reading does not show."""
    notes: NotRequired[list[str]]
    """Other facts about the reading; earlier versions recorded none."""
    data: list[str]
    """Paths of its extracted contents for programs: its text, a transcript, its members."""
    problem: str
    """Why it cannot be read; empty when it can."""
    given: NotRequired[str]
    """The user's own path of a file with the copy `path`."""
    since: NotRequired[int]
    """Number of the step that brought it; 0 for a file of an earlier turn; missing where it came with the question."""
    pictures: NotRequired[list[Picture]]
    """Its pictures for the answering model, with the question."""


class CitedSource(TypedDict):
    """A page of the web that evidence and answers cite."""

    number: int
    """From 1 on, the same through the whole run."""
    url: str
    title: str
    quotes: list[str]
    """Its unchanged quotations, best first."""


def merged(old: list[CitedSource], new: list[CitedSource]) -> list[CitedSource]:
    """Return the sources by number. A source keeps its earlier quotations."""
    by_number = {source["number"]: source for source in old}
    for source in new:
        before = by_number.get(source["number"])
        quotes = source["quotes"] + (before["quotes"] if before else [])
        by_number[source["number"]] = {**source, "quotes": list(dict.fromkeys(quotes))}
    return [by_number[number] for number in sorted(by_number)]


class GrantedFolder(TypedDict):
    """The user's folder."""

    path: str
    """Path for programs: the copy's, if there is one."""
    root: str
    """The user's own path."""
    writes: bool
    """True if it is a copy, which programs may change."""
    listing: str
    """Its first names with sizes; empty if an earlier turn has shown them."""


class KnownTexts(TypedDict):
    """Texts that the run knew when it handed the question over, by origin; see `agent.consent.rulings`."""

    foreign: list[str]
    private: list[str]


class Wrapped(TypedDict):
    """The package that a tool will wrap."""

    requirement: str
    label: str
    """Its name and version; of the user's own code also its hash."""
    module: str
    """The module to import."""
    offers: str
    """Its functions and classes that fit the task best."""


class State(TypedDict, total=False):
    """The state of a run. Models, folders and other collaborators are in the context."""

    question: str
    said: list[str]
    """The user's own words: the message, and the questions before it; the question may be restated by a model."""
    files: list[str]
    offered: list[str]
    """Names of the tools that had their own function in earlier turns."""
    remarks: list[str]
    """Changes since the last turn: missing or changed files, lost variables; and the file of a long message."""
    purpose: Purpose
    around: str
    """The package to wrap, as a requirement; missing without one."""
    wraps: Wrapped
    """The same, once it was read."""
    schema: dict[str, Json]
    """JSON Schema of the answer; missing for text."""
    rules: str
    """A benchmark's rules for the form of the answer; missing without rules."""
    earlier: str
    """An earlier program for the same question with other values; missing without one."""
    attached: list[AttachedFile]
    """The files of the question that were looked at, and those inside of archives."""
    folder: GrantedFolder
    """The user's folder that programs may read; missing without a grant."""
    without: list[str]
    """Actions that are not possible in this run."""
    agent: str
    """The specialist that answers; empty for a specialist without a kind, missing for the coordinator."""
    most_turns: int
    """The limit of steps of a handed-over question; missing for the run's own question."""
    known: KnownTexts
    """Missing unless the question was handed over."""
    tools: list[ToolRef]
    """The few tools that may fit."""
    brief: dict[str, Any]
    """The planner's brief, with the ids of its gap records; missing if none fit."""
    plans: Annotated[list[NewPlan], operator.add]
    interjections: Annotated[list[Interjection], operator.add]
    decision: Decision
    closing: bool
    """True if the last turn is the answer, which is no step."""
    turns: int
    """Number of decisions; each counts as one step against the limit, even with several actions."""
    pending: list[Decision]
    """Later decisions of the same turn."""
    replies: Annotated[list[Reply], operator.add]
    steps: Annotated[list[Step], operator.add]
    created: Annotated[list[str], operator.add]
    used: Annotated[list[str], operator.add]
    program: str
    """The program that printed the last step's result, if it may become a tool."""
    sources: Annotated[list[CitedSource], merged]
    """Web sources found so far."""
    links: Annotated[dict[str, str], operator.or_]
    """Addresses of the links of pages that were read, by the numbers that they have in the whole run."""
    quality: dict[str, Any]
    """Quality of the answer; see `agent.answering.quality`."""
    again: bool
    """True right after a doubtful answer was handed back; missing before that."""
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
    """The source to read, for `read_file`: a file, by default the next unread one; or a page, by address or as `link
    17`."""
    page: int = 1
    """The page to read."""
    find: str = ""
    """Words to look for in it instead."""
    query: str = ""
    """The query of `search`, by default the question; or the question of `ask`."""
    source: str = ""
    """The engine that is searched, `wikipedia` or `arxiv`; empty for the web."""
    agent: str = ""
    """Who is asked, for `ask`."""
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
    """The id of the model's function call."""

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
