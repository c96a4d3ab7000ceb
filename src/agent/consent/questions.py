"""Questions to the user about tools, calls and packages, and the user's reply."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from agent.consent.user_paths import MAX_PATH
from mcp_tools.tool import Json

ApprovalMode = Literal["ask", "auto", "never"]
"""Approval mode: `ask` the user, `auto` to allow automatically, or `never` to refuse."""
Scope = Literal["once", "always", "folder"]
"""Reach of a permission; see `UserReply.scope`."""


@dataclass(frozen=True, slots=True)
class ToolToApprove:
    """Question to the user: may this proved tool be kept?"""

    name: str
    signature: str
    """The tool's signature, such as `nth_fibonacci(n: int) -> int`."""
    purpose: str
    source: str
    checks: tuple[str, ...]
    """Results of the checks, the trial and the proof, one line each."""
    tests: tuple[str, ...] = ()
    """Each test with its result."""


@dataclass(frozen=True, slots=True)
class CallProposal:
    """Question to the user: may this external tool be called, or this action be carried out?"""

    name: str
    arguments: dict[str, Json]
    reason: str
    definition: str = ""
    """The server's current description of the tool, if it has changed."""
    is_doubtful: bool = False
    """True if untrusted text may have asked for it. If there is no user to ask, it is refused."""
    tool: str = ""
    """Name of the external tool, if the user may allow it permanently."""
    paths: tuple[str, ...] = ()
    """The paths that caused the question because the user did not name them."""

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders of these paths, if the user may allow them permanently. Never `/`."""
        try:
            places = [Path(path).expanduser() for path in self.paths if len(path) <= MAX_PATH]
            if len(places) < len(self.paths) or not all(place.is_absolute() for place in places):
                return ()
            found = [Path(os.path.realpath(place)) for place in places]
            folders = {str(path if path.is_dir() else path.parent) for path in found}
        except (OSError, RuntimeError, ValueError):  # not a valid file name, or `~name` without such a user
            return ()
        return () if "/" in folders else tuple(sorted(folders))


@dataclass(frozen=True, slots=True)
class PackagesToInstall:
    """Question to the user: may these packages be installed for a program or tool?"""

    wanted: tuple[str, ...]
    """The requirements, such as `scipy>=1.11`."""
    releases: tuple[str, ...]
    """Name and version of every new package, including dependencies. Empty before the lookup in the package index,
    since unknown names are looked up only after the user agrees."""
    unknown: tuple[str, ...]
    """The names that are not among the most popular packages."""
    size: int
    """Maximum download size in bytes."""


@dataclass(frozen=True, slots=True)
class UserReply:
    """The user's reply."""

    allowed: bool
    reason: str = ""
    """Reason for a refusal, which the model sees."""
    scope: Scope = "once"
    """`once`: only this time. `always`: this call's tool, or every new tool that is proved. `folder`: everything below
    the folders of the call's paths."""
