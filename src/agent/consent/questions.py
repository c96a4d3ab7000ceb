"""Questions to the user, and the reply: may a tool be kept, a call be made, a package be installed?"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent.consent.user_paths import MAX_PATH
from mcp_tools.tool import Json

ApprovalMode = Literal["ask", "auto", "never"]
"""`ask`: someone decides. `auto`: what is proved is kept. `never`: nothing is kept."""


Scope = Literal["once", "always", "folder"]
"""The duration of a permission; see `UserReply.scope`."""


@dataclass(frozen=True, slots=True)
class ToolToApprove:
    """A proved tool that would be kept."""

    name: str
    signature: str
    """`nth_fibonacci(n: int) -> int`."""
    purpose: str
    source: str
    checks: tuple[str, ...]
    """Results of the checks, the trial and the proof, one line each."""
    tests: tuple[str, ...] = ()
    """Each test with its result."""


@dataclass(frozen=True, slots=True)
class CallProposal:
    """A call of an external tool, or another action, that someone has to allow."""

    name: str
    arguments: dict[str, Json]
    reason: str
    definition: str = ""
    """The server's present description of the tool, if it has changed."""
    is_doubtful: bool = False
    """True if it would be refused without asking, because it may come from foreign text alone."""
    tool: str = ""
    """The external tool, if the user may allow it permanently for this reason."""
    paths: tuple[str, ...] = ()
    """The paths that nobody named, if they are the reason."""

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders of these paths, if the user may allow them permanently."""
        try:
            places = [Path(path).expanduser() for path in self.paths if len(path) <= MAX_PATH]
            if len(places) < len(self.paths) or not all(place.is_absolute() for place in places):
                return ()
            found = [Path(os.path.realpath(place)) for place in places]
            folders = {str(path if path.is_dir() else path.parent) for path in found}
        except (OSError, RuntimeError, ValueError):  # no name of a file, or no user of that name
            return ()
        return () if "/" in folders else tuple(sorted(folders))


@dataclass(frozen=True, slots=True)
class PackagesToInstall:
    """Packages that a program or a tool needs and the user has not allowed yet."""

    wanted: tuple[str, ...]
    """As the code names them: `scipy>=1.11`."""
    releases: tuple[str, ...]
    """Each package that is new, with its version: those that are wanted, and what they pull in. None before the index
    is asked, which it is of unknown names only if the user agrees."""
    unknown: tuple[str, ...]
    """The names that are not among the most used packages."""
    size: int
    """Bytes to fetch, at most."""


@dataclass(frozen=True, slots=True)
class UserReply:
    """The reply of the user who is asked."""

    allowed: bool
    reason: str = ""
    """Why not, for the model."""
    scope: Scope = "once"
    """`always`: this call's tool, or every further tool that is proved. `folder`: the folders of the call's paths."""
