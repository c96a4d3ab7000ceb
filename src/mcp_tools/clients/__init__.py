"""Other people's MCP servers: who they are, whether they may be started, and their tools."""
