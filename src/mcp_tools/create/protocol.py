"""What creating a tool needs from outside, and what it gives back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from mcp_tools.checks.protocol import Report
from mcp_tools.packages import imported
from mcp_tools.sandbox.protocol import Job, Limits, Outcome
from mcp_tools.tool import Capabilities, Json, Tool, ToolSpec

Part = Literal["writer", "examiner"]
"""Who is asked: the writer sees the question and writes code, the examiner sees only the spec."""


class Writer(Protocol):
    """A model, as far as creating a tool needs one."""

    @property
    def name(self) -> str:
        """The model's name, for the provenance."""
        ...

    async def fill(self, messages: Sequence[dict[str, Any]], schema: dict[str, Json], *, part: Part) -> Json:
        """A JSON value that fits the schema."""
        ...

    async def write(
        self, messages: Sequence[dict[str, Any]], *, part: Part, count: int, temperature: float, seed: int
    ) -> list[str]:
        """`count` independent texts."""
        ...


class Shelf(Protocol):
    """The library, as far as creating a tool needs it."""

    async def search(self, query: str, limit: int) -> list[Tool]:
        """The tools that fit a query best, best first."""
        ...

    async def register(self, tool: Tool) -> Tool:
        """Keeps a tool; the result has the name and the version it got."""
        ...


@dataclass(frozen=True, slots=True)
class Request:
    """What a tool is wanted for."""

    question: str
    evidence: str = ""
    """What earlier steps found, as marked data; empty when the question stands alone."""
    files: tuple[Path, ...] = ()
    """Each becomes a parameter of the tool, which gets its path."""
    data: tuple[Path, ...] = ()
    """What was made of the files for programs, which they may read too."""
    run_id: str = ""
    capabilities: Capabilities = field(default_factory=Capabilities)

    def job(self, source: str, entry: str | None, arguments: dict[str, Json], limits: Limits) -> Job:
        """One call of a candidate, which may read the files and import what it names of the packages."""
        packages = imported(source, self.capabilities.packages)
        return Job(source, entry, arguments, read=(*self.files, *self.data), packages=packages, limits=limits)


@dataclass(frozen=True, slots=True)
class Test:
    """Arguments and the result they must give, and who says so."""

    __test__ = False

    arguments: dict[str, Json]
    expected: Json
    origin: Literal["examiner", "agreement", "docstring"]
    """`examiner`: written from the spec alone. `agreement`: independent candidates gave the same. `docstring`: the
    writer's own example."""
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


@dataclass(frozen=True, slots=True)
class Candidate:
    """One attempt at the code, with what became of it."""

    number: int
    source: str
    report: Report
    outcomes: tuple[Outcome, ...] = ()
    """One for each argument set of the trial; empty when the checks failed."""

    @property
    def answered(self) -> bool:
        """Whether it gave a value for the question's own arguments."""
        return bool(self.outcomes) and self.outcomes[0].ok


@dataclass(frozen=True, slots=True)
class Program:
    """A whole program for the question, and what it printed."""

    source: str
    printed: tuple[str, ...]
    """The answer, then what it prints with the values of the other argument sets; empty where it failed."""

    @property
    def answer(self) -> str:
        """What it printed for the question itself."""
        return self.printed[0]


@dataclass(frozen=True, slots=True)
class Creation:
    """How the attempt to create a tool ended."""

    spec: ToolSpec
    arguments: dict[str, Json]
    """The arguments of the present question."""
    tool: Tool | None
    """The registered tool; None when none was good enough to keep."""
    choice: Literal["reuse", "create", "scratch"]
    """`scratch`: a program answered the question, and was not kept."""
    value: Json = None
    """The result for the present question."""
    reason: str = ""
    """Why nothing was kept, or why it is believed."""
    rejected: tuple[str, ...] = ()
    """Tools of the library that were looked at and do not fit, each with its reason."""
    candidates: int = 0
    answered: bool = True
    """Whether there is a result, whatever it is."""


class Watcher(Protocol):
    """Is told what happens while a tool is created."""

    def spec_written(self, spec: ToolSpec, arguments: dict[str, Json]) -> None:
        """The spec is written; no code yet."""
        ...

    def candidate_checked(self, candidate: Candidate) -> None:
        """A candidate went through the checks."""
        ...

    def trial_finished(self, candidate: Candidate) -> None:
        """A candidate ran in the sandbox on every argument set."""
        ...

    def note(self, text: str) -> None:
        """Anything else worth a line."""
        ...
