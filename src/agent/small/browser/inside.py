"""What happens in the browser's process where the small model's specialist drives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.browser.inside import Host, serve
from agent.browser.launching import ARRIVING
from agent.browser.tasks import Job, Outcome
from agent.small.browser.driver import Compact
from agent.web.proxy import GuardedProxy

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext


def main() -> None:
    """Does the job on stdin."""
    serve(_driven)


async def _driven(context: BrowserContext, job: Job, host: Host, proxy: GuardedProxy) -> Outcome:
    arriving = job.profile / ARRIVING
    return await Compact(context, job.task, host.ask, host.tell, host.blocked, proxy, arriving).run()
