"""Where the choices of completion come from: tools, runs, sessions, models, modes, commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from agent.cli.interactive.completion import Choice, Source
from mcp_tools.errors import AlitaError
from mcp_tools.text import one_line

if TYPE_CHECKING:
    from agent.configuration.settings import Settings

NEWEST = 50
"""Runs and sessions that are offered."""


def sources_of(settings: Settings) -> Mapping[str, Source]:
    """For each kind of argument, what it may be; what cannot be read offers nothing."""

    def tools(typed: str) -> Iterator[Choice]:
        from mcp_tools.library import Library

        for tool in Library(settings.tools_dir, settings.approvals_file).list():
            yield Choice(tool.name, one_line(tool.description, 80))

    def runs(typed: str) -> Iterator[Choice]:
        from agent.store.runs import list_runs

        for run in list_runs(settings.runs_dir, limit=NEWEST):
            yield Choice(run.run_id, one_line(run.question, 80))

    def sessions(typed: str) -> Iterator[Choice]:
        from agent.store.sessions import list_sessions

        for session in list_sessions(settings.sessions_dir, limit=NEWEST):
            yield Choice(session.id, session.title)

    def models(typed: str) -> Iterator[Choice]:
        from agent.models.protocol import ROLES
        from agent.models.reserved_names import EMBEDDED

        named = {name for role in ROLES for name in settings.models_for(role)}
        yield from (Choice(name) for name in sorted({EMBEDDED, settings.model, *settings.models, *named}))

    def modes(typed: str) -> Iterator[Choice]:
        yield Choice("ask", "decide about each new tool")
        yield Choice("auto", "keep every proved tool")
        yield Choice("never", "keep none")

    def commands(typed: str) -> Iterator[Choice]:
        from agent.cli.interactive.commands.registry import COMMANDS

        yield from (Choice(command.name, command.summary) for command in COMMANDS)

    offered: dict[str, Source] = {
        "tools": tools,
        "runs": runs,
        "sessions": sessions,
        "models": models,
        "modes": modes,
        "commands": commands,
    }
    return {kind: _forgiving(source) for kind, source in offered.items()}


def _forgiving(source: Source) -> Source:
    def choices(typed: str) -> list[Choice]:
        try:
            return list(source(typed))
        except (AlitaError, OSError):
            return []

    return choices
