"""The model, the machine, and other people's servers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from agent.errors import SettingsError

if TYPE_CHECKING:
    from agent.cli.interactive.terminal import Terminal


async def model(terminal: Terminal, argument: str) -> None:
    """Shows the model, or changes it once the new one is found usable."""
    if not argument:
        source = next(line.source for line in terminal.settings.explain() if line.name == "model")
        terminal.screen.note(f"The model is {terminal.settings.model} ({source}). /model NAME uses another.")
        return
    from agent.cli.setup.diagnosis import model_findings
    from agent.models.reserved_names import EMBEDDED

    settings = terminal.settings_with(argument)
    for finding in await asyncio.to_thread(lambda: list(model_findings(settings))):
        if finding.ok:
            continue
        if argument != EMBEDDED:
            raise SettingsError(f"{finding.detail}; the model stays {terminal.settings.model}.", remedy=finding.remedy)
        terminal.screen.note("Its weights (1.1 GB) are fetched with the next question.")
    await terminal.switch(settings)
    terminal.screen.note(f"The model is {argument} from now on.")


async def doctor(terminal: Terminal, argument: str) -> None:
    """Looks at everything that a question needs."""
    from agent.cli.setup.diagnosis import diagnose

    terminal.screen.note("Looking …")
    findings = await asyncio.to_thread(diagnose, terminal.settings)
    for finding in findings:
        state = "ok" if finding.ok else "missing" if finding.needed else "not there"
        terminal.screen.rows([(state, finding.name, finding.detail)])
        if not finding.ok:
            terminal.screen.quote(f"    {finding.remedy}")


async def mcp(terminal: Terminal, argument: str) -> None:
    """Lists the servers of other people's tools, and why some are not used."""
    from agent.consent.configured_servers import ConfiguredServers

    found = await asyncio.to_thread(ConfiguredServers, terminal.settings, Path.cwd())
    terminal.screen.rows([(s.entry.name, s.state, f"{s.reason} {s.remedy}".strip()) for s in found.standings])
    for problem in found.problems:
        terminal.screen.note(f"{problem.where}: {problem.message}")
    if not found.standings:
        terminal.screen.note("No server is configured. Add one with: alita mcp add")
