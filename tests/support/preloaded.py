"""Imports what commands share, in the process that they are forked from."""

import importlib

for _name in (
    *(f"agent.cli.verbs.{verb}" for verb in ("ask", "config", "files", "gaia", "mcp", "runs", "tools")),
    "agent.alita", "agent.graph", "agent.standard.standard",
    "agent.small.small", "agent.models.openai", "agent.web.run_web", "mcp_tools.sandbox.warm", "openai", "rich.live",
):  # fmt: skip
    importlib.import_module(_name)
