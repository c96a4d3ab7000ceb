"""The hosts that a run's tools and programs reach: each exchange is recorded, and a replay makes none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from agent.configuration.stored_keys import OF_HOST
from agent.consent.hosts import HostConsent, HostToReach
from mcp_tools.hosts import Carry, Host, HostError, HostRequest, read_host
from mcp_tools.library.dependencies import Needs
from mcp_tools.tool import Capabilities, Json, Status, Tool

if TYPE_CHECKING:
    from agent.budget import Budget
    from agent.configuration.settings import Settings
    from agent.consent.consent import Consent
    from agent.store.journal import Journal
    from agent.web.carrier import Record

KIND = "host"
Doubts = Callable[[HostRequest], bool]
"""Says whether a request may come from foreign text alone."""


def whoever_is(tool: Tool, needs: Needs) -> HostToReach:
    """The tool as the user is asked about it, without host and method."""
    is_approved = tool.status is Status.VERIFIED
    source = needs.version_of(tool) if is_approved else ""
    return HostToReach(tool.name, "", "", source=source, is_doubtful=not is_approved)


@asynccontextmanager
async def carrying(
    settings: Settings,
    who: HostToReach,
    needs: Capabilities,
    refusal_of: Callable[[HostToReach], Awaitable[str]],
    record: Record | None = None,
    doubts: Doubts | None = None,
) -> AsyncIterator[Carry | None]:
    """What carries the requests of one call or program, with the user's keys and guard; None if it needs no hosts.

    With `doubts`, requests of which it says so are asked about even where the setting is `auto`.

    Raises:
        HostError: A declared host cannot be read.
    """
    if not needs.hosts:
        yield None
        return
    from agent.web.carrier import Carrier, host_keys
    from agent.web.guard import AddressGuard

    async def refusal(host: Host, request: HostRequest, keys: tuple[str, ...]) -> str:
        asked = replace(who, host=str(host), method=request.method, keys=keys)
        if doubts is not None and settings.hosts == "auto":
            asked = replace(asked, is_doubtful=doubts(request))
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
    )
    async with aclosing(carrier):
        yield carrier.carry


def _declared_hosts(needs: Capabilities) -> list[Host]:
    try:
        return [read_host(one) for one in needs.hosts]
    except ValueError as error:
        raise HostError(f"a declared host is wrong: {error}") from None


def carried(
    settings: Settings, consent: HostConsent, tool: Tool, needs: Needs
) -> AbstractAsyncContextManager[Carry | None]:
    """What carries the requests of one call of a tool outside of a run; see `carrying`."""
    return carrying(settings, whoever_is(tool, needs), tool.capabilities, consent.refusal)


class JournaledHosts:
    """The hosts of one run; None in place of settings for a replay, in which nothing is carried."""

    def __init__(self, settings: Settings | None, journal: Journal, consent: Consent, budget: Budget) -> None:
        self._settings = settings
        self._journal = journal
        self._consent = consent
        self._budget = budget

    async def stored_keys(self) -> str:
        """Tell the model which keys are stored, and for which hosts; empty if there are none."""
        stored = self._settings.keys if self._settings is not None else {}
        named = sorted(name.replace(OF_HOST, " for ", 1) for name in stored if OF_HOST in name)
        request: dict[str, Json] = {"keys": True}
        if not named and not self._journal.holds(KIND, request):
            return ""

        async def tell() -> Json:
            return f"Stored keys: {', '.join(named)}. Code writes {{key:NAME}} in a header or a query."

        return str(await self._journal.call(KIND, request, tell))

    def of_tool(self, tool: Tool, needs: Needs) -> AbstractAsyncContextManager[Carry | None]:
        """What carries the requests of one call of a tool; see `carrying`."""
        return self.of_code(whoever_is(tool, needs), tool.capabilities)

    def of_code(
        self, who: HostToReach, needs: Capabilities, doubts: Doubts | None = None
    ) -> AbstractAsyncContextManager[Carry | None]:
        """What carries the requests of some code; see `carrying`."""
        if self._settings is None:
            _declared_hosts(needs)  # what was refused when it was recorded is refused again
            return nullcontext()
        return carrying(self._settings, who, needs, self._consent.refusal_of_host, self._record, doubts)

    async def _record(self, request: dict[str, Json], perform: Callable[[], Awaitable[Json]]) -> Json:
        async def in_time() -> Json:
            async with self._budget.within():
                return await perform()

        return await self._journal.call(KIND, {"request": request}, in_time)
