"""Asks the user of a run for permission, and records the replies in the journal."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agent.consent.capabilities import CallConsent, CapabilityToUse, Need, Permit, needs_in
from agent.consent.external_tools import Grants
from agent.consent.hosts import HostGrants, HostToReach
from agent.consent.policy import Policy, ReadPolicy
from agent.consent.questions import ApprovalMode, CallProposal, PackagesToInstall, ToolToApprove, UserReply
from agent.consent.user_paths import REFUSAL
from agent.events import ToolRefused
from mcp_tools.errors import AlitaError
from mcp_tools.packages import is_provided
from mcp_tools.tool import Json, Tool, signature_of

if TYPE_CHECKING:
    from agent.calls.recorder import Recorder
    from mcp_tools.clients.servers import Servers
    from mcp_tools.environments.store import Environments

_DOUBTFUL = "consent"
"""Kind of journal records that hold replies about doubtful actions."""
Asked = ToolToApprove | CallProposal | PackagesToInstall | HostToReach | CapabilityToUse
Confirm = Callable[[Asked], Awaitable[UserReply | bool]]
"""Asks the user. True and False are replies without a reason."""
NOT_APPROVED = "it was not approved"
USER_SAID = "the user says: "
"""Precedes the user's reason in a text for a model."""


@dataclass(eq=False)
class Consent:
    """Asks the user one question at a time, while the run's clock is paused."""

    confirm: Confirm | None
    """Asks the user. None if nobody can be asked."""
    calls: Recorder
    approval: ApprovalMode | None = None
    """Mode for keeping proved tools. None, as in runs of earlier versions, keeps all of them."""
    each_call: str = ""
    """Reason why every call of an external tool needs consent; empty if none does."""
    grants: Grants | None = None
    """The user's permanent permissions. None in a replay."""
    environments: Environments | None = None
    """The environments in which packages are installed. None in a replay."""
    packages: ApprovalMode = "ask"
    """Mode for packages that the user has not allowed yet: `auto` installs them, `never` refuses them."""
    hosts: ApprovalMode = "ask"
    """Mode for requests to declared hosts; see `HostConsent`."""
    host_grants: HostGrants | None = None
    """The hosts that the user allowed permanently. None in a replay."""
    policy: ReadPolicy | None = None
    """Reads the user's policy. None in a replay."""
    say: Callable[[str], None] = lambda _: None
    """Adds the user's reason for a refusal to the conversation."""

    def __post_init__(self) -> None:
        self._asking = asyncio.Lock()
        self.mattered = False
        """True once a host was requested or a permission was refused. The answer is then not cached, because it may
        differ next time."""
        self._tool_refusals: dict[str, str] = {}
        policy = self.policy or (lambda: Policy(Path()))
        ask = None if self.confirm is None else self._reply
        self._calls = CallConsent(self.hosts, self.host_grants, policy, self.environments, ask)

    async def _reply(self, asked: Asked) -> UserReply:
        """Ask the user, or refuse if nobody can be asked."""
        if self.confirm is None:
            return UserReply(False)
        async with self._asking:
            with self.calls.budget.standing_still():
                reply = await self.confirm(asked)
        reply = reply if isinstance(reply, UserReply) else UserReply(reply)
        if reply.reason and isinstance(asked, CallProposal):
            self.say(f"{REFUSAL}{reply.reason}")
        return reply

    async def reply_to(self, call: CallProposal) -> tuple[UserReply, Literal["standing", "asked", "nobody"]]:
        """Return the reply about an action and who gave it: a permanent permission, the user, or nobody.

        The journal records both.
        """
        covered = self.grants is not None and await asyncio.to_thread(self.grants.cover, call)
        if self.confirm is None and not covered and not self.calls.journal.knows(_DOUBTFUL):
            return UserReply(False), "nobody"

        async def perform() -> dict[str, Any]:
            if covered:
                return {"allowed": True, "by": "standing"}
            reply = await self._reply(call)
            if reply.allowed and reply.scope != "once" and self.grants is not None:
                await asyncio.to_thread(self.grants.keep, call, reply.scope)
            by = "nobody" if self.confirm is None else "asked"
            return {"allowed": reply.allowed, "reason": reply.reason, "by": by}

        request: dict[str, Json] = {"name": call.name, "arguments": call.arguments, "reason": call.reason}
        said = await self.calls.call(_DOUBTFUL, request | {"definition": "", "is_doubtful": True}, perform)
        self.mattered |= not said["allowed"]
        return UserReply(said["allowed"], said.get("reason", "")), said.get("by", "nobody")

    async def refusal_of_tool(self, tool: Tool) -> str:
        """Return why a proved tool is not kept; empty if it is kept. The first decision is recorded and reused."""
        if self.approval is None:
            return ""
        if tool.source_hash not in self._tool_refusals:
            self._calls.concerns(needs_in(tool.capabilities), is_new=False)  # may raise PolicyError; do not record that

            async def perform() -> dict[str, Any]:
                reason = await self._decided(tool)
                return {"approved": not reason, "reason": reason}

            found = await self.calls.call("approval", {"tool": tool.name, "source": tool.source}, perform)
            self._tool_refusals[tool.source_hash] = found["reason"]
        if reason := self._tool_refusals[tool.source_hash]:
            self.calls.emit(ToolRefused(tool.name, reason))
        return reason

    async def _decided(self, tool: Tool) -> str:
        if self.approval == "ask" and self.confirm is not None:
            needs = needs_in(tool.capabilities, tool.capabilities.packages)
            who = HostToReach(tool.name, "", "", source=tool.source_hash, imports=tool.capabilities.tools)
            uses = self._calls.explained(who, needs, is_new=False)
            reply = await self._reply(proposal_of(tool, uses))
            return (
                "" if reply.allowed else f"{NOT_APPROVED}; {USER_SAID}{reply.reason}" if reply.reason else NOT_APPROVED
            )
        return {
            "auto": "",
            "never": "tools are not kept: approval is set to never",
            "ask": "approval is set to ask, and nobody could be asked; --approve auto keeps it",
        }[self.approval or "auto"]

    async def refusal_of_packages(self, packages: Sequence[str], *, asks: bool = False) -> str:
        """Return the reason why packages may not be installed for this run; empty if they may. The reason is recorded.

        Args:
            packages: The requirements.
            asks: True to ask the user even if the setting allows packages.
        """
        wanted, mode = sorted({*packages}), "ask" if asks else self.packages

        async def perform() -> str:
            assert self.environments is not None
            try:
                unknown = self.environments.unknown(wanted)
                fetched = tuple(self.environments.fetched(wanted))
                names = PackagesToInstall(fetched, (), unknown, 0)
                if unknown and (why := await self._refused_packages(names, mode)):
                    return why
                plan = await self.environments.plan(wanted)
                new = tuple(map(str, plan.new))
                fetched = tuple(self.environments.fetched(plan.wanted))
                asked = PackagesToInstall(fetched, new, plan.unknown, plan.size)
                if new and (why := await self._refused_packages(asked, mode)):
                    return why
                if plan.new:
                    await asyncio.to_thread(self.environments.allow, plan)
            except AlitaError as error:
                return str(error)
            return ""

        if all(map(is_provided, wanted)):
            return ""
        refusal = await self.calls.call("packages", {"packages": wanted}, perform)
        self.mattered |= bool(refusal)
        return refusal

    async def _refused_packages(self, asked: PackagesToInstall, mode: str) -> str:
        """Return why packages may not be looked up or installed. A rare name may be invented or contain a secret."""
        why = f"{', '.join(asked.releases or asked.unknown)} may not be installed: "
        how = f"to allow it: alita packages allow {shlex.join(asked.wanted)}"  # unquoted, `>` would write a file
        if mode == "never":
            return f"{why}the setting packages is never"
        if mode == "auto":
            return f"{why}few people use it: take a well-known package instead; {how}" if asked.unknown else ""
        if self.confirm is None:
            return f"{why}nobody can be asked here; {how}"
        reply = await self._reply(asked)
        if reply.allowed:
            return ""
        return f"{why}the user does not allow it" + (f"; {USER_SAID}{reply.reason}" if reply.reason else "")

    async def permit(self, who: HostToReach, needs: Sequence[Need], *, is_new: bool) -> Permit:
        """Decide about a call before it starts, and record the decision; see `CallConsent.permit`.

        Raises:
            PolicyError: The policy file is wrong.
        """
        request: dict[str, Json] = {"tool": who.tool, "needs": [[*need] for need in needs], "new": is_new}
        is_recorded = bool(needs) and self.calls.journal.holds("permit", request)
        if not is_recorded and not self._calls.concerns(needs, is_new=is_new):
            return Permit()

        async def perform() -> dict[str, Any]:
            found = await self._calls.permit(who, needs, is_new=is_new)
            return {"refusal": found.refusal, "packages": [*found.packages], "asks": found.asks}

        permit = await self.calls.call("permit", request, perform)
        self.mattered |= bool(permit["refusal"])
        return Permit(permit["refusal"], tuple(permit["packages"]), permit["asks"])

    @property
    def may_allow_hosts(self) -> bool:
        """True if some requests may be allowed without asking, so that their origin must be checked."""
        return self._calls.hosts.may_allow

    async def refusal_of_host(self, asked: HostToReach) -> str:
        """Return the reason why a declared host may not be reached; empty if it may. The reason is recorded."""
        request: dict[str, Json] = {"tool": asked.tool, "host": asked.host, "keys": [*asked.keys]}
        request |= {"writes": asked.is_writing, "source": asked.source, "doubtful": asked.is_doubtful}
        request |= {"foreign": True} if asked.is_foreign else {}
        self._calls.concerns([("hosts", asked.host)], is_new=False)  # may raise PolicyError; do not record that
        self.mattered = True
        return await self.calls.call("hosts", request, lambda: self._calls.hosts.refusal(asked))

    async def refusal_of_call(self, name: str, arguments: dict[str, Json], servers: Servers) -> str:
        """Return the reason why an external tool may not be called; empty if it may."""
        changed = await servers.changed(name)
        reasons = [self.each_call] if self.each_call else []
        reasons += ["its server has changed the tool's description since you trusted it"] if changed else []
        if not reasons:
            return ""
        why = ", and ".join(reasons)
        if self.confirm is None:
            allow = (
                f"alita mcp enable {changed.server}" if changed else "ask on a terminal, or name the models yourself"
            )
            return f"{name} was not called: {why}, and nobody can be asked here. To allow it: {allow}"
        reply = await self._reply(CallProposal(name, arguments, why, changed.definition if changed else ""))
        if not reply.allowed:
            return f"{name} was not called: the user did not allow it"
        if changed:
            if await servers.changed(name) != changed:
                return f"{name} was not called: its server changed it again while you were being asked"
            servers.trust(name)
        return ""


def proposal_of(tool: Tool, uses: Sequence[tuple[str, str]] = ()) -> ToolToApprove:
    """Return the question about keeping a tool. `uses` has each capability in words, and what decides about it."""
    from mcp_tools.create.interfaces import Test

    evidence = tool.provenance.get("evidence") or {}
    tests = tool.provenance.get("tests") or []
    by_examiner = sum(test.get("origin") not in ("docstring", "client") for test in tests)
    checks = ["the checks pass: it is typed and documented, does nothing on import, and uses only allowed packages"]
    if tests:
        checks.append(f"{len(tests)} tests pass, {by_examiner} of them by the examiner")
    if "mutants" in evidence:
        checks.append(f"the tests caught {evidence['killed']} of {evidence['mutants']} deliberate bugs")
    if tool.provenance.get("parent_version"):
        checks.append("it replaces the tool of this name and passes its tests; the old version is kept")
    checks += [f"it may {use} ({decider})" for use, decider in uses]
    shown = tuple(Test.from_json(test).with_result(tool.name) for test in tests)
    return ToolToApprove(tool.name, signature_of(tool), tool.summary, tool.source, tuple(checks), shown)
