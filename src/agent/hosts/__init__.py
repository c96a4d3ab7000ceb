"""Adds alita to the settings of other programs that use MCP servers."""
