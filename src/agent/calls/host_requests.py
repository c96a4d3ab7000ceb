"""Asks permission for calls of tools and programs, and sends, records and replays their requests to hosts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from agent.configuration.stored_keys import OF_HOST
from agent.consent.capabilities import AskUser, CallConsent, needs_in
from agent.consent.hosts import HostGrants, HostToReach
from agent.consent.policy import Policy
from mcp_tools.environments.store import FOLDER as ENVIRONMENTS
from mcp_tools.environments.store import Environments, granting
from mcp_tools.errors import LibraryError, NotPermittedError
from mcp_tools.hosts import Carry, Host, HostError, HostRequest, read_host
from mcp_tools.library.dependencies import Needs
from mcp_tools.packages import imported, is_provided
from mcp_tools.tool import Capabilities, Json, Status, Tool

if TYPE_CHECKING:
    from agent.calls.recorder import Recorder
    from agent.configuration.settings import Settings
    from agent.consent.consent import Consent
    from agent.web.carrier import Record, Sends
    from agent.web.leak_guard import LeakGuard
    from mcp_tools.library.library import Library

KIND = "host"
Doubts = Callable[[HostRequest], bool]
"""Returns True if a request is doubtful; see `doubts_of`."""


def whoever_is(tool: Tool, needs: Needs) -> HostToReach:
    """Return the question to the user about a tool, without host and method."""
    is_approved = tool.status is Status.VERIFIED
    source = needs.version_of(tool) if is_approved else ""
    imports = tuple(needs.modules)
    return HostToReach(tool.name, "", "", source=source, is_doubtful=not is_approved, imports=imports)


def packages_of_call(tool: Tool, needs: Needs) -> tuple[str, ...]:
    """Return the packages that a call and its imported tools need; for a program, all declared packages."""
    if not tool.name:
        return needs.and_packages(tool.capabilities.packages)
    return needs.and_packages(imported(tool.source, tool.capabilities.packages))


def in_force(tool: Tool) -> Capabilities:
    """Return the capabilities in force. Declared time and memory only apply to an approved tool."""
    may = tool.capabilities
    return may if tool.status is Status.VERIFIED else replace(may, seconds=None, memory_mb=None)


@asynccontextmanager
async def carrying(
    settings: Settings,
    who: HostToReach,
    needs: Capabilities,
    refusal_of: Callable[[HostToReach], Awaitable[str]],
    record: Record | None = None,
    doubts: Doubts | None = None,
    leaks: LeakGuard | None = None,
) -> AsyncIterator[Carry | None]:
    """Open the carrier for the requests of one call or program, with the user's keys and guard; None without hosts.

    The user is asked about requests for which `doubts` returns True, even if others are allowed without asking.

    Raises:
        HostError: A declared host is malformed.
    """
    if not needs.hosts:
        yield None
        return
    from agent.web.carrier import Carrier, host_keys
    from agent.web.guard import AddressGuard

    async def refusal(host: Host, request: HostRequest, keys: tuple[str, ...]) -> str:
        asked = replace(who, host=str(host), method=request.method, keys=keys)
        if doubts is not None:
            asked = replace(asked, is_foreign=doubts(request))
        return await refusal_of(asked)

    hosts = _declared_hosts(needs)
    stored = host_keys(settings.keys)
    carrier = Carrier(
        AddressGuard(allow_private=settings.allow_private, allow_addresses=settings.allow_addresses),
        hosts,
        [stored[name] for name in needs.keys if name in stored],
        refusal,
        secrets=settings.secrets,
        record=record,
        leaks=leaks,
    )
    async with aclosing(carrier):
        yield carrier.carry


def _declared_hosts(needs: Capabilities) -> list[Host]:
    try:
        return [read_host(one) for one in needs.hosts]
    except ValueError as error:
        raise HostError(f"a declared host is invalid: {error}") from None


def call_consent(settings: Settings, ask: AskUser | None, tell: Callable[[str], None]) -> CallConsent:
    """Return the consent for calls outside a run. `ask` asks the user, `tell` reports downloads."""
    policy = partial(Policy.read, settings.config_dir)
    environments = Environments(settings.data_dir / ENVIRONMENTS, tell)
    return CallConsent(settings.hosts, HostGrants(settings.data_dir), policy, environments, ask)


async def uses_of(library: Library, tool: Tool, consent: CallConsent, *, is_new: bool = False) -> list[tuple[str, str]]:
    """Return the capabilities of a tool, each with the rule that decides about it.

    Raises:
        PolicyError: The policy file is wrong.
    """
    from mcp_tools.create.approve import needed_by

    may, needs = tool.capabilities, Needs()
    with suppress(LibraryError):  # a missing import is reported at the call
        needs = await needed_by(library, tool)
    found = consent.explained(whoever_is(tool, needs), needs_in(may, may.packages), is_new=is_new)
    return [*found, *((f"call {name}", "imported") for name in may.tools)]


@asynccontextmanager
async def carried(
    settings: Settings,
    consent: CallConsent,
    tool: Tool,
    needs: Needs,
    *,
    is_new: bool = False,
    is_only_reviewed: bool = False,
) -> AsyncIterator[Carry | None]:
    """Ask permission for a tool call outside a run, and carry its requests; see `carrying`.

    A tool without a name is a program. With `is_new`, nobody has approved the tool yet. With `is_only_reviewed`, the
    tool is not about to be approved either, so that no rule or setting allows anything without asking.

    Raises:
        NotPermittedError: The call needs something that it is not permitted to use.
        PolicyError: The policy file is wrong.
    """
    who, wanted = whoever_is(tool, needs), needs_in(in_force(tool), packages_of_call(tool, needs))
    who = replace(who, is_new=is_new, is_doubtful=who.is_doubtful or is_only_reviewed)
    packages: tuple[str, ...] = ()
    if consent.concerns(wanted, is_new=is_new):
        permit = await consent.permit(who, wanted, is_new=is_new)
        if permit.refusal:
            raise NotPermittedError(permit.refusal)
        packages = permit.packages
    with granting(packages):
        async with carrying(settings, who, tool.capabilities, consent.hosts.refusal) as carry:
            yield carry


class RecordedHosts:
    """Requests of a run's tools and programs to hosts.

    Args:
        settings: None for a replay, which sends no request.
        calls: Records the requests.
        consent: Permits calls and requests.
        leaks: Blocks known leaks.
        is_closed: True if the run must not reach any host.
    """

    def __init__(
        self,
        settings: Settings | None,
        calls: Recorder,
        consent: Consent,
        leaks: LeakGuard | None = None,
        *,
        is_closed: bool = False,
    ) -> None:
        self._settings = settings
        self._calls = calls
        self._consent = consent
        self._leaks = leaks
        self._is_closed = is_closed
        self._numbers: Counter[str] = Counter()
        """Number of times each request was made so far, to tell equal requests apart when a run is resumed."""

    async def stored_keys(self) -> str:
        """Return a text about the stored keys and their hosts, for the model; empty without keys."""
        stored = self._settings.keys if self._settings is not None else {}
        named = sorted(name.replace(OF_HOST, " for ", 1) for name in stored if OF_HOST in name)
        request: dict[str, Json] = {"keys": True}
        if not named and not self._calls.journal.holds(KIND, request):
            return ""

        async def text() -> str:
            return f"Stored keys: {', '.join(named)}. Code writes {{key:NAME}} in a header or a query."

        return await self._calls.call(KIND, request, text)

    def of_tool(self, doubts: Doubts | None, tool: Tool, needs: Needs) -> AbstractAsyncContextManager[Carry | None]:
        """Ask permission for one call of a tool, and carry its requests; see `of_code`."""
        may, packages = in_force(tool), packages_of_call(tool, needs)
        return self.of_code(whoever_is(tool, needs), may, packages, doubts, is_new=False)

    @asynccontextmanager
    async def of_code(
        self,
        who: HostToReach,
        may: Capabilities,
        packages: Sequence[str],
        doubts: Doubts | None = None,
        *,
        is_new: bool = True,
    ) -> AsyncIterator[Carry | None]:
        """Ask permission for a program or a call, and carry its requests. Packages that new code needs are installed.

        A run without searches reaches no host.

        Raises:
            NotPermittedError: The code needs something that it is not permitted to use.
            PolicyError: The policy file is wrong.
            HostError: A declared host is malformed, or this run must not reach any host.
        """
        if may.hosts and self._is_closed:
            raise HostError(f"{', '.join(may.hosts)} cannot be reached, because searches are disabled in this run")
        permit = await self._consent.permit(who, needs_in(may, packages), is_new=is_new)
        if permit.refusal:
            raise NotPermittedError(permit.refusal)
        with granting(permit.packages):
            fetched = [one for one in packages if not is_provided(one)] if is_new else []
            if fetched and (why := await self._consent.refusal_of_packages(fetched, asks=permit.asks)):
                raise NotPermittedError(why)
            if self._settings is None:
                _declared_hosts(may)  # raises the recorded error again
                yield None
                return
            judge = doubts if may.hosts and self._consent.may_allow_hosts else None
            refusal = self._consent.refusal_of_host
            carry = carrying(self._settings, who, may, refusal, self._record, judge, self._leaks)
            async with carry as carrier:
                yield carrier

    async def _record(self, request: dict[str, Json], perform: Callable[[Sends], Awaitable[Json]]) -> Json:
        self._numbers[text := json.dumps(request, sort_keys=True)] += 1
        mark: dict[str, Json] = {"sent": request, "number": self._numbers[text]}

        async def note() -> bool:
            return True

        async def sends() -> None:
            await self._calls.call(KIND, mark, note)
            if not self._calls.journal.is_live:
                raise HostError(
                    f"this {request['method']} may have been sent before the run was interrupted, and is not sent "
                    "again; "
                    "check there whether it was done, or send it again"
                )

        return await self._calls.call(KIND, {"request": request}, lambda: perform(sends), limit="time")
