"""Which tools of a library clients get, and why not the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mcp_tools.library.approvals import Approvals
from mcp_tools.library.current import CurrentIndex
from mcp_tools.library.files import Flaw
from mcp_tools.library.standing import Standing
from mcp_tools.library.trust import SERVED, Verdict, Withheld, flawed, judged, objection
from mcp_tools.tool import Status, Tool

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
