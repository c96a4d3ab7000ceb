"""Stand-ins for the tests of creation: a scripted writer, a watcher that remembers, a library as a shelf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mcp_tools.create.protocol import Candidate, Part
from mcp_tools.library import Library
from mcp_tools.prompt import load_prompt
from mcp_tools.sandbox.protocol import Isolation, Level, Outcome, Problem
from mcp_tools.tool import Json, Tool, ToolSpec

NOWHERE = Isolation(Level.STRONG, "test")


def value(of: Json) -> Outcome:
    """A call that gave a value."""
    return Outcome(True, NOWHERE, of)


def failure(message: str, kind: Any = "exception") -> Outcome:
    """A call that failed."""
    return Outcome(False, NOWHERE, problem=Problem(kind, message))


@dataclass
class ScriptedWriter:
    """Gives the next spec, code or program each time it is asked, the last spec again and again."""

    specs: Sequence[Any]
    tests: Sequence[Any] = ()
    codes: list[Any] = field(default_factory=list)
    """Texts, or errors to raise."""
    programs: list[str] = field(default_factory=list)
    name: str = "scripted"
    asked: list[tuple[str, str]] = field(default_factory=list)
    """Who was asked, and the last message."""

    async def fill(self, messages: Sequence[dict[str, Any]], schema: dict[str, Json], *, part: Part) -> Json:
        self.asked.append((part, messages[-1]["content"]))
        if part == "examiner":
            return list(self.tests)
        number = sum(1 for who, _ in self.asked if who == "writer")
        return self.specs[min(number, len(self.specs)) - 1]

    async def write(
        self, messages: Sequence[dict[str, Any]], *, part: Part, count: int, temperature: float, seed: int
    ) -> list[str]:
        whole = [load_prompt("mcp_tools.create.small", name).turns[0][1] for name in ("program", "plain_program")]
        is_program = messages[0]["content"] in whole
        last = "\n".join(message["content"] for message in messages[-2:] if message["role"] != "system")
        self.asked.append(("program" if is_program else "code", last))
        texts = self.programs if is_program else self.codes
        taken = [texts.pop(0) if texts else "no idea" for _ in range(count)]
        for text in taken:
            if isinstance(text, Exception):
                raise text
        return taken

    def times(self, who: str) -> int:
        """How often somebody was asked."""
        return [asked for asked, _ in self.asked].count(who)


@dataclass
class Memory:
    """A watcher that remembers."""

    specs: list[ToolSpec] = field(default_factory=list)
    checked: list[Candidate] = field(default_factory=list)
    tried: list[Candidate] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def spec_written(self, spec: ToolSpec, arguments: dict[str, Json]) -> None:
        self.specs.append(spec)

    def candidate_checked(self, candidate: Candidate) -> None:
        self.checked.append(candidate)

    def trial_finished(self, candidate: Candidate) -> None:
        self.tried.append(candidate)

    def note(self, text: str) -> None:
        self.notes.append(text)


@dataclass
class LibraryShelf:
    """A library as creation sees it."""

    library: Library

    async def search(self, query: str, limit: int) -> list[Tool]:
        return [hit.tool for hit in self.library.search(query, limit=limit)]

    async def register(self, tool: Tool) -> Tool:
        return self.library.register(tool)
