"""The registry of `alita` commands. A command's module is only imported when the command runs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import typer


class CommandRow(NamedTuple):
    """An `alita` command."""

    name: str
    place: str
    """Location of the command's Typer app, as `module:attribute`."""
    summary: str


COMMANDS: tuple[CommandRow, ...] = (
    CommandRow("ask", "ask:app", 'answer a question (same as alita "…")'),
    CommandRow("resume", "ask:resume_app", "continue an interrupted run"),
    CommandRow("runs", "runs:app", "list, search, show, replay, export and prune runs"),
    CommandRow("changes", "changes:app", "show and apply changes that programs made in a copy of your folder"),
    CommandRow("sessions", "runs:sessions_app", "list, show, export and delete conversations"),
    CommandRow("stats", "runs:stats_app", "show calls, cost, tools and failures over a period"),
    CommandRow("cache", "runs:cache_app", "list and clear cached answers"),
    CommandRow("traces", "runs:traces_app", "show a run's steps and calls, in the terminal or as HTML"),
    CommandRow("tools", "tools.tools:app", "list, show, search, run, create, review, edit and delete tools"),
    CommandRow("packages", "tools.packages:app", "list, allow, forget and prune packages for programs and tools"),
    CommandRow("policy", "tools.policy:app", "show the rules for what tools may use"),
    CommandRow("files", "files:app", "show a file as the agent reads it"),
    CommandRow("mcp", "mcp:app", "connect to MCP servers; install alita in other programs"),
    CommandRow("serve", "serve:app", "serve the tools to MCP clients"),
    CommandRow("web", "web:app", "serve a page for your browser"),
    CommandRow("course", "course:app", "Agents Course: list, answer and submit its questions"),
    CommandRow("model", "model:app", "list and test models; pull and serve the embedded one"),
    CommandRow("gaia", "gaia:app", "run, report on and compare benchmarks; measure learning"),
    CommandRow("gaps", "gaps:app", "show and review what was learned from failures"),
    CommandRow("config", "config:app", "show and change settings"),
    CommandRow("keys", "config:keys_app", "store, list and delete API keys"),
    CommandRow("doctor", "doctor:app", "check that alita has everything it needs"),
    CommandRow("completion", "completion:app", "print a completion script for your shell"),
)
"""The table from which dispatch, help, completion and documentation are derived."""
COMMANDS_BY_NAME = {command.name: command for command in COMMANDS}


def load(verb: str) -> typer.Typer:
    """Import a command's module and return its Typer app."""
    module, attribute = COMMANDS_BY_NAME[verb].place.split(":")
    app: typer.Typer = getattr(import_module(f"agent.cli.verbs.{module}"), attribute)
    return app
