"""Hosts that tools and programs may reach: what the user allowed for good, and what is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field

from mcp_tools.errors import LibraryError, os_errors_as
from mcp_tools.hosts import READING
from mcp_tools.json_file import JsonFile

if TYPE_CHECKING:
    from agent.consent.consent import ApprovalMode, UserReply

FILE = "hosts.json"
NEW_TOOL = "the new tool"
"""In place of the name of a tool that is still being proved."""


@dataclass(frozen=True, slots=True)
class HostToReach:
    """A request to a declared host, of which the user has not allowed any yet."""

    tool: str
    """The tool's name; empty for a program of the run."""
    host: str
    method: str
    keys: tuple[str, ...] = ()
    """The stored keys that go along."""
    source: str = ""
    """The hash of the tool's source and of what it imports, if the user may allow it for good."""
    is_doubtful: bool = False
    """True if `auto` does not cover it: the tool is not approved, or foreign text may be what asks for it."""

    @property
    def is_writing(self) -> bool:
        """True if the method may change something there."""
        return self.method not in READING


class HostGrant(BaseModel):
    """A host that one version of a tool may reach from now on."""

    tool: str
    source: str
    host: str
    keys: tuple[str, ...] = ()
    writes: bool = False


class _Document(BaseModel):
    form: Literal[1] = Field(1, alias="schema")
    grants: list[HostGrant] = []


class HostGrants:
    """The hosts that the user allowed tools for good, in the data folder. A changed source is asked about again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def _file(self) -> JsonFile[_Document]:
        return JsonFile(self._folder / FILE, _Document, empty={"schema": 1})

    @property
    def all(self) -> list[HostGrant]:
        """All of them."""
        return self._file.remembered().grants

    def cover(self, asked: HostToReach) -> bool:
        """Return True if the user allowed such requests."""
        return bool(asked.source) and any(
            (one.tool, one.source, one.host) == (asked.tool, asked.source, asked.host)
            and {*asked.keys} <= {*one.keys}
            and (one.writes or not asked.is_writing)
            for one in self.all
        )

    def keep(self, grants: Sequence[HostGrant]) -> None:
        """Allow hosts from now on.

        Raises:
            LibraryError: The file cannot be written.
        """
        with os_errors_as(LibraryError, f"{self._file.path} cannot be written"), self._file.changing() as document:
            document.grants += [one for one in grants if one not in document.grants]

    def forget(self, tool: str) -> int:
        """Take back what a tool was allowed; return the number of hosts.

        Raises:
            LibraryError: The file cannot be written.
        """
        with os_errors_as(LibraryError, f"{self._file.path} cannot be written"), self._file.changing() as document:
            before = len(document.grants)
            document.grants = [one for one in document.grants if one.tool != tool]
            return before - len(document.grants)


Ask = Callable[[HostToReach], Awaitable["UserReply"]]


class HostConsent:
    """Decides about hosts: by setting, by what the user allowed for good, or by asking once.

    Args:
        mode: `auto` allows declared hosts. Keys, and what is doubtful, are asked about all the same.
        grants: The hosts that the user allowed for good.
        ask: Asks the user; None where nobody can be asked.
    """

    def __init__(self, mode: ApprovalMode, grants: HostGrants | None, ask: Ask | None) -> None:
        self._mode, self._grants, self._ask = mode, grants, ask
        self._replies: dict[tuple[object, ...], UserReply] = {}
        self._turn = asyncio.Lock()

    async def refusal(self, asked: HostToReach) -> str:
        """Why a host may not be reached; empty if it may be."""
        keys = f" with the key {', '.join(asked.keys)}" if asked.keys else ""
        why = f"{asked.method} {asked.host}{keys} is not allowed: "
        if self._mode == "never":
            return f"{why}the setting hosts is never"
        if self._grants is not None and await asyncio.to_thread(self._grants.cover, asked):
            return ""
        if self._mode == "auto" and not asked.keys and not asked.is_doubtful:
            return ""
        if self._ask is None:
            how = f"alita tools hosts {asked.tool} --allow" if asked.source else "ask on a terminal"
            return f"{why}nobody can be asked here; to allow it: {how}"
        key = (asked.tool, asked.source, asked.host, asked.keys, asked.is_writing)
        async with self._turn:  # threads that ask for the same host ask the user once
            if key not in self._replies:
                self._replies[key] = await self._reply(asked, self._ask)
        reply = self._replies[key]
        if not reply.allowed:
            return f"{why}the user does not allow it" + (f"; the user says: {reply.reason}" if reply.reason else "")
        return ""

    async def _reply(self, asked: HostToReach, ask: Ask) -> UserReply:
        reply = await ask(asked)
        if reply.allowed and reply.scope == "always" and asked.source and self._grants is not None:
            kept = HostGrant(
                tool=asked.tool, source=asked.source, host=asked.host, keys=asked.keys, writes=asked.is_writing
            )
            await asyncio.to_thread(self._grants.keep, [kept])
        return reply
