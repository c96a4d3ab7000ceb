"""Whether a tool may be served to MCP clients, and if not, why."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_tools.errors import LibraryError
from mcp_tools.library import tool_files
from mcp_tools.library.approvals import Approval, Approvals, Found
from mcp_tools.library.commit import writing
from mcp_tools.library.current import CurrentIndex
from mcp_tools.library.tool_files import Flaw
from mcp_tools.tool import Status, Tool

if TYPE_CHECKING:
    from mcp_tools.definition import Flag


_MOST_CACHED = 4096


class Standing:
    """The tools of one folder by name.

    Args:
        folder: Where the tools are; it need not exist.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._cache: dict[str, tuple[str, Tool]] = {}

    def of(self, name: str) -> Tool | Flaw | None:
        """A tool, what is wrong with its files, or nothing."""
        return self.stamped(name)[1]

    def stamped(self, name: str, *, keep: bool = True) -> tuple[str, Tool | Flaw | None]:
        """What stands under a name, and the stamp of its files; empty when they changed while they were read.

        A pass over a large library keeps no tool: they would be most of a server's memory.
        """
        stamp = tool_files.stamp(self._folder, name)
        cached = self._cache.get(name)
        if cached and cached[0] == stamp:
            return stamp, cached[1]
        found = self.read(name)
        if not isinstance(found, Tool) or stamp != tool_files.stamp(self._folder, name):
            return "", found
        if keep:
            if len(self._cache) >= _MOST_CACHED:
                self._cache.clear()
            self._cache[name] = (stamp, found)
        return stamp, found

    def read(self, name: str) -> Tool | Flaw | None:
        """Reads a tool. What looks half-written is read again under the lock, when no write is under way."""
        found = tool_files.read_tool(self._folder, name)
        if isinstance(found, Flaw) and found.kind in {"changed", "incomplete"}:
            with contextlib.suppress(LibraryError), writing(self._folder):
                found = tool_files.read_tool(self._folder, name)
        return found


SERVED = (Status.VERIFIED, Status.TRUSTED)


@dataclass(frozen=True, slots=True)
class Withheld:
    """A tool that clients do not get."""

    name: str
    reason: str
    """What is wrong, for people."""
    remedy: str
    """What to do, if possible the command."""
    is_approvable: bool = True
    """Whether somebody may approve it, once it is as it should be; a tool that was retired is not for that."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What can be said of a tool without knowing what was approved."""

    status: Status
    errors: tuple[Flag, ...]
    """What of its definition must not be served."""
    approval: Approval | None
    """The hashes that must have been approved; None when its definition has errors."""


def judged(tool: Tool) -> Verdict:
    """What of a tool does not change while its files stay."""
    errors = errors_of(tool)
    return Verdict(tool.status, errors, None if errors else Approval.of(tool))


def errors_of(tool: Tool) -> tuple[Flag, ...]:
    """What of a tool's definition must not be served."""
    from mcp_tools.definition import definition_of, lint, surely_sound

    definition = definition_of(tool)
    return () if surely_sound(definition) else tuple(lint(definition, warnings=False))


def objection(name: str, verdict: Verdict, found: Found) -> Withheld | None:
    """Why a tool is not served; None when nothing speaks against it."""
    if verdict.status not in SERVED:
        remedy = f"ask for it anew, or remove it: alita tools delete {name}"
        return Withheld(name, f"it is {verdict.status}", remedy, is_approvable=False)
    if verdict.approval is None:
        first, *others = verdict.errors
        more = f" (and {len(others)} more)" if others else ""
        return Withheld(
            name,
            f"its definition breaks the rule {first.rule}: {first.where}: {first.message}{more}",
            f"correct {name}.json and {name}.py, then: alita tools approve {name}",
        )
    if found.damage:
        return Withheld(name, f"nothing counts as approved: {found.damage}", "alita tools approve --all")
    approved = found.by_name.get(name)
    if approved is None:
        return Withheld(name, "it was never approved here", f"alita tools approve {name} (or --all)")
    if changed := approved.differences(verdict.approval):
        reason = f"its {' and '.join(changed)} changed since it was approved on {approved.approved[:10]}"
        return Withheld(name, reason, f"alita tools approve {name}")
    return None


def flawed(flaw: Flaw) -> Withheld:
    """A flaw as the reason why nothing is served under its name."""
    return Withheld(flaw.name, flaw.message, flaw.remedy)


_MOST_KEPT = 2000
"""A pass over more tools than these keeps none of them: they would be most of a server's memory."""


class Served:
    """The served side of one library.

    Args:
        approvals: What was approved.
        index: The names and the flaws.
        standing: The tools.
    """

    def __init__(self, approvals: Approvals, index: CurrentIndex, standing: Standing) -> None:
        self._approvals = approvals
        self._index = index
        self._standing = standing
        self._verdicts: dict[str, tuple[str, Verdict]] = {}

    def each(self) -> Iterator[Tool]:
        """The tools that clients get, one after the other: a large library need not be in memory at once."""
        found = self._approvals.read()
        for name, stamp, standing in self._all():
            if isinstance(standing, Tool) and objection(name, self._verdict(standing, stamp), found) is None:
                yield standing

    def believed(self, tool: Tool, stamp: str) -> Tool:
        """The tool as far as it may be believed: a draft, whatever its file claims, until it is approved here.

        Args:
            tool: The tool as its files have it.
            stamp: The stamp of its files before and after they were read; empty if they changed meanwhile.
        """
        if tool.status not in SERVED or not objection(tool.name, self._verdict(tool, stamp), self._approvals.read()):
            return tool
        return replace(tool, status=Status.DRAFT)

    def withheld(self) -> list[Withheld]:
        """Everything in the folder that clients do not get, by name, with the reason and the remedy."""
        found = self._approvals.read()
        all_withheld = {flaw.name: flawed(flaw) for flaw in self._index.asked(lambda index: index.flaws())}
        for name, stamp, standing in self._all():
            if isinstance(standing, Flaw):  # edited in place since it was indexed
                all_withheld[name] = flawed(standing)
            elif standing and (withheld := objection(name, self._verdict(standing, stamp), found)):
                all_withheld[name] = withheld
        return [all_withheld[name] for name in sorted(all_withheld)]

    def _all(self) -> Iterator[tuple[str, str, Tool | Flaw | None]]:
        """Every name, the stamp of its files, and what stands there."""
        names = self._index.names()
        for name in names:
            yield name, *self._standing.stamped(name, keep=len(names) <= _MOST_KEPT)

    def _verdict(self, tool: Tool, stamp: str) -> Verdict:
        """The verdict on a tool whose files had that stamp before and after they were read; empty if they had not."""
        known = self._verdicts.get(tool.name)
        if known is not None and stamp and known[0] == stamp:
            return known[1]
        verdict = judged(tool)
        if stamp:
            self._verdicts[tool.name] = (stamp, verdict)
        return verdict
