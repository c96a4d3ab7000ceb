"""The interfaces that creating a tool needs from its caller, and its results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from mcp_tools.checks.check import Report
from mcp_tools.errors import LibraryError
from mcp_tools.packages import imported
from mcp_tools.sandbox.protocol import Job, Limits, Outcome
from mcp_tools.tool import Capabilities, Json, Tool, ToolSpec


class RefusedToolError(LibraryError):
    """A proved tool is not kept because someone, or a setting, said so."""


class Shelf(Protocol):
    """The library, as far as creating a tool needs it."""

    async def search(self, query: str, limit: int) -> list[Tool]:
        """The tools that fit a query best, best first."""

    async def register(self, tool: Tool) -> Tool:
        """Keeps a tool; the result has the name and the version it got.

        Raises:
            RefusedToolError: It is not to be kept.
        """


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
    """What was made of the files for programs, which may be read too."""
    run_id: str = ""
    model: str = ""
    """Who wrote the code, for the provenance."""
    capabilities: Capabilities = field(default_factory=Capabilities)

    def job(self, source: str, entry: str, arguments: dict[str, Json], limits: Limits) -> Job:
        """A call of some code, which may read the files and import what it names of the packages."""
        packages = imported(source, self.capabilities.packages)
        return Job(source, entry, arguments, read=(*self.files, *self.data), packages=packages, limits=limits)


@dataclass(frozen=True, slots=True)
class Test:
    """Arguments and the result they must give, and who says so."""

    __test__ = False

    arguments: dict[str, Json]
    expected: Json
    origin: Literal["examiner", "agreement", "docstring"]
    """`examiner`: written from the definition alone. `agreement`: another implementation gave the same. `docstring`:
    the writer's own example."""
    raises: bool = False
    """Whether such arguments must be refused with an error; then nothing is expected."""
    because: str = ""
    """The words of the spec on which it rests."""
    files: dict[str, str] = field(default_factory=dict)
    """Texts of files by their names, which are arguments in place of paths."""

    def as_json(self) -> dict[str, Json]:
        """The form in which a tool keeps it."""
        kept: dict[str, Json] = {"arguments": self.arguments, "expected": self.expected, "origin": self.origin}
        others: dict[str, Json] = {"raises": self.raises, "because": self.because, "files": self.files}
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

    async def look_again(
        self, definition: str, tool: Tool, disputed: Sequence[Test], objection: str
    ) -> list[Test | None]:
        """What the definition promises for calls on which code and test disagree, in their order.

        Returns:
            For each the test as it is now; None where the definition leaves the result open.
        """


CreationChoice = Literal["reuse", "create", "scratch", "one_off", "refused"]
"""`scratch`: a program answered the question, and was not kept. `one_off`: nor should it be. `refused`: nor may it."""


@dataclass(frozen=True, slots=True)
class Creation:
    """How the attempt to create a tool ended."""

    arguments: dict[str, Json]
    """The arguments of the present question."""
    tool: Tool | None
    """The registered tool; None when none was good enough to keep."""
    choice: CreationChoice
    value: Json = None
    """The result for the present question."""
    reason: str = ""
    """Why nothing was kept, or why it is believed."""
    rejected: tuple[str, ...] = ()
    """Tools of the library that were looked at and do not fit, each with its reason."""
    answered: bool = True
    """Whether there is a result, whatever it is."""
    seconds: float = 0.0
    """How long the call with these arguments took."""


News = ToolSpec | Report | Outcome | str
"""What happens while a tool is created: the spec that was read, how the checks went, what the question's own call
gave, and anything else worth a line."""
Tell = Callable[[News], None]
