"""Decides which hosts tools and programs may reach, and stores the user's permanent permissions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field

from agent.consent.policy import rule_that_allows
from mcp_tools.data_files import JsonFile
from mcp_tools.errors import LibraryError, os_errors_as
from mcp_tools.hosts import NOT_ALLOWED, READING

if TYPE_CHECKING:
    from agent.consent.policy import PolicyDecision, ReadPolicy, Value
    from agent.consent.questions import ApprovalMode, UserReply

FILE = "hosts.json"
NEW_TOOL = "the new tool"
"""Placeholder for the name of a tool that is still being proved."""


@dataclass(frozen=True, slots=True)
class HostToReach:
    """Question to the user: may this tool or program send this request to a host that it declares?"""

    tool: str
    """The tool's name; empty for a program of the run."""
    host: str
    method: str
    keys: tuple[str, ...] = ()
    """Names of the stored keys that are sent with the request."""
    source: str = ""
    """Hash of the tool's source and imports, if the user may allow it permanently."""
    is_doubtful: bool = False
    """True if nobody approved the tool. Neither `auto` nor a rule can then allow the request."""
    is_foreign: bool = False
    """True if untrusted text may have asked for the request. Neither `auto` nor a rule with `*` can then allow it."""
    is_new: bool = False
    """True until the user approves the tool. No rule gives a new tool a key."""
    imports: tuple[str, ...] = field(default=(), compare=False)
    """Names of the tools that this tool imports."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names that rules can match: the tool's own name, empty for a program or new tool, then its imports' names."""
        return ("" if self.tool == NEW_TOOL else self.tool, *self.imports)

    @property
    def is_writing(self) -> bool:
        """True if the method may change something on the host."""
        return self.method not in READING


class HostGrant(BaseModel):
    """Permission for a version of a tool to reach a host."""

    tool: str
    source: str
    host: str
    keys: tuple[str, ...] = ()
    writes: bool = False


class _HostsDocument(BaseModel):
    form: Literal[1] = Field(1, alias="schema")
    grants: list[HostGrant] = []


class HostGrants:
    """The hosts that the user allowed permanently, stored in the data folder. A changed tool needs a new permission."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def _file(self) -> JsonFile[_HostsDocument]:
        return JsonFile(self._folder / FILE, _HostsDocument, empty={"schema": 1})

    @property
    def all(self) -> list[HostGrant]:
        """All permissions."""
        return self._file.remembered().grants

    def cover(self, asked: HostToReach) -> bool:
        """Return True if a permission covers this request."""
        return bool(asked.source) and any(
            (one.tool, one.source, one.host) == (asked.tool, asked.source, asked.host)
            and {*asked.keys} <= {*one.keys}
            and (one.writes or not asked.is_writing)
            for one in self.all
        )

    def keep(self, grants: Sequence[HostGrant]) -> None:
        """Save permissions.

        Raises:
            LibraryError: The file cannot be written.
        """
        with os_errors_as(LibraryError, f"{self._file.path} cannot be written"), self._file.changing() as document:
            document.grants += [one for one in grants if one not in document.grants]

    def forget(self, tool: str) -> int:
        """Remove a tool's permissions and return their number.

        Raises:
            LibraryError: The file cannot be written.
        """
        with os_errors_as(LibraryError, f"{self._file.path} cannot be written"), self._file.changing() as document:
            before = len(document.grants)
            document.grants = [one for one in document.grants if one.tool != tool]
            return before - len(document.grants)


Ask = Callable[[HostToReach], Awaitable["UserReply"]]


class HostConsent:
    """Decides about hosts by policy, setting and permanent permissions, or asks the user once.

    Args:
        mode: The setting `hosts`. `auto` allows declared hosts but still asks about keys and doubtful requests.
        grants: The hosts that the user allowed permanently.
        policy: Reads the user's policy. Its first matching rule overrides the mode, and a `deny` also the grants.
        ask: Asks the user. None if nobody can be asked.
    """

    def __init__(self, mode: ApprovalMode, grants: HostGrants | None, policy: ReadPolicy, ask: Ask | None) -> None:
        self._mode, self._grants, self._policy, self._ask = mode, grants, policy, ask
        self._replies: dict[tuple[object, ...], UserReply] = {}
        self._turn = asyncio.Lock()

    async def refusal(self, asked: HostToReach) -> str:
        """Return the reason why a host may not be reached; empty if it may.

        Raises:
            PolicyError: The policy file is wrong.
        """
        keys = f" with the key {', '.join(asked.keys)}" if asked.keys else ""
        why = f"{asked.method} {asked.host}{keys}{NOT_ALLOWED}"
        rules = self._rules(asked)
        if denying := next((rule for rule in rules if rule is not None and rule.decision == "deny"), None):
            return f"{why}{denying} denies it"
        if all(rule is not None and rule.decision == "allow" for rule in rules):
            return ""
        is_asked = any(rule is not None and rule.decision == "ask" for rule in rules)
        if self._mode == "never" and not is_asked:
            return f"{why}the setting hosts is never"
        if self._grants is not None and await asyncio.to_thread(self._grants.cover, asked):
            return ""
        if self._mode == "auto" and not is_asked and not asked.keys and not (asked.is_doubtful or asked.is_foreign):
            return ""
        if self._ask is None:
            rule = f"add to {self._policy().path.name}: {rule_that_allows(asked.tool, _needs(asked))}"
            how = f"alita tools hosts {asked.tool} --allow" if asked.source else rule
            return f"{why}nobody can be asked here; to allow it: {how}"
        key = (asked.tool, asked.source, asked.host, asked.keys, asked.is_writing)
        async with self._turn:  # threads that request the same host ask the user only once
            if key not in self._replies:
                self._replies[key] = await self._reply(asked, self._ask)
        reply = self._replies[key]
        if not reply.allowed:
            return f"{why}the user does not allow it" + (f"; the user says: {reply.reason}" if reply.reason else "")
        return ""

    def _rules(self, asked: HostToReach) -> list[PolicyDecision | None]:
        """Return the policy's decisions about the host and each key, None for each without a matching rule."""
        policy, needs = self._policy(), _needs(asked)
        lends = {"hosts": not asked.is_doubtful, "keys": not asked.is_doubtful and not asked.is_new}
        return [
            policy.decide(asked.names, *need, may_allow=lends[need[0]], is_exact=asked.is_foreign) for need in needs
        ]

    @property
    def may_allow(self) -> bool:
        """True if some requests are allowed without asking, so that their origin must be checked."""
        return self._mode == "auto" or self._policy().has_rules_for("hosts")

    def decider(self, who: HostToReach, need: tuple[str, object]) -> str:
        """Return the setting or permission that decides about a host or key if no rule matches."""
        kind, value = need
        if any(
            (one.tool, one.source) == (who.tool, who.source) and value in ((one.host,) if kind == "hosts" else one.keys)
            for one in (self._grants.all if self._grants is not None else [])
        ):
            return "always allowed"
        return f"the setting hosts ({self._mode})"

    async def _reply(self, asked: HostToReach, ask: Ask) -> UserReply:
        reply = await ask(asked)
        if reply.allowed and reply.scope == "always" and asked.source and self._grants is not None:
            kept = HostGrant(
                tool=asked.tool, source=asked.source, host=asked.host, keys=asked.keys, writes=asked.is_writing
            )
            await asyncio.to_thread(self._grants.keep, [kept])
        return reply


def _needs(asked: HostToReach) -> list[tuple[str, Value]]:
    return [("hosts", asked.host), *(("keys", key) for key in asked.keys)]
