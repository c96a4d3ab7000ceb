"""Parts of the MCP server: listings, calls, notifications and the audit log."""
