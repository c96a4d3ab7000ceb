"""The types of tool creation: proposals, tests and results, and the interfaces that a caller provides."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from mcp_tools.checks.check import CheckReport
from mcp_tools.create.result_part import part_of, with_call
from mcp_tools.errors import LibraryError
from mcp_tools.library.dependencies import Needs
from mcp_tools.library.reader import Offer
from mcp_tools.sandbox.protocol import Outcome
from mcp_tools.text import one_line
from mcp_tools.tool import Capabilities, Json, Tool, ToolSpec, call_text

_MAX_TEST_CHARS = 400
"""Maximum length of a test that is shown to people."""


class RefusedToolError(LibraryError):
    """The user or a setting decided against keeping a proved tool."""


class ToolStore(Protocol):
    """The part of the library that creating a tool needs. See `mcp_tools.library.library.Library`."""

    async def offered(self, question: str, *, most: int, small: int) -> Offer:
        """Return up to `most` tools that fit a text, and others: all others if the library has up to `small` tools."""

    async def get(self, name: str) -> Tool:
        """Return a tool by name.

        Raises:
            UnknownToolError: There is no tool of this name.
            LibraryError: Its files are damaged.
        """

    async def register(self, tool: Tool, *, replaces: Tool | None = None, is_draft: bool = False) -> Tool:
        """Add a tool, or replace another one. It is approved unless it is a draft.

        Returns:
            The tool with its final name.

        Raises:
            RefusedToolError: The user or a setting decided against keeping it.
            LibraryError: The tool cannot be written, or the tool to replace has changed since it was read.
        """

    async def merge(self, tool: Tool, name: str) -> Tool:
        """Add an alias to a tool; return the changed tool."""


@dataclass(frozen=True, slots=True)
class Wrapping:
    """The package that a new tool must wrap."""

    requirement: str
    """The requirement that the tool declares, such as `roman==1.2`."""
    label: str
    """Name and version for people, with a hash if it is the user's own code."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Code that answers a question and may become a tool for similar questions."""

    question: str
    code: str
    """The whole source file, with one public function."""
    arguments: dict[str, Json]
    """The arguments that answer the question. A null argument is left out, unless the schema allows null."""
    name: str = ""
    """The function that becomes the tool; empty for the only public function."""
    objection: str = ""
    """The author's reason why a test that an earlier proposal failed is wrong. The examiner decides."""
    final: str = "{}"
    """The answer, with a format field for the result; empty if the result is not the answer itself."""
    files: tuple[Path, ...] = ()
    data: tuple[Path, ...] = ()
    """Files with content extracted from `files`. The code may also read these files."""
    write: Path | None = None
    """Folder for the files that the question's own call writes for the user."""
    attempt: int = 0
    """Number of the author's proposal for the question, from 1; 0 if no further attempt will follow."""
    run_id: str = ""
    model: str = ""
    """The author, for the provenance."""
    capabilities: Capabilities = field(default_factory=Capabilities)
    needs: Needs = field(default_factory=Needs)
    """The tools that the code imports, as its capabilities declare them."""
    wraps: Wrapping | None = None
    """The package that the code must import."""
    compared: tuple[TrialCall, ...] = ()
    """Calls that show the author's purpose. An existing tool counts as equal only if it gives the same results."""
    mends: bool = True
    """True if new code under a tool's name replaces the tool even if no result differs."""


@dataclass(frozen=True, slots=True)
class TrialCall:
    """A call of a proposed tool."""

    arguments: dict[str, Json]
    files: dict[str, str] = field(default_factory=dict)
    """Text of each file that the call may open, by name. The arguments use these names as paths."""

    @property
    def key(self) -> str:
        """A text that is equal for equal calls. Key order inside a dictionary matters, since code may depend on it."""
        return json.dumps([sorted(self.arguments.items()), sorted(self.files.items())])


Origin = Literal["examiner", "agreement", "reference", "docstring", "promise", "recorded", "client"]


@dataclass(frozen=True, slots=True)
class Test:
    """A call and the result it must give, with the origin of this claim."""

    __test__ = False

    arguments: dict[str, Json]
    expected: Json
    origin: Origin
    """`examiner`: written from the definition alone. `agreement`: another implementation gave the same result.
    `reference`: the examiner's slow version gave it. `docstring`: an example by the author. `promise`: a format that
    the docstring promises. `recorded`: the result for recorded responses. `client`: a test by the MCP client that
    wrote the code."""
    raises: bool = False
    """True if the call must raise an error. `expected` is then None."""
    because: str = ""
    """The sentence of the docstring that supports the result."""
    files: dict[str, str] = field(default_factory=dict)
    """Files of the call; see `TrialCall`."""
    part: str = ""
    """The tested part of the result, such as `result["rate"]`; empty for the whole result."""
    error: str = ""
    """The exception class that must be raised; empty if any will do."""

    @classmethod
    def from_json(cls, kept: dict[str, Json]) -> Test:
        """Read a test from a tool's JSON file."""
        texts = {name: str(kept.get(name) or "") for name in ("because", "part", "error")}
        files = kept.get("files")
        return cls(
            kept["arguments"],
            kept.get("expected"),
            kept.get("origin", "examiner"),
            raises=kept.get("raises") is True,
            files=files if isinstance(files, dict) else {},
            **texts,
        )

    @property
    def key(self) -> str:
        """A text that is equal for tests of the same call and the same part of its result."""
        return f"{self.call.key} {self.part}"

    def shown(self, name: str, *, longest: int | None = None) -> str:
        """Return the tested expression as Python code, with each argument cut to `longest` characters."""
        return with_call(self.part, call_text(name, self.arguments, longest=longest))

    def with_result(self, name: str) -> str:
        """Return the test on one line, such as `area(2, 3) → 6`."""
        result = f" raises {self.error or 'an error'}" if self.raises else f" → {self.expected!r}"
        return one_line(self.shown(name) + result, _MAX_TEST_CHARS)

    def given(self, value: Json) -> Json:
        """Return the tested part of a result.

        Raises:
            ValueError: The result has no such part.
        """
        return part_of(value, self.part)

    @property
    def call(self) -> TrialCall:
        """The call to make."""
        return TrialCall(self.arguments, self.files)

    def as_json(self) -> dict[str, Json]:
        """Return the test in the format of a tool's JSON file."""
        kept: dict[str, Json] = {"arguments": self.arguments, "expected": self.expected, "origin": self.origin}
        names = ("raises", "because", "files", "part", "error")
        others: dict[str, Json] = {name: getattr(self, name) for name in names}
        return kept | {name: value for name, value in others.items() if value}


class Examiner(Protocol):
    """Writes tests for a tool from its definition, without seeing the code."""

    @property
    def name(self) -> str:
        """The model's name, for the provenance."""

    async def tests(self, definition: str, tool: Tool, files: Sequence[Path] = ()) -> list[Test] | str:
        """Write tests: calls with the results that the definition promises.

        Args:
            definition: Types, signature and docstring.
            tool: The tool with its schemas.
            files: Files that the tool opens.

        Returns:
            The tests; or the reason why the tool would serve one question only.

        Raises:
            ModelFixableError: The model's reply cannot be used.
            StoppedError: The run was stopped, or its budget is spent.
        """

    def unread(self, definition: str) -> list[str]:
        """Return the text of those tests in the same reply that could not be parsed."""

    def reference(self, definition: str) -> str:
        """Return the code from the same reply, or an empty text. It must run in the sandbox only.

        It defines a slow and obvious version of the function under the same name; `draw(random)`, which returns random
        arguments; and perhaps `relations(arguments, result)`, which returns pairs of other arguments and the result
        that they must give.
        """

    async def reconsider(
        self, definition: str, tool: Tool, disputed: Sequence[Test], objection: str
    ) -> list[Test | None]:
        """Decide about tests that the code fails. The examiner sees the calls, but neither result.

        Returns:
            Each test with the result that the examiner now expects, in the same order; None if the definition leaves
            the result open.
        """


CreationChoice = Literal["reuse", "create", "draft", "not_kept", "one_off", "refused", "unexamined"]
"""`reuse`: the library has an equivalent tool. `create`: a new tool was kept. `draft`: the tests are weak, so a person
has to approve the tool. `not_kept`: the proof failed. `one_off`: the tool would serve one question only. `refused`: the
user or a setting decided against it. `unexamined`: the examiner did not answer."""


@dataclass(frozen=True, slots=True)
class Creation:
    """The result of proving a proposal."""

    arguments: dict[str, Json]
    """The arguments that answer the question."""
    tool: Tool | None
    """The registered or reused tool; None if no tool was kept."""
    choice: CreationChoice
    reason: str
    """The reasons for the choice. Each reason may be followed by lines for the author of the code."""
    outcome: Outcome | None = None
    """Outcome of the question's own call; None if the code cannot be parsed."""
    remark: str = ""
    """A sentence which says that the tool replaces an older one of the same name, or why it does not."""
    survivors: tuple[str, ...] = ()
    """Changed lines of some mutants that no test catches."""

    @property
    def headline(self) -> str:
        """The first line of each reason, without the details for the author of the code."""
        return "; ".join(line[2:] for line in self.reason.splitlines() if line.startswith("- "))

    @property
    def answered(self) -> bool:
        """True if the question's own call succeeded."""
        return self.outcome is not None and self.outcome.ok

    @property
    def value(self) -> Json:
        """Result of the question's own call; None if it failed."""
        return self.outcome.value if self.outcome is not None else None


Progress = ToolSpec | CheckReport | Outcome | str
"""A step of tool creation: the spec, the report of the checks, the outcome of the question's own call, or a message."""
Notify = Callable[[Progress], None]
