"""Imports what commands share, in the process that they are forked from."""

import importlib

for _name in (
    "agent.cli.ask", "agent.cli.config", "agent.cli.files", "agent.cli.gaia", "agent.cli.mcp", "agent.cli.runs",
    "agent.cli.sessions", "agent.cli.tools", "agent.alita", "agent.graph", "agent.standard.standard",
    "agent.small.strategy", "agent.models.openai", "agent.web.run_web", "mcp_tools.sandbox.warm", "openai", "rich.live",
):  # fmt: skip
    importlib.import_module(_name)
