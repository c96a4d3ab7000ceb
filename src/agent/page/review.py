"""Shows, approves and rejects tools. Reviews are only available on a page that is not open to others."""

from __future__ import annotations

from contextlib import AsyncExitStack, aclosing, closing
from functools import partial
from typing import TYPE_CHECKING

from agent.calls.host_requests import call_consent, carried
from agent.page.html import bad, diff, text
from agent.resources import open_for
from agent.store.tool_records import open_library
from mcp_tools.create import approve as approving
from mcp_tools.create.mutation_testing import weakness
from mcp_tools.errors import AlitaError

if TYPE_CHECKING:
    from collections.abc import Callable

    from agent.configuration.settings import Settings
    from mcp_tools.create.approve import Review
    from mcp_tools.run import Carried
    from mcp_tools.sandbox.protocol import Sandbox


class ToolReviewer:
    """The review in one tab. A tool is approved exactly as it was shown."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        self._settings = settings
        self._seen: Review | None = None

    async def look(self, name: str | None) -> str:
        """Render a tool's changes since its approval, its test results, and what prevents its approval."""
        self._seen = None
        if not name:
            return ""
        settings = self._settings()
        try:
            with closing(open_library(settings)) as library:
                async with AsyncExitStack() as opened:

                    async def sandbox() -> Sandbox:
                        return await opened.enter_async_context(aclosing(await open_for(settings)))

                    seen = await approving.review(library, name, sandbox, (), _carried(settings))
        except AlitaError as error:
            return bad(error)
        self._seen = seen
        return _described(seen)

    async def bugs(self, name: str | None) -> str:
        """Render how many deliberate bugs a tool's tests catch, and some that they miss."""
        if not name:
            return ""
        settings = self._settings()
        try:
            with closing(open_library(settings)) as library:
                tool = approving.as_written(library, name)
                needs = await approving.needed_by(library, tool)
                async with aclosing(await open_for(settings)) as sandbox:
                    tried, missed = await approving.surviving_mutants(tool, sandbox, needs, carried=_carried(settings))
        except AlitaError as error:
            return bad(error)
        if not tried:
            return '<p class="bad">Deliberate bugs cannot be tried, because the tool has no tests that run here.</p>'
        result = (
            weakness(tool, tried - len(missed), tried, missed)
            if missed
            else f"The tests caught all {tried} deliberate bugs."
        )
        return f'<div class="tool"><pre class="{"bad" if missed else "good"}">{text(result)}</pre></div>'

    def accept(self, name: str | None) -> str:
        """Approve the tool that was shown last."""
        if self._seen is None or self._seen.tool.name != name:
            return '<p class="bad">Review the tool first.</p>'
        try:
            with closing(open_library(self._settings())) as library:
                approving.approve(library, self._seen)
        except AlitaError as error:
            return bad(error)
        return f'<p class="good">{text(name)} is approved.</p>'

    def reject(self, name: str | None) -> str:
        """Restore the approved version of a tool, or else remove it."""
        if not name:
            return ""
        try:
            with closing(open_library(self._settings())) as library:
                back = approving.reject(library, name)
        except AlitaError as error:
            return bad(error)
        effect = "the approved version was restored" if back else "it was removed; its files are kept as an old version"
        return f'<p class="good">{text(f"{name} is rejected: {effect}.")}</p>'


def _carried(settings: Settings) -> Carried:
    consent = call_consent(settings, None, lambda _: None)
    return partial(carried, settings, consent, is_new=True, is_only_reviewed=True)


def _described(seen: Review) -> str:
    before = seen.before
    if seen.is_approved:
        title = "The tool is already approved."
    elif before is None:
        title = "The tool was never approved here."
    elif seen.quarantined:
        title = f"The tool is quarantined: {seen.quarantined}"
    else:
        title = f"The tool was approved on {before.approved[:10]}. Changed since then: {', '.join(seen.changed)}."
    tests = (
        f"{len(seen.tests.passed)} tests passed, {len(seen.tests.failed)} failed, {len(seen.tests.not_run)} not run."
        if not seen.is_approved
        else "Its tests were not run again."
    )
    against = "".join(f'<li class="bad">{text(str(one), whole=True)}</li>' for one in [*seen.obstacles, *seen.flags])
    changes = f"<details open><summary>Changes</summary>{diff(seen.diff)}</details>" if seen.diff else ""
    return f'<div class="tool"><p>{text(title)} {text(tests)}</p><ul>{against}</ul>{changes}</div>'
