"""The MCP server: listings, calls, resources, notifications and the audit log."""
