"""Telling the operator, on stderr, what of the library clients do not get, and why."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from mcp_tools.serving.catalogue import Catalogue
from mcp_tools.text import one_line

_MOST_TOLD = 5
_WIDTH = 300


class Report:
    """Says what is withheld and what is hidden behind a constant tool, each time that it changes.

    Args:
        catalogue: What is offered.
        tell: Gets one line at a time.
    """

    def __init__(self, catalogue: Catalogue, tell: Callable[[str], None]) -> None:
        self._catalogue = catalogue
        self._tell = tell
        self._told: list[str] = []
        self._seen = -1

    async def report(self) -> None:
        """Tells what is new since the last report. Cheap when the catalogue was not read anew."""
        if self._seen == self._catalogue.readings:
            return
        self._seen = self._catalogue.readings
        lines = await asyncio.to_thread(self._lines)
        for line in lines:
            if line not in self._told:
                self._tell(one_line(line, _WIDTH))
        self._told = lines

    def _lines(self) -> list[str]:
        withheld = self._catalogue.library.withheld()
        lines = [f"{one.name} is not served: {one.reason}; {one.remedy}" for one in withheld[:_MOST_TOLD]]
        if len(withheld) > _MOST_TOLD:
            lines.append(f"{len(withheld) - _MOST_TOLD} more tools are not served; alita tools list tells why")
        lines += [f"{name} is a tool of the server: call_tool reaches yours" for name in self._catalogue.shadowed]
        return lines
