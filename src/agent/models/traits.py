"""What is learned of a model at an endpoint: the rungs of the ladders that hold, the parameters it refuses."""

from __future__ import annotations

import contextlib
import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from mcp_tools.atomic import private_folder, write_whole

Rung = Literal["schema", "tool", "text"]
RUNGS: tuple[Rung, ...] = ("schema", "tool", "text")
ToolRung = Literal["strict", "native", "schema", "text"]
TOOL_RUNGS: tuple[ToolRung, ...] = ("strict", "native", "schema", "text")

_KEPT_FOR = 30 * 24 * 3600.0
"""Seconds after which an endpoint is asked anew: endpoints learn."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What is known of one model at one endpoint."""

    rung: Rung | None = None
    """The rung of the structured-output ladder that holds; None before the first structured answer."""
    without: tuple[str, ...] = ()
    """Request parameters that the endpoint refuses for this model."""
    tools: ToolRung | None = None
    """The rung of the ladder of functions that holds; None before the first call of one."""
    is_blind: bool = False
    """Whether the endpoint refused pictures for this model."""


class TraitsCache:
    """Traits by endpoint and model, in memory and, if a file is given, in that file.

    Losing the file costs a few refused requests, so nothing here ever fails.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._known: dict[str, Traits] | None = None

    def get(self, url: str, model: str) -> Traits:
        """What is known; empty traits if nothing is."""
        if self._known is None:
            self._known = {key: traits for key, (traits, _) in self._read().items()}
        return self._known.get(f"{url} {model}", Traits())

    def set(self, url: str, model: str, traits: Traits) -> None:
        """Remembers it, and writes it down beside what other processes wrote meanwhile."""
        if traits == self.get(url, model):
            return
        assert self._known is not None
        self._known[f"{url} {model}"] = replace(traits)
        with contextlib.suppress(OSError):
            self._write(f"{url} {model}", traits)

    def _read(self) -> dict[str, tuple[Traits, float]]:
        if self._path is None:
            return {}
        try:
            entries = json.loads(self._path.read_text())
            return {
                key: (_traits(entry), float(entry["at"]))
                for key, entry in entries.items()
                if 0 <= time.time() - float(entry["at"]) < _KEPT_FOR
            }
        except (OSError, ValueError, TypeError, KeyError, AttributeError):
            return {}

    def _write(self, key: str, traits: Traits) -> None:
        if self._path is None:
            return
        entries = self._read() | {key: (traits, time.time())}
        private_folder(self._path.parent)
        told = {k: {**asdict(traits), "at": at} for k, (traits, at) in entries.items()}
        write_whole(self._path, json.dumps(told).encode())


def _traits(entry: dict[str, Any]) -> Traits:
    rung = next((rung for rung in RUNGS if rung == entry["rung"]), None)
    tools = next((rung for rung in TOOL_RUNGS if rung == entry.get("tools")), None)
    return Traits(rung, tuple(map(str, entry["without"])), tools, entry.get("is_blind") is True)
