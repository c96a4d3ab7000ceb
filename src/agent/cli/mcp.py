"""`alita mcp`: gives the tools to other programs, and uses theirs."""

from __future__ import annotations

from agent.cli import mcp_install, options

app = options.new_app("MCP: gives the tools to other programs, and uses theirs.")
mcp_install.add_commands(app)
