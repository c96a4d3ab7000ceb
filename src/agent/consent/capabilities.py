"""Decides whether tools and programs may use packages, files, time and memory: by policy, grants, or the user."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agent.consent.hosts import NEW_TOOL, HostConsent, HostGrants, HostToReach
from agent.consent.policy import PROGRAM, Policy, PolicyDecision, ReadPolicy, Value, rule_that_allows
from mcp_tools.errors import AlitaError
from mcp_tools.packages import BASE_PACKAGES, FILE_PACKAGES, is_provided
from mcp_tools.tool import Capabilities

if TYPE_CHECKING:
    from agent.consent.questions import ApprovalMode, UserReply
    from mcp_tools.environments.store import Environments

UNASKED = {"seconds": 60.0, "memory_mb": 2048}
"""Limits up to which a new tool needs no permission from the user."""
Need = tuple[str, Value]
"""A capability and its value, such as `("packages", "scipy>=1.11")` or `("seconds", 120.0)`."""


@dataclass(frozen=True, slots=True)
class CapabilityToUse:
    """Question to the user: may a tool or program use the capabilities that it declares?"""

    tool: str
    """Name of the tool; empty for a program."""
    uses: tuple[str, ...]
    """Each capability in words, such as `take 300 seconds`."""


@dataclass(frozen=True, slots=True)
class Permit:
    """The decision about a call."""

    refusal: str = ""
    """Reason for a refusal; empty if the call is allowed."""
    packages: tuple[str, ...] = ()
    """Packages that a rule allows for this call."""
    asks: bool = False
    """True if a rule requires asking about packages, regardless of the setting."""


def needs_in(may: Capabilities, packages: Iterable[str] = ()) -> list[Need]:
    """Return the needs of a call, from its declared capabilities and imported packages."""
    found: list[Need] = [("packages", one) for one in dict.fromkeys(packages) if not is_provided(one)]
    found += [("hosts", one) for one in may.hosts] + [("keys", one) for one in may.keys]
    found += [(name, True) for name in ("read", "write") if getattr(may, name)]
    return found + [(name, value) for name in UNASKED if (value := getattr(may, name)) is not None]


def use_of(need: Need) -> str:
    """Return a need in words that can follow "may", such as `take 300 seconds`."""
    name, value = need
    if isinstance(value, str):
        shown = _named(value) if name == "packages" else value
        return {"packages": "import", "hosts": "send requests to", "keys": "send the key"}[name] + f" {shown}"
    return {
        "read": "read files that a call grants",
        "write": "leave files for you",
        "seconds": f"take {value:g} seconds",
        "memory_mb": f"use {value:g} MiB of memory",
    }[name]


AskUser = Callable[[HostToReach | CapabilityToUse], Awaitable["UserReply"]]


class CallConsent:
    """Decides about calls of tools and programs, both during proof and later.

    Args:
        mode: The setting `hosts`.
        grants: The hosts that the user allowed permanently.
        policy: Reads the policy file.
        environments: The installed packages.
        ask: Asks the user. None if nobody can be asked.
    """

    def __init__(
        self,
        mode: ApprovalMode,
        grants: HostGrants | None,
        policy: ReadPolicy,
        environments: Environments | None,
        ask: AskUser | None,
    ) -> None:
        self.hosts = HostConsent(mode, grants, policy, ask)
        self._policy, self._environments, self._ask = policy, environments, ask
        self._replies: dict[tuple[object, ...], UserReply] = {}
        self._turn = asyncio.Lock()

    def concerns(self, needs: Sequence[Need], *, is_new: bool) -> bool:
        """Return True if a call with these needs requires a decision before it starts.

        Raises:
            PolicyError: The policy file is wrong.
        """
        if not needs:
            return False
        policy = self._policy()
        return any(policy.has_rules_for(need[0]) or (is_new and _exceeds(need)) for need in _before_a_call(needs))

    async def permit(self, who: HostToReach, needs: Sequence[Need], *, is_new: bool) -> Permit:
        """Decide about a call. Hosts and keys are decided later, at each request.

        Args:
            who: The tool or program, without host and method.
            needs: The needs of the call.
            is_new: True for a program or an unapproved tool. Its time and memory above `UNASKED` need permission.

        Raises:
            PolicyError: The policy file is wrong.
        """
        policy = self._policy()
        decided = [(need, self._verdict(policy, who, need)) for need in _before_a_call(needs)]
        for need, verdict in decided:
            if verdict is not None and verdict.decision == "deny":
                return Permit(_denied(who, need, verdict))
        to_ask = [
            need
            for need, verdict in decided
            if need[0] != "packages"
            and (verdict.decision == "ask" if verdict is not None else is_new and _exceeds(need))
        ]
        if to_ask and (why := await self._refused(policy, who, to_ask)):
            return Permit(why)
        packages = {str(value): verdict for (name, value), verdict in decided if name == "packages"}
        if not packages or self._environments is None or not policy.has_rules_for("packages"):
            return Permit()
        return await self._of_packages(policy, self._environments, who, packages)

    def _verdict(self, policy: Policy, who: HostToReach, need: Need) -> PolicyDecision | None:
        name, value = need
        wanted = _package(str(value)) if name == "packages" else value
        return policy.decide(who.names, name, wanted, may_allow=not who.is_doubtful)

    async def _of_packages(
        self, policy: Policy, environments: Environments, who: HostToReach, verdicts: dict[str, PolicyDecision | None]
    ) -> Permit:
        """Decide about packages and their dependencies.

        Any of them may be denied. Well-known dependencies of an allowed package are also allowed.
        """
        from mcp_tools.environments.known import known_packages
        from mcp_tools.environments.store import granting

        granted = {_package(one) for one, rule in verdicts.items() if rule is not None and rule.decision == "allow"}
        asks = any(rule is not None and rule.decision == "ask" for rule in verdicts.values())
        try:
            with granting(granted):
                if environments.unknown(verdicts):  # unknown names are not looked up yet
                    return Permit(packages=tuple(sorted(granted)), asks=asks)
                plan = await environments.plan(verdicts)
        except AlitaError as error:  # no such package, or no access to the index
            return Permit(str(error))
        new = {release.name for release in plan.new}
        own = {_package(one) for one in (*BASE_PACKAGES, *FILE_PACKAGES)}
        for release in plan.lock.releases:
            if release.name in own:  # alita includes it
                continue
            rule = self._verdict(policy, who, ("packages", release.name))
            is_pulled = bool(granted) and release.name not in map(_package, verdicts)
            if rule is not None and is_pulled and release.name not in policy.rules[rule.rule - 1].packages:
                continue  # for dependencies of an allowed package, only rules with the exact name count
            if rule is not None and rule.decision == "deny":
                return Permit(_denied(who, ("packages", release.name), rule))
            if rule is not None and rule.decision == "allow":
                granted.add(release.name)
        new -= granted
        if granted and new.isdisjoint(map(_package, verdicts)) and new <= known_packages():
            granted |= new
        return Permit(packages=tuple(sorted(granted)), asks=asks)

    async def _refused(self, policy: Policy, who: HostToReach, needs: Sequence[Need]) -> str:
        uses = tuple(map(use_of, needs))
        why = f"{_name(who)} may not {' and '.join(uses)}: "
        if self._ask is None:
            rule = rule_that_allows(_in_rule(who), needs)
            return f"{why}nobody can be asked here; to allow it, add to {policy.path.name}: {rule}"
        key = (who.tool, who.source, uses)
        async with self._turn:
            if key not in self._replies:
                self._replies[key] = await self._ask(CapabilityToUse(who.tool, uses))
        reply = self._replies[key]
        reason = f"; the user says: {reply.reason}" if reply.reason else ""
        return "" if reply.allowed else f"{why}the user does not allow it{reason}"

    def explained(self, who: HostToReach, needs: Sequence[Need], *, is_new: bool) -> list[tuple[str, str]]:
        """Return each need in words, and the rule or setting that decides about it.

        Raises:
            PolicyError: The policy file is wrong.
        """
        return [(use_of(need), self._decider(who, need, is_new=is_new)) for need in needs]

    def _decider(self, who: HostToReach, need: Need, *, is_new: bool) -> str:
        name, value = need
        if (verdict := self._verdict(self._policy(), who, need)) is not None:
            return f"{ {'allow': 'allowed', 'ask': 'asked', 'deny': 'denied'}[verdict.decision] } by {verdict}"
        if name == "packages" and _named(str(value)) != value:
            return "your own code"
        if name == "packages":
            allowed = self._environments is not None and _package(str(value)) in self._environments.allowed
            return "always allowed" if allowed else "the setting packages"
        if name in ("hosts", "keys"):
            return self.hosts.decider(who, need)
        return "asked" if is_new and _exceeds(need) else "allowed"


def _before_a_call(needs: Sequence[Need]) -> list[Need]:
    return [need for need in needs if need[0] not in ("hosts", "keys")]


def _exceeds(need: Need) -> bool:
    name, value = need
    return name in UNASKED and float(value) > UNASKED[name]


def _package(requirement: str) -> str:
    """Return the package name of a requirement. Invalid requirements are returned unchanged and refused later."""
    from mcp_tools.environments.lock import PackageError
    from mcp_tools.environments.store import package_name

    try:
        return package_name(requirement)
    except PackageError:
        return requirement


def _named(requirement: str) -> str:
    """Return a package for display, with the hash of the user's own code in parentheses."""
    from mcp_tools.environments.wrapped import label_of

    return label_of(requirement)


def _denied(who: HostToReach, need: Need, verdict: PolicyDecision) -> str:
    return f"{_name(who)} may not {use_of(need)}: {verdict} denies it"


def _name(who: HostToReach) -> str:
    return who.tool or "a program"


def _in_rule(who: HostToReach) -> str:
    return PROGRAM if who.tool in ("", NEW_TOOL) else who.tool
