"""The interfaces that creating a tool needs from its caller, and its results."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from mcp_tools.checks.check import Report
from mcp_tools.create.parts import part_of, with_call
from mcp_tools.errors import LibraryError
from mcp_tools.library.dependencies import Needs
from mcp_tools.library.library import Offer
from mcp_tools.sandbox.protocol import Outcome
from mcp_tools.text import one_line
from mcp_tools.tool import Capabilities, Json, Tool, ToolSpec, call_text

_LONGEST_SHOWN = 400
"""Characters of one test that people see."""


class RefusedToolError(LibraryError):
    """A proved tool is not kept because someone, or a setting, said so."""


class ToolStore(Protocol):
    """The library, as far as creating a tool needs it."""

    async def offered(self, question: str, *, most: int, small: int) -> Offer:
        """The tools that fit a text, and others: all of a small library, the nearest of a large one."""

    async def get(self, name: str) -> Tool:
        """The tool of a name.

        Raises:
            UnknownToolError, LibraryError: There is no intact tool of this name.
        """

    async def register(self, tool: Tool, *, replaces: Tool | None = None, is_draft: bool = False) -> Tool:
        """Keeps a tool, approved unless it is a draft, in the place of another if one is given.

        The result has the name and the version that it got.

        Raises:
            RefusedToolError: It is not to be kept.
            LibraryError: It cannot be kept, or the other one was changed in the meantime.
        """

    async def merge(self, tool: Tool, name: str) -> Tool:
        """Make a tool known by the name of an equivalent one; the result has that name."""


@dataclass(frozen=True, slots=True)
class Wrapping:
    """A package that a tool is to be made around."""

    requirement: str
    """The package as the tool declares it."""
    label: str
    """Its name and version; of the user's own code also its hash."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Code that is to answer a question and to be kept for others of its kind."""

    question: str
    code: str
    """The whole file: one public function, with what it needs."""
    arguments: dict[str, Json]
    """The arguments that answer the question. A null means that the argument is absent, unless null is a value."""
    name: str = ""
    """The function that is the tool; empty for the one public function."""
    objection: str = ""
    """Why a test that an earlier proposal failed is wrong. The examiner decides."""
    final: str = "{}"
    """The answer, with a format field for the result; empty where the result is only looked at."""
    files: tuple[Path, ...] = ()
    data: tuple[Path, ...] = ()
    """Extracted contents of the files, which may be read, too."""
    write: Path | None = None
    """Folder in which the call that answers the question leaves files for the user."""
    attempt: int = 0
    """Number of the author's proposal for the question; 0 if nobody can fix it."""
    run_id: str = ""
    model: str = ""
    """Who wrote the code, for the provenance."""
    capabilities: Capabilities = field(default_factory=Capabilities)
    needs: Needs = field(default_factory=Needs)
    """The tools that the code imports, as its capabilities declare them."""
    wraps: Wrapping | None = None
    """The package that the code must import."""
    compared: tuple[TrialCall, ...] = ()
    """Calls that show its author's purpose: a tool of the library that does the same gives their results, too."""
    mends: bool = True
    """True if other code under a tool's name replaces it even if no result differs."""


@dataclass(frozen=True, slots=True)
class TrialCall:
    """A call of a proposed tool."""

    arguments: dict[str, Json]
    files: dict[str, str] = field(default_factory=dict)
    """Texts of files by their names, which are arguments in place of paths."""

    @property
    def key(self) -> str:
        """Equal for equal calls. The order of names in a dict counts, since code may depend on it."""
        return json.dumps([sorted(self.arguments.items()), sorted(self.files.items())])


Origin = Literal["examiner", "agreement", "reference", "docstring", "promise", "recorded", "client"]


@dataclass(frozen=True, slots=True)
class Test:
    """Arguments and the result they must give, and who says so."""

    __test__ = False

    arguments: dict[str, Json]
    expected: Json
    origin: Origin
    """`examiner`: written from the definition alone. `agreement`: another implementation gave the same. `reference`:
    the examiner's slow version gave the same. `docstring`: the writer's own example. `promise`: a form that the
    docstring promises. `recorded`: the result that recorded responses of hosts gave. `client`: the MCP client
    that wrote the code says so."""
    raises: bool = False
    """True if such arguments must be refused with an error; then nothing is expected."""
    because: str = ""
    """The words of the spec on which it rests."""
    files: dict[str, str] = field(default_factory=dict)
    """Files of the call."""
    part: str = ""
    """The tested part of the result, such as `result["rate"]`; empty for the whole result."""
    error: str = ""
    """The class of the exception, if it has to be a certain one."""

    @classmethod
    def from_json(cls, kept: dict[str, Json]) -> Test:
        """A test as a tool keeps it."""
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
        """Equal for tests of the same."""
        return f"{self.call.key} {self.part}"

    def shown(self, name: str, *, longest: int | None = None) -> str:
        """Return the tested expression in Python, with each argument cut after `longest` characters."""
        return with_call(self.part, call_text(name, self.arguments, longest=longest))

    def with_result(self, name: str) -> str:
        """What is tested, and the result or the error that it must give, on one line."""
        came = f" raises {self.error or 'an error'}" if self.raises else f" → {self.expected!r}"
        return one_line(self.shown(name) + came, _LONGEST_SHOWN)

    def given(self, value: Json) -> Json:
        """The part of a result that is tested.

        Raises:
            ValueError: The result has no such part.
        """
        return part_of(value, self.part)

    @property
    def call(self) -> TrialCall:
        """The call with the tested result."""
        return TrialCall(self.arguments, self.files)

    def as_json(self) -> dict[str, Json]:
        """The form in which a tool keeps it."""
        kept: dict[str, Json] = {"arguments": self.arguments, "expected": self.expected, "origin": self.origin}
        names = ("raises", "because", "files", "part", "error")
        others: dict[str, Json] = {name: getattr(self, name) for name in names}
        return kept | {name: value for name, value in others.items() if value}


class Examiner(Protocol):
    """Someone other than the writer, who knows a tool by its definition alone."""

    @property
    def name(self) -> str:
        """The model's name, for the provenance."""

    async def tests(self, definition: str, tool: Tool, files: Sequence[Path] = ()) -> list[Test] | str:
        """Calls with the results that the definition promises; a text that says why, if it serves one question only.

        Args:
            definition: Types, signature and docstring.
            tool: Whose schemas the tests fit.
            files: Files that the tool opens.

        Raises:
            ModelFixableError: The model gave nothing usable.
            StoppedError: The run was ended, or its budget is spent.
        """

    def unread(self, definition: str) -> list[str]:
        """The tests that came as well, as they were written, and that are of no form that can be used."""

    def reference(self, definition: str) -> str:
        """Return the code that came with the tests, which runs only in the sandbox; empty if none came.

        It holds a slow and obvious version of the function under its name, `draw(random)`, which gives arguments for
        it, and perhaps `relations(arguments, result)`, which gives pairs of other arguments and their result.
        """

    async def reconsider(
        self, definition: str, tool: Tool, disputed: Sequence[Test], objection: str
    ) -> list[Test | None]:
        """Return the definition's results for calls on which code and test disagree, in their order.

        Returns:
            For each call, the test after the ruling; None where the definition leaves the result open.
        """


CreationChoice = Literal["reuse", "create", "draft", "not_kept", "one_off", "refused", "unexamined"]
"""Why no tool is kept: `not_kept`, it was not proved; `draft`, its tests are weak, and a person has to approve it;
`one_off`, it serves one question only; `unexamined`, the examiner could not be asked; `refused`, the user or a setting
says so."""


@dataclass(frozen=True, slots=True)
class Creation:
    """The outcome of an attempt to create a tool."""

    arguments: dict[str, Json]
    """The arguments of the present question."""
    tool: Tool | None
    """The registered tool; None when none was good enough to keep."""
    choice: CreationChoice
    reason: str
    """Why nothing was kept, or why the tool is believed."""
    outcome: Outcome | None = None
    """Outcome of the call with these arguments; None for code that cannot be read."""
    remark: str = ""
    """Says that a new tool replaces the one of its name, or why it does not."""
    survivors: tuple[str, ...] = ()
    """Some deliberate bugs of a kept tool that no test catches."""

    @property
    def headline(self) -> str:
        """The first line of each reason, without what only the author of the code needs."""
        return "; ".join(line[2:] for line in self.reason.splitlines() if line.startswith("- "))

    @property
    def answered(self) -> bool:
        """True if there is a result for the present question."""
        return self.outcome is not None and self.outcome.ok

    @property
    def value(self) -> Json:
        """This result."""
        return self.outcome.value if self.outcome is not None else None


News = ToolSpec | Report | Outcome | str
"""News about the creation of a tool: the spec, the checks, the outcome of the question's own call, and other
messages."""
Tell = Callable[[News], None]
