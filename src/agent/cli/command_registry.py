"""The registry of `alita` commands. A command's module is only imported when the command runs."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import typer


class Command(NamedTuple):
    """An `alita` command."""

    name: str
    place: str
    """Location of the command's Typer app, as `module:attribute`."""
    summary: str


COMMANDS: tuple[Command, ...] = (
    Command("ask", "ask:app", 'answer a question (same as alita "…")'),
    Command("resume", "ask:resume_app", "continue an interrupted run"),
    Command("runs", "runs:app", "list, search, show, replay, export and prune runs"),
    Command("changes", "changes:app", "show and apply what programs changed in a copy of your folder"),
    Command("sessions", "runs:sessions_app", "list, show, export and delete conversations"),
    Command("stats", "runs:stats_app", "show calls, cost, tools and failures over a period"),
    Command("cache", "runs:cache_app", "list and clear cached answers"),
    Command("traces", "runs:traces_app", "show a run's steps and calls, in the terminal or as HTML"),
    Command("tools", "tools.tools:app", "list, show, search, run, create, review, edit and delete tools"),
    Command("packages", "tools.packages:app", "list, allow, forget and prune packages of programs and tools"),
    Command("policy", "tools.policy:app", "show what tools may use, or what applies to one tool"),
    Command("files", "files:app", "show a file as the agent reads it"),
    Command("mcp", "mcp:app", "connect to MCP servers; install alita in other programs"),
    Command("serve", "serve:app", "serve the tools to MCP clients"),
    Command("web", "web:app", "serve a page for your browser"),
    Command("course", "course:app", "Agents Course: list, answer and submit its questions"),
    Command("model", "model:app", "list and test models; pull and serve the embedded one"),
    Command("gaia", "gaia:app", "run, report on and compare benchmarks; measure learning"),
    Command("gaps", "gaps:app", "show and review what was learned from failures"),
    Command("config", "config:app", "show and change settings"),
    Command("keys", "config:keys_app", "store, list and delete API keys"),
    Command("doctor", "doctor:app", "check that alita has everything it needs"),
    Command("completion", "completion:app", "print a completion script for your shell"),
)
"""The table from which dispatch, help, completion and documentation are derived."""
COMMANDS_BY_NAME = {command.name: command for command in COMMANDS}


def load(verb: str) -> typer.Typer:
    """Import a command's module and return its Typer app."""
    module, attribute = COMMANDS_BY_NAME[verb].place.split(":")
    app: typer.Typer = getattr(import_module(f"agent.cli.verbs.{module}"), attribute)
    return app
